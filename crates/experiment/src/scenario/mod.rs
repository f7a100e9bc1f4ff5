//! Scenarios: links, hosts and workloads, described by a TOML file (`docs/reference/scenarios.md`).

mod applications;
mod buffers;
mod builtin;
mod extent;
mod file;
mod fingerprint;
mod link;
mod links;
mod load;
mod members;
mod trace;

pub use applications::Application;
pub use builtin::BUILTIN;
pub use link::{GilbertElliott, LinkConfig};
pub use links::{LinkChange, LoadError};
pub use trace::{OPPORTUNITY, RateTrace, TraceError};

use crate::direction::Direction;
use crate::draw::Streams;
use crate::error::ScenarioError;
use crate::traffic::flows::{self, Flow};
use crate::workload::{ArrivalContext, Schedule, TcpChanges, Workload};
use gentle_aqm::Spec;
use gentle_tcp::{KnobError, Profile, UnknownProfile};
use gentle_units::{Instant, Nanos, Rate};
use serde::Serialize;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Access links between each host and the router.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Access {
    /// Rate of each access link.
    pub rate: Rate,
    /// Number of hosts on either side; connections are assigned to them in turn.
    pub hosts: u32,
}

/// A valid scenario.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// Short name: `real`, or the file name without extension.
    pub name: String,
    /// Title for readers.
    pub title: String,
    /// Source: a table of a paper, or a file.
    pub source: String,
    /// Length of the arrival process.
    pub duration: Nanos,
    /// Warm-up at the start, left out of all results.
    pub warmup: Nanos,
    /// Maximum time that connections may continue after `duration`.
    pub drain: Nanos,
    /// TCP of the end hosts.
    pub profile: Arc<Profile>,
    /// Name of the profile.
    pub profile_name: String,
    /// Knobs that override the profile, as written.
    pub knobs: BTreeMap<String, String>,
    /// The links, [`Direction::Down`] first.
    pub links: [LinkConfig; 2],
    /// Access links; `None`: infinitely fast.
    pub access: Option<Access>,
    /// Sources of traffic.
    pub workloads: Vec<Workload>,
    /// Schemes to compare by default; may be empty.
    pub schemes: Vec<Spec>,
    /// Assumptions where the source is silent, one sentence each (key `choices` of scenario files).
    pub assumptions: Vec<String>,
    /// Warnings for the author of the file: values that are valid but possibly unintended.
    pub warnings: Vec<String>,
}

impl Scenario {
    /// Returns a built-in scenario by name: see [`BUILTIN`].
    pub fn builtin(name: &str) -> Option<Scenario> {
        builtin::find(name)
    }

