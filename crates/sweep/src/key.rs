//! Identity of runs.

use crate::origin::Origin;
use sha2::{Digest, Sha256};
use std::fmt::{self, Write};

/// Identity of a run: the first 128 bits of the SHA-256 of all that decides its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key([u8; 16]);

impl Key {
    /// The run of a scenario, given by its fingerprint, under a scheme, as written by
    /// [`Spec`](gentle_aqm::Spec), with a seed.
    pub fn new(origin: &Origin, backend: &str, scenario: &str, scheme: &str, seed: u64, bins: &[u64]) -> Key {
        let parts =
            serde_json::json!([origin.version, origin.record, origin.engine, backend, scenario, scheme, seed, bins]);
        let hash: [u8; 32] = Sha256::digest(parts.to_string()).into();
        let mut key = [0; 16];
        key.copy_from_slice(&hash[..16]);
        Key(key)
    }

    /// Reads the 32 hexadecimal digits of a key.
    pub fn parse(text: &str) -> Option<Key> {
        if text.len() != 32 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let mut key = [0; 16];
        for (index, byte) in key.iter_mut().enumerate() {
            *byte = u8::from_str_radix(text.get(2 * index..2 * index + 2)?, 16).ok()?;
        }
        Some(Key(key))
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// SHA-256 in hexadecimal.
pub(crate) fn hash(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in Sha256::digest(bytes) {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_reads_back_and_depends_on_everything() {
        let origin = Origin { version: "0.1.0".to_owned(), record: 1, engine: "e".to_owned() };
        let key = |scenario, scheme, seed, bins: &[u64]| Key::new(&origin, "simulator", scenario, scheme, seed, bins);
        let one = key("a", "codel", 1, &[3]);
        assert_eq!(Key::parse(&one.to_string()), Some(one));
        for other in [
            key("b", "codel", 1, &[3]),
            key("a", "pie", 1, &[3]),
            key("a", "codel", 2, &[3]),
            key("a", "codel", 1, &[]),
        ] {
            assert_ne!(one, other);
        }
        for text in ["", "zz", "é23456789012345678901234567890", &"+1".repeat(16)] {
            assert_eq!(Key::parse(text), None, "{text}");
        }
    }
}
