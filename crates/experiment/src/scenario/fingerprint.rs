//! Identity of scenarios.

use super::Scenario;
use crate::direction::Direction;
use sha2::{Digest, Sha256};
use std::fmt::{self, Write};

impl Scenario {
    /// SHA-256, in hexadecimal, of all properties that affect the runs of this scenario; the queue under test, names and
    /// texts for readers are left out.
    pub fn fingerprint(&self) -> String {
        struct Hashing(Sha256);
        impl Write for Hashing {
            fn write_str(&mut self, text: &str) -> fmt::Result {
                self.0.update(text);
                Ok(())
            }
        }
        let mut hashing = Hashing(Sha256::new());
        let links = self.links.iter().map(|link| {
            let (rate, delay, loss) = (link.rate, link.delay, link.loss);
            (rate, delay, loss, link.overhead, &link.changes)
        });
        let relevant = (
            (self.duration, self.warmup, self.drain),
            &self.profile,
            links.collect::<Vec<_>>(),
            self.link(Direction::Up).qdisc.to_string(),
            &self.access,
            &self.workloads,
        );
        write!(hashing, "{relevant:?}").expect("hashing takes any text");
        let mut hex = String::new();
        for byte in hashing.0.finalize() {
            write!(hex, "{byte:02x}").expect("a string takes any text");
        }
        hex
    }
}
