//! Identity of runs, and of the code that makes them.

use gentle_experiment::{Backend, RECORD_VERSION, RunSpec};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt::{self, Write};

/// Code that decides the result of a run, in addition to scenario, scheme and seed: batches are run by the code that
/// made them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// Version of gentle.
    pub version: String,
    /// Version of run records.
    pub record: u32,
    /// Identity of the backend's code ([`Backend::engine`]).
    pub engine: String,
}

impl Origin {
    /// The running program's backend.
    pub fn of(backend: &impl Backend) -> Origin {
        Origin { version: env!("CARGO_PKG_VERSION").to_owned(), record: RECORD_VERSION, engine: backend.engine() }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let engine = self.engine.get(..8).unwrap_or(&self.engine);
        write!(f, "gentle {} (engine {engine}, records of version {})", self.version, self.record)
    }
}

/// Identity of a run: the first 128 bits of the SHA-256 of all that decides its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId([u8; 16]);

impl RunId {
    /// The run of a scenario, given by its fingerprint, under a scheme, as written by
    /// [`Spec`](gentle_aqm::Spec), with a seed.
    pub fn new(origin: &Origin, backend: &str, scenario: &str, scheme: &str, seed: u64, bins: &[u64]) -> RunId {
        let parts =
            serde_json::json!([origin.version, origin.record, origin.engine, backend, scenario, scheme, seed, bins]);
        let hash: [u8; 32] = Sha256::digest(parts.to_string()).into();
        let mut id = [0; 16];
        id.copy_from_slice(&hash[..16]);
        RunId(id)
    }

    /// The run of a backend.
    pub fn of(run: &RunSpec<'_>, backend: &impl Backend) -> RunId {
        let (origin, name) = (Origin::of(backend), backend.name());
        RunId::new(&origin, &name, &run.scenario.fingerprint(), &run.scheme.to_string(), run.seed, run.bins)
    }

    /// Reads the 32 hexadecimal digits of an identity.
    pub fn parse(text: &str) -> Option<RunId> {
        if text.len() != 32 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let mut id = [0; 16];
        for (index, byte) in id.iter_mut().enumerate() {
            *byte = u8::from_str_radix(text.get(2 * index..2 * index + 2)?, 16).ok()?;
        }
        Some(RunId(id))
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// SHA-256 in hexadecimal.
pub fn hash(bytes: &[u8]) -> String {
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
    fn an_identity_reads_back_and_depends_on_everything() {
        let origin = Origin { version: "0.1.0".to_owned(), record: 1, engine: "e".to_owned() };
        let key = |scenario, scheme, seed, bins: &[u64]| RunId::new(&origin, "simulator", scenario, scheme, seed, bins);
        let one = key("a", "codel", 1, &[3]);
        assert_eq!(RunId::parse(&one.to_string()), Some(one));
        for other in [
            key("b", "codel", 1, &[3]),
            key("a", "pie", 1, &[3]),
            key("a", "codel", 2, &[3]),
            key("a", "codel", 1, &[]),
        ] {
            assert_ne!(one, other);
        }
        for text in ["", "zz", "é23456789012345678901234567890", &"+1".repeat(16)] {
            assert_eq!(RunId::parse(text), None, "{text}");
        }
    }
}
