//! Keys of Initial packets (RFC 9001, 5.2; RFC 9369, 3.3), derived from the client's first Destination Connection ID,
//! which any observer can see.

use gentle_wire::QuicVersion;
use hkdf::Hkdf;
use sha2::Sha256;

/// Sender of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sender {
    Client,
    Server,
}

/// Keys of the Initial packets of one sender: AEAD_AES_128_GCM, with AES-128 for header protection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Keys {
    pub(super) key: [u8; 16],
    pub(super) iv: [u8; 12],
    pub(super) hp: [u8; 16],
}

/// Salt of drafts 23 to 28 (draft-ietf-quic-tls-23, 5.2).
const SALT_DRAFT_23: [u8; 20] = [
    0xc3, 0xee, 0xf7, 0x12, 0xc7, 0x2e, 0xbb, 0x5a, 0x11, 0xa7, 0xd2, 0x43, 0x2b, 0xb4, 0x63, 0x65, 0xbe, 0xf9, 0xf5,
    0x02,
];

/// Salt of drafts 29 to 32 (draft-ietf-quic-tls-29, 5.2).
const SALT_DRAFT_29: [u8; 20] = [
    0xaf, 0xbf, 0xec, 0x28, 0x99, 0x93, 0xd2, 0x4c, 0x9e, 0x97, 0x86, 0xf1, 0x9c, 0x61, 0x11, 0xe0, 0x43, 0x90, 0xa8,
    0x99,
];

/// Salt of drafts 33 and 34, and of version 1 (RFC 9001, 5.2).
const SALT_V1: [u8; 20] = [
    0x38, 0x76, 0x2c, 0xf7, 0xf5, 0x59, 0x34, 0xb3, 0x4d, 0x17, 0x9a, 0xe6, 0xa4, 0xc8, 0x0c, 0xad, 0xcc, 0xbb, 0x7f,
    0x0a,
];

/// Salt of version 2 (RFC 9369, 3.3.1).
const SALT_V2: [u8; 20] = [
    0x0d, 0xed, 0xe3, 0xde, 0xf7, 0x00, 0xa6, 0xdb, 0x81, 0x93, 0x81, 0xbe, 0x6e, 0x26, 0x9d, 0xcb, 0xf9, 0xbd, 0x2e,
    0xd9,
];

impl Keys {
    /// Derives the keys from the Destination Connection ID of the client's first packet, or of its first after a Retry.
    pub(super) fn new(version: QuicVersion, dcid: &[u8], sender: Sender) -> Keys {
        let salt = match version {
            QuicVersion::Draft(..29) => &SALT_DRAFT_23,
            QuicVersion::Draft(29..33) => &SALT_DRAFT_29,
            QuicVersion::Draft(33..) | QuicVersion::V1 => &SALT_V1,
            QuicVersion::V2 => &SALT_V2,
        };
        let labels: [&[u8]; 3] = match version {
            QuicVersion::V2 => [b"quicv2 key", b"quicv2 iv", b"quicv2 hp"],
            QuicVersion::V1 | QuicVersion::Draft(_) => [b"quic key", b"quic iv", b"quic hp"],
        };
        let initial = Hkdf::<Sha256>::new(Some(salt), dcid);
        let secret: [u8; 32] = expand(
            &initial,
            match sender {
                Sender::Client => b"client in",
                Sender::Server => b"server in",
            },
        );
        let secret = Hkdf::from_prk(&secret).expect("a secret as long as the hash");
        let [key, iv, hp] = labels;
        Keys { key: expand(&secret, key), iv: expand(&secret, iv), hp: expand(&secret, hp) }
    }
}

/// HKDF-Expand-Label without context (RFC 8446, 7.1).
fn expand<const N: usize>(secret: &Hkdf<Sha256>, label: &[u8]) -> [u8; N] {
    const PREFIX: &[u8] = b"tls13 ";
    let mut out = [0; N];
    let info = [&(N as u16).to_be_bytes(), &[(PREFIX.len() + label.len()) as u8][..], PREFIX, label, &[0]];
    secret.expand_multi_info(&info, &mut out).expect("a key as long as the hash at most");
    out
}

#[cfg(test)]
mod tests {
    use super::super::vectors::{DCID, hex};
    use super::*;

    fn keys(key: &str, iv: &str, hp: &str) -> Keys {
        let array = |text| hex(text).try_into().unwrap();
        Keys { key: array(key), iv: hex(iv).try_into().unwrap(), hp: array(hp) }
    }

    #[test]
    fn version_1_has_the_keys_of_rfc_9001_a_1() {
        assert_eq!(
            Keys::new(QuicVersion::V1, &DCID, Sender::Client),
            keys("1f369613dd76d5467730efcbe3b1a22d", "fa044b2f42a3fd3b46fb255c", "9f50449e04a0e810283a1e9933adedd2")
        );
        assert_eq!(
            Keys::new(QuicVersion::V1, &DCID, Sender::Server),
            keys("cf3a5331653c364c88f0f379b6067e37", "0ac1493ca1905853b0bba03e", "c206b8d9b9f0f37644430b490eeaa314")
        );
    }

    #[test]
    fn version_2_has_the_keys_of_rfc_9369_a_1() {
        assert_eq!(
            Keys::new(QuicVersion::V2, &DCID, Sender::Client),
            keys("8b1a0bc121284290a29e0971b5cd045d", "91f73e2351d8fa91660e909f", "45b95e15235d6f45a6b19cbcb0294ba9")
        );
        assert_eq!(
            Keys::new(QuicVersion::V2, &DCID, Sender::Server),
            keys("82db637861d55e1d011f19ea71d5d2a7", "dd13c276499c0249d3310652", "edf6d05c83121201b436e16877593c3a")
        );
    }

    #[test]
    fn each_draft_has_the_salt_of_its_time() {
        let client = |version| Keys::new(version, &DCID, Sender::Client);
        let draft = |number| client(QuicVersion::Draft(number));
        assert_eq!(draft(23), draft(28));
        assert_ne!(draft(28), draft(29));
        assert_eq!(draft(29), draft(32));
        assert_ne!(draft(32), draft(33));
        assert_eq!(draft(33), client(QuicVersion::V1));
        assert_eq!(draft(34), client(QuicVersion::V1));
    }
}
