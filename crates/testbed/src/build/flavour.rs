//! Configurations of the kernel.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt;

/// Configuration of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Flavour {
    /// For measurements.
    Plain,
    /// Checks locking, memory and contexts while modules run: lockdep, KASAN, kmemleak, UBSAN. Slow.
    Debug,
}

impl Flavour {
    /// Kconfig fragments appended to tinyconfig, in this order.
    pub fn fragments(self) -> &'static [&'static str] {
        const BASE: &str = include_str!("base.config");
        const DEBUG: &str = include_str!("debug.config");
        match self {
            Flavour::Plain => &[BASE],
            Flavour::Debug => &[BASE, DEBUG],
        }
    }

    /// Identifies a configuration in the cache: the beginning of a hash of the fragments and the edits of the source.
    pub(super) fn fingerprint(self) -> String {
        let mut hash = Sha256::new();
        for fragment in self.fragments() {
            hash.update(fragment);
        }
        super::edits::hash(&mut hash);
        super::cache::short_hex(&hash.finalize())
    }
}

impl fmt::Display for Flavour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Flavour::Plain => "plain",
            Flavour::Debug => "debug",
        })
    }
}
