//! Identity of scenarios.

use super::Scenario;
use crate::direction::Direction;
use gentle_units::Nanos;
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
        // Of what most links do not have, only what this one has, so that their fingerprints stay.
        let rare = self.links.iter().map(|link| {
            let jitter = (link.jitter > Nanos::ZERO).then_some(link.jitter);
            let reorder = (link.reorder > 0.0).then_some(link.reorder);
            (link.bursts, jitter, reorder, &link.trace)
        });
        let rare: Vec<_> = rare.collect();
        let relevant = (
            (self.duration, self.warmup, self.drain),
            &self.profile,
            links.collect::<Vec<_>>(),
            match self.link(Direction::Up) {
                up if up.as_down => "as down".to_owned(),
                up => up.qdisc.to_string(),
            },
            &self.access,
            &self.workloads,
        );
        write!(hashing, "{relevant:?}").expect("hashing takes any text");
        if rare.iter().any(|rare| *rare != (None, None, None, &None)) {
            write!(hashing, "{rare:?}").expect("hashing takes any text");
        }
        let mut hex = String::new();
        for byte in hashing.0.finalize() {
            write!(hex, "{byte:02x}").expect("a string takes any text");
        }
        hex
    }
}
