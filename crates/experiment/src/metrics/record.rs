//! Measurements of one run.

use super::application::ApplicationRecord;
use super::class::{Class, REASONS};
use super::connection::ConnectionRecord;
use super::histogram::TimeHistogram;
use super::serial::{by_class, by_reason};
use super::tally::Tally;
use super::timeline::Timeline;
use crate::direction::Direction;
use gentle_units::{Instant, Nanos};
use serde::{Deserialize, Serialize};

/// Version of the serialised form of [`RunRecord`].
pub const RECORD_VERSION: u32 = 3;

/// Measurements of one direction of the bottleneck.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LinkRecord {
    /// Packets offered to the queue.
    #[serde(with = "by_class")]
    pub(crate) offered: [u64; Class::COUNT],
    /// Packets dropped by the queue or lost on the link, by class.
    #[serde(with = "by_class")]
    pub(crate) dropped: [u64; Class::COUNT],
    /// Packets dropped by the queue or lost on the link, by reason in the order of [`REASONS`].
    #[serde(with = "by_reason")]
    pub(crate) reasons: [u64; REASONS.len()],
    /// Packets delivered by the link.
    pub(crate) sent: u64,
    /// Bytes that the link transmitted within the measured window; of a packet that is under way at either end of it,
    /// the part within.
    pub(crate) carried_bytes: u64,
    /// Bytes that the link could transmit within the measured window.
    pub(crate) capacity_bytes: u64,
    /// Sojourn times in the queue.
    pub(crate) queue_delay: TimeHistogram,
    /// Packets marked with ECN since the end of the warm-up.
    pub(crate) marked: u64,
}

/// A long-lived connection within the measured window.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LongFlow {
    /// Link that carries the data.
    pub(crate) direction: Direction,
    /// Payload received.
    pub(crate) bytes: u64,
    /// Time from its start, or from the end of the warm-up, until it stopped.
    #[serde(rename = "lived_ns")]
    pub(crate) lived: Nanos,
}

/// Packets with payload of one group of workloads on one link: segments of TCP, and datagrams.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GroupLink {
    /// Packets offered to the queue.
    pub(crate) offered: u64,
    /// Packets dropped by the queue or lost on the link.
    pub(crate) dropped: u64,
    /// Bytes that the link transmitted within the measured window, as [`LinkRecord::carried_bytes`].
    pub(crate) carried_bytes: u64,
    /// Sojourn times in the queue.
    pub(crate) queue_delay: TimeHistogram,
}

/// All measurements of one run.
///
/// A record written as JSON and read again is equal. Two runs of the same scenario, scheme and seed by the same version
/// of the simulator have equal records; on a kernel in virtual time they differ by fractions of a microsecond.
///
/// Connections count if they start after the warm-up, packets if they are offered after it. Sojourn times and
/// utilisation are measured until the last arrival, all else until the end of the run. In JSON, times are in
/// nanoseconds and sums of times in seconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunRecord {
    /// Version of the serialised form, [`RECORD_VERSION`].
    pub version: u32,
    /// Version of gentle that made the run.
    pub gentle: String,
    /// Identity of the code that made the run: a digest of its sources, in hexadecimal.
    pub engine: String,
    /// Backend that made the run: `simulator`, or a kernel.
    pub backend: String,
    /// Scheme with its options, as written by [`Spec`](gentle_aqm::Spec).
    pub scheme: String,
    /// Seed of the run.
    pub seed: u64,
    /// End of the warm-up.
    #[serde(rename = "from_ns")]
    pub(crate) from: Instant,
    /// End of the arrival process.
    #[serde(rename = "to_ns")]
    pub(crate) to: Instant,
    /// All connections.
    pub(crate) all: Tally,
    /// Connections of each group of the scenario.
    pub(crate) groups: Vec<Tally>,
    /// Each application of the scenario ([`Scenario::applications`](crate::Scenario::applications)).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) applications: Vec<ApplicationRecord>,
    /// Packets of each group of the scenario on each link, [`Direction::Down`] first. Empty: the backend does not know
    /// to which group a packet belongs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) group_links: Vec<[GroupLink; 2]>,
    /// Long-lived connections.
    pub(crate) long_flows: Vec<LongFlow>,
    /// Both directions, [`Direction::Down`] first.
    pub(crate) links: [LinkRecord; 2],
    /// Sojourn times in the queue under test over time.
    pub(crate) timeline: Timeline,
    /// Connections of known size one by one, in the order in which they started, if
    /// [`RunSpec::keep_connections`](crate::RunSpec::keep_connections) is set. Not serialised.
    #[serde(skip)]
    pub connections: Vec<ConnectionRecord>,
}

impl RunRecord {
    /// Length of the window in which packets are counted.
    pub(crate) fn window(&self) -> Nanos {
        self.to.saturating_since(self.from)
    }

    /// True if the lists have the lengths that `groups` groups, `applications` applications and the ranges of sizes with
    /// the upper ends `bins` require. A record from a file may violate this.
    pub fn fits(&self, groups: usize, applications: usize, bins: &[u64]) -> bool {
        let mut tallies = std::iter::once(&self.all).chain(&self.groups);
        self.groups.len() == groups
            && (self.group_links.is_empty() || self.group_links.len() == groups)
            && self.applications.len() == applications
            && tallies.all(|tally| tally.fits(bins))
    }
}
