//! Identity of scenarios.

use super::{Access, LinkConfig, Scenario};
use crate::direction::Direction;
use crate::workload::Workload;
use gentle_tcp::Profile;
use gentle_units::Nanos;
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write;

/// All properties of a scenario that affect its runs: its canonical form.
#[derive(Serialize)]
struct Canonical<'a> {
    duration: Nanos,
    warmup: Nanos,
    drain: Nanos,
    tcp: BTreeMap<&'static str, String>,
    links: &'a [LinkConfig; 2],
    up_qdisc: String,
    access: Option<Access>,
    workloads: &'a [Workload],
}

impl Scenario {
    /// SHA-256, in hexadecimal, of the canonical text of all properties that affect the runs of this scenario; the queue
    /// under test, names and texts for readers are left out. Programs of different [engines](crate::Backend::engine) may
    /// write different texts for one scenario.
    pub fn fingerprint(&self) -> String {
        let canonical = Canonical {
            duration: self.duration,
            warmup: self.warmup,
            drain: self.drain,
            tcp: knobs(&self.profile),
            links: &self.links,
            up_qdisc: match self.link(Direction::Up) {
                up if up.as_down => "as down".to_owned(),
                up => up.qdisc.to_string(),
            },
            access: self.access,
            workloads: &self.workloads,
        };
        let mut hashing = Sha256::new();
        serde_json::to_writer(Hashed(&mut hashing), &canonical).expect("hashing takes any text");
        let mut hex = String::new();
        for byte in hashing.finalize() {
            write!(hex, "{byte:02x}").expect("a string takes any text");
        }
        hex
    }
}

fn knobs(profile: &Profile) -> BTreeMap<&'static str, String> {
    let all = Profile::knobs().iter();
    all.map(|knob| {
        let value = profile.get(knob.name);
        (knob.name, value.expect("the knob is listed"))
    })
    .collect()
}

struct Hashed<'a>(&'a mut Sha256);

impl std::io::Write for Hashed<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
