//! Prefix-preserving address anonymization.

use gentle_wire::Address;
use ipcrypt_rs::IpcryptPfx;
use ipnet::IpNet;
use std::net::IpAddr;

/// Replaces addresses so that two with a common prefix of n bits still have one of n bits, and equal addresses stay
/// equal (ipcrypt-pfx, draft-denis-ipcrypt). Reversible for whoever has the key.
pub struct Anonymizer(IpcryptPfx);

impl Anonymizer {
    /// Length of a key, bytes.
    pub const KEY_BYTES: usize = 32;

    /// Creates an anonymizer from a key whose two halves must differ.
    ///
    /// # Errors
    /// Returns `None` if the halves are equal.
    pub fn new(key: [u8; Anonymizer::KEY_BYTES]) -> Option<Anonymizer> {
        let (first, second) = key.split_at(Anonymizer::KEY_BYTES / 2);
        (first != second).then(|| Anonymizer(IpcryptPfx::new(key)))
    }

    /// Replacement of `address`.
    pub fn address(&self, address: Address) -> Address {
        self.0.encrypt_ipaddr(IpAddr::from(address)).into()
    }

    /// Prefix of the replacements of all addresses in `prefix`.
    pub(crate) fn prefix(&self, prefix: IpNet) -> IpNet {
        let network = self.0.encrypt_ipaddr(prefix.network());
        IpNet::new_assert(network, prefix.prefix_len()).trunc()
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
}
