//! Prefix-preserving address anonymization.

use crate::record::hex;
use gentle_wire::Address;
use ipcrypt_rs::IpcryptPfx;
use ipnet::IpNet;
use sha2::{Digest, Sha256};
use std::net::IpAddr;

/// Replaces addresses so that two with a common prefix of n bits still have one of n bits, and equal addresses stay
/// equal (ipcrypt-pfx, draft-denis-ipcrypt). Anyone with the key can reverse it.
pub struct Anonymizer {
    addresses: IpcryptPfx,
    /// Key of [`Anonymizer::tag`].
    tags: [u8; 32],
}

impl Anonymizer {
    /// Length of a key, bytes.
    pub const KEY_BYTES: usize = 32;

    /// Creates an anonymizer from a key whose two halves must differ.
    ///
    /// # Errors
    /// Returns `None` if the halves are equal.
    pub fn new(key: [u8; Anonymizer::KEY_BYTES]) -> Option<Anonymizer> {
        let (first, second) = key.split_at(Anonymizer::KEY_BYTES / 2);
        (first != second).then(|| Anonymizer {
            addresses: IpcryptPfx::new(key),
            tags: Sha256::new().chain_update(b"gentle: key of tags").chain_update(key).finalize().into(),
        })
    }

    /// Replacement of `address`.
    pub fn address(&self, address: Address) -> Address {
        self.addresses.encrypt_ipaddr(IpAddr::from(address)).into()
    }

    /// Prefix of the replacements of all addresses in `prefix`.
    pub(crate) fn prefix(&self, prefix: IpNet) -> IpNet {
        let network = self.addresses.encrypt_ipaddr(prefix.network());
        IpNet::new_assert(network, prefix.prefix_len()).trunc()
    }

    /// Replacement of something that is only compared, such as a digest or a name, in hexadecimal: equal for equal texts with the
    /// same key. Without the key, nobody can check whether it belongs to a given text.
    pub(crate) fn tag(&self, text: &[u8]) -> String {
        hex(&self.digest(text)[..16])
    }

    /// [`Anonymizer::tag`] as a number.
    pub(crate) fn tag_number(&self, text: &[u8]) -> u64 {
        self.digest(text)[..8].iter().fold(0, |number, &byte| number << 8 | u64::from(byte))
    }

    fn digest(&self, text: &[u8]) -> [u8; 32] {
        Sha256::new().chain_update(self.tags).chain_update(text).finalize().into()
    }

    /// Two hexadecimal digits that differ for all but one in 256 other keys: enough to distinguish records of different
    /// keys from each other, too few to confirm a guess of the passphrase.
    pub(crate) fn check_digits(&self) -> String {
        self.tag(b"")[..2].to_owned()
    }
}

impl std::fmt::Debug for Anonymizer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The key is secret.
        f.write_str("Anonymizer")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn common_bits(a: Address, b: Address) -> u32 {
        (u128::from_be_bytes(a.0) ^ u128::from_be_bytes(b.0)).leading_zeros()
    }

    #[test]
    fn prefixes_stay_prefixes() {
        let anonymizer = Anonymizer::new(std::array::from_fn(|i| i as u8)).unwrap();
        let base = Address::from(Ipv4Addr::new(192, 0, 2, 7));
        for other in [
            Ipv4Addr::new(192, 0, 2, 6),
            Ipv4Addr::new(192, 0, 2, 200),
            Ipv4Addr::new(192, 0, 3, 7),
            Ipv4Addr::new(10, 0, 0, 1),
        ] {
            let other = Address::from(other);
            let after = (anonymizer.address(base), anonymizer.address(other));
            assert!(after.0.is_v4() && after.1.is_v4());
            assert_eq!(common_bits(base, other), common_bits(after.0, after.1));
        }
        assert_ne!(anonymizer.address(base), base);
        assert!(Anonymizer::new([7; 32]).is_none());
    }

    #[test]
    fn tags_depend_on_the_key_and_the_check_digits_on_it_alone() {
        let anonymizer = |first: u8| Anonymizer::new(std::array::from_fn(|i| i as u8 ^ first)).unwrap();
        let (one, two) = (anonymizer(0), anonymizer(1));
        assert_eq!(one.tag(b"a"), anonymizer(0).tag(b"a"));
        assert_ne!(one.tag(b"a"), one.tag(b"b"));
        assert_ne!(one.tag(b"a"), two.tag(b"a"));
        assert_eq!(one.check_digits().len(), 2);
        let digits = (0..=255).map(|first| anonymizer(first).check_digits());
        let different = digits.collect::<std::collections::BTreeSet<_>>().len();
        // 256 (1 - 1/e) = 162.
        assert!((130..200).contains(&different), "{different}");
    }
}
