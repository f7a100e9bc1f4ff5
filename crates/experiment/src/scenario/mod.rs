//! Scenarios: links, hosts and workloads, as a TOML file describes them (`docs/scenarios.md`), checked before a run.

mod buffers;
mod builtin;
mod file;
mod links;
mod load;
mod section;

pub use builtin::BUILTIN;
pub use links::{LinkChange, LoadError};

use crate::direction::Direction;
use crate::error::ScenarioError;
use crate::workload::flows::{self, Flow};
use crate::workload::{Schedule, TcpChanges, Workload};
use gentle_aqm::Spec;
use gentle_tcp::{KnobError, Profile, UnknownProfile};
use gentle_units::{Nanos, Rate};
use std::collections::BTreeMap;
use std::sync::Arc;

/// One direction of the bottleneck.
#[derive(Debug, Clone)]
pub struct LinkConfig {
    /// Rate at the start.
    pub rate: Rate,
    /// Propagation delay, behind the queue.
    pub delay: Nanos,
    /// The queue. For [`Direction::Down`] a comparison puts each scheme in its place.
    pub qdisc: Spec,
    /// Probability that a packet is lost on the link, behind the queue.
    pub loss: f64,
    /// Bytes that the link layer adds to an IP packet; the queue sees them, as Linux's do.
    pub overhead: u32,
    /// Rates from given times on, in order of time.
    pub changes: Vec<(Nanos, Rate)>,
}

/// Access links: each host's own link to the router.
#[derive(Debug, Clone, Copy)]
pub struct Access {
    /// Rate of each.
    pub rate: Rate,
    /// Hosts on either side; connections take them in turn.
    pub hosts: u32,
}

/// A checked scenario.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// Short name: `real`, or the file's name without its ending.
    pub name: String,
    /// For people.
    pub title: String,
    /// Where it comes from.
    pub source: String,
    /// Connections start within this time.
    pub duration: Nanos,
    /// Part of it at the start that is left out of every number.
    pub warmup: Nanos,
    /// How long connections may go on after `duration`.
    pub drain: Nanos,
    /// The end hosts' TCP.
    pub profile: Arc<Profile>,
    /// Name of the profile.
    pub profile_name: String,
    /// Knobs of it that were overridden, as written.
    pub knobs: BTreeMap<String, String>,
    /// Down, then up.
    pub links: [LinkConfig; 2],
    /// Access links; `None`: infinitely fast.
    pub access: Option<Access>,
    /// What starts connections.
    pub workloads: Vec<Workload>,
    /// The schemes that the file suggests to compare.
    pub schemes: Vec<Spec>,
    /// Assumptions where the source is silent, each in one sentence; the key `choices` of a scenario file.
    pub assumptions: Vec<String>,
    /// What is to be said to whoever wrote the file: values that are right but perhaps not meant so.
    pub remarks: Vec<String>,
}

impl Scenario {
    /// One of the scenarios that come with the program: see [`BUILTIN`].
    pub fn builtin(name: &str) -> Option<Scenario> {
        builtin::find(name)
    }

    /// Reads a scenario from the text of a TOML file. `file` is how the user calls it; relative paths in it were
    /// resolved by `read`, which gives the text of a file that the scenario names.
    pub fn from_toml(
        file: &str,
        text: &str,
        read: &dyn Fn(&str) -> std::io::Result<String>,
    ) -> Result<Scenario, ScenarioError> {
        file::parse(file, text, read)
    }

    /// A scenario that replays the list of flows in a CSV file (`docs/scenarios.md`, "Flow lists") over the links of
    /// `real`; the flows' round-trip times are their own.
    pub fn from_flows(file: &str, text: &str) -> Result<Scenario, ScenarioError> {
        let flows = flows::parse(file, text, Nanos::ZERO)?;
        Ok(Scenario::replay(file, flows))
    }

    /// A scenario that replays `flows`, each with payload, over the links of `real`; the flows' round-trip times are
    /// their own. `file` is where they come from.
    pub fn replay(file: &str, mut flows: Vec<Flow>) -> Scenario {
        flows.sort_by_key(|flow| flow.at);
        builtin::replay(file, flows)
    }

    /// Puts other end hosts in: the profile `name` with all its knobs.
    pub fn set_profile(&mut self, name: &str) -> Result<(), UnknownProfile> {
        self.profile = Arc::new(Profile::by_name(name)?);
        self.profile_name = name.to_owned();
        self.knobs.clear();
        Ok(())
    }

    /// Overrides one knob of the end hosts' TCP.
    pub fn set_knob(&mut self, knob: &str, value: &str) -> Result<(), KnobError> {
        Arc::make_mut(&mut self.profile).set(knob, value)?;
        self.knobs.insert(knob.to_owned(), value.to_owned());
        Ok(())
    }

    /// Makes the arrivals last `duration`; a warm-up shrinks in proportion.
    pub fn set_duration(&mut self, duration: Nanos) {
        let part = self.warmup.as_secs_f64() / self.duration.as_secs_f64().max(1e-9);
        self.warmup = Nanos::from_secs_f64(duration.as_secs_f64() * part);
        self.duration = duration;
    }

    /// Gives a link another rate from the start, without changes; everything else stays.
    pub fn set_rate(&mut self, direction: Direction, rate: Rate) {
        let link = &mut self.links[direction.index()];
        link.rate = rate;
        link.changes.clear();
    }

    /// The TCP of the ends of a workload's connections: of the one that connects, and of the other.
    pub fn profiles(&self, workload: &Workload) -> [Arc<Profile>; 2] {
        let changed = |base: &Arc<Profile>, changes: &TcpChanges| match changes.is_empty() {
            true => Arc::clone(base),
            false => Arc::new(changes.applied_to(base)),
        };
        let both = changed(&self.profile, &workload.tcp);
        [changed(&both, &workload.initiator_tcp), both]
    }

    /// The groups of its workloads, in the order in which they are first named.
    pub fn groups(&self) -> Vec<&str> {
        let mut groups: Vec<&str> = Vec::new();
        for group in self
            .workloads
            .iter()
            .filter_map(|workload| workload.group.as_deref())
        {
            if !groups.contains(&group) {
                groups.push(group);
            }
        }
        groups
    }

    /// The link of `direction`.
    pub fn link(&self, direction: Direction) -> &LinkConfig {
        &self.links[direction.index()]
    }

    /// The connections that start under `seed`.
    pub fn schedule(&self, seed: u64) -> Schedule {
        Schedule::new(self, seed)
    }

    /// Round-trip time of a packet that meets no queue and no extra delay, transmission times aside.
    pub(crate) fn link_rtt(&self) -> Nanos {
        self.links[0].delay + self.links[1].delay
    }
}