    /// Text of the file of a built-in scenario.
    pub fn builtin_toml(name: &str) -> Option<&'static str> {
        builtin::text(name)
    }

    /// Parses the text of a TOML file. `file` is its name in error messages. `read` returns the text of a file that the
    /// scenario refers to, by the path as written.
    ///
    /// # Errors
    /// The text is not a valid scenario, or `read` failed.
    pub fn from_toml(
        file: &str,
        text: &str,
        read: &dyn Fn(&str) -> std::io::Result<String>,
    ) -> Result<Scenario, ScenarioError> {
        file::parse(file, text, read)
    }

    /// Parses a list of flows in CSV (`docs/reference/scenarios.md`, "Flow lists") and returns the scenario that replays them:
    /// see [`Scenario::replay`].
    ///
    /// # Errors
    /// The text is not a valid list of flows.
    pub fn from_flows(file: &str, text: &str) -> Result<Scenario, ScenarioError> {
        let flows = flows::parse(file, text, Nanos::ZERO)?;
        Ok(Scenario::replay(file, flows))
    }

    /// Returns a scenario that replays `flows`, each with payload, with their own round-trip times over links with the
    /// rate of the link under test of `real`. `file` is the source of the flows.
    pub fn replay(file: &str, mut flows: Vec<Flow>) -> Scenario {
        flows.sort_by_key(|flow| flow.at);
        builtin::replay(file, flows)
    }

    /// Replaces the TCP of the end hosts by the profile `name`, without overridden knobs.
    ///
    /// # Errors
    /// No profile has this name.
    pub fn set_profile(&mut self, name: &str) -> Result<(), UnknownProfile> {
        self.profile = Arc::new(Profile::by_name(name)?);
        self.profile_name = name.to_owned();
        self.knobs.clear();
        Ok(())
    }

    /// Overrides one knob of the end hosts' TCP.
    ///
    /// # Errors
    /// The knob does not exist, or the value is invalid.
    pub fn set_knob(&mut self, knob: &str, value: &str) -> Result<(), KnobError> {
        Arc::make_mut(&mut self.profile).set(knob, value)?;
        self.knobs.insert(knob.to_owned(), value.to_owned());
        Ok(())
    }

    /// Changes the length of the arrival process; the warm-up changes in proportion.
    pub fn set_duration(&mut self, duration: Nanos) {
        let part = self.warmup.as_secs_f64() / self.duration.as_secs_f64().max(1e-9);
        self.warmup = Nanos::from_secs_f64(duration.as_secs_f64() * part);
        self.duration = duration;
    }

    /// Changes the rate of a link and removes its rate changes over time.
    pub fn set_rate(&mut self, direction: Direction, rate: Rate) {
        let link = &mut self.links[direction.index()];
        link.rate = rate;
        link.changes.clear();
        link.trace = None;
    }

    /// TCP of the two ends of a workload's connections: the initiator, then the other end.
    pub fn profiles(&self, workload: &Workload) -> [Arc<Profile>; 2] {
        let changed = |base: &Arc<Profile>, changes: &TcpChanges| match changes.is_empty() {
            true => Arc::clone(base),
            false => Arc::new(changes.applied_to(base)),
        };
        let both = changed(&self.profile, &workload.tcp);
        [changed(&both, &workload.initiator_tcp), both]
    }

    /// Groups of the workloads without duplicates, in order of first use.
    pub fn groups(&self) -> Vec<&str> {
        let mut groups: Vec<&str> = Vec::new();
        for group in self.workloads.iter().filter_map(|workload| workload.group.as_deref()) {
            if !groups.contains(&group) {
                groups.push(group);
            }
        }
        groups
    }

    /// The scenario with `scheme` on the reverse link, if that is to have the scheme under test.
    pub fn under(&self, scheme: &Spec) -> Cow<'_, Scenario> {
        if !self.link(Direction::Up).as_down {
            return Cow::Borrowed(self);
        }
        let mut scenario = self.clone();
        scenario.links[Direction::Up.index()].qdisc = scheme.clone();
        Cow::Owned(scenario)
    }

    /// The link of `direction`.
    pub fn link(&self, direction: Direction) -> &LinkConfig {
        &self.links[direction.index()]
    }

    /// Random streams of a run with `seed`.
    pub fn streams(&self, seed: u64) -> Streams {
        Streams::new(seed, &self.workloads)
    }

    /// Connections that start with `seed`, in order of time.
    pub fn schedule(&self, seed: u64) -> Schedule {
        let streams = self.streams(seed);
        Schedule::new(&self.workloads, &self.arrival_context(), &streams)
    }

    fn arrival_context(&self) -> ArrivalContext {
        ArrivalContext { end: self.stops_at(), mss: u64::from(self.profile.mss), link_rtt: self.link_rtt() }
    }

    /// End of the warm-up.
    pub fn measures_from(&self) -> Instant {
        Instant::ZERO + self.warmup
    }

    /// End of the arrival process and of the measured window.
    pub fn stops_at(&self) -> Instant {
        Instant::ZERO + self.duration
    }

    /// End of the run.
    pub fn ends_at(&self) -> Instant {
        self.stops_at() + self.drain
    }

    /// Round-trip time of the links: propagation delays without queueing and transmission times.
    pub(crate) fn link_rtt(&self) -> Nanos {
        self.links[0].delay + self.links[1].delay
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::Span;

    #[test]
    fn connections_of_all_workloads_come_in_order_and_depend_on_the_seed_alone() {
        let mut scenario = Scenario::builtin("real-reverse").unwrap();
        scenario.set_duration(Nanos::from_secs(30));
        let of = |seed| scenario.schedule(seed).collect::<Vec<_>>();
        let first = of(1);
        assert_eq!(first, of(1));
        assert_ne!(first, of(2));
        assert!(first.is_sorted_by_key(|arrival| arrival.at));
        let long = first.iter().filter(|a| matches!(a.span, Span::Until(_)));
        assert_eq!(long.count(), 1);
        assert!((150..400).contains(&first.len()), "{}", first.len());
    }
}
