//! Measurements of one run.

use super::class::Class;
use super::serial::{by_class, by_reason, nanos};
use super::spread::Spread;
use super::tally::Tally;
use super::timeline::Timeline;
use gentle_aqm::DropReason;
use gentle_units::Nanos;
use serde::{Deserialize, Serialize};

/// Version of the serialised form of [`RunRecord`].
pub const RECORD_VERSION: u32 = 1;

/// Name of random loss behind the queue, beside the names of [`DropReason`].
pub const LOSS: &str = "loss";

/// Names of the reasons for which a packet does not arrive: the queue's, then loss on the link.
pub(crate) const REASONS: [&str; DropReason::ALL.len() + 1] = {
    let mut reasons = [LOSS; DropReason::ALL.len() + 1];
    let mut i = 0;
    while i < DropReason::ALL.len() {
        reasons[i] = DropReason::ALL[i].name();
        i += 1;
    }
    reasons
};

/// Measurements of one direction of the bottleneck.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LinkRecord {
    /// Packets offered to the queue.
    #[serde(with = "by_class")]
    pub(crate) offered: [u64; Class::COUNT],
    /// Packets that did not come out of the link.
    #[serde(with = "by_class")]
    pub(crate) dropped: [u64; Class::COUNT],
    /// Packets that did not come out, by the index of the reason in [`REASONS`].
    #[serde(with = "by_reason")]
    pub(crate) reasons: [u64; REASONS.len()],
    /// Packets that came out.
    pub(crate) sent: u64,
    /// Time spent sending within the measured window.
    #[serde(rename = "busy_ns", with = "nanos")]
    pub(crate) busy: Nanos,
    /// Sojourn times in the queue.
    pub(crate) queue_delay: Spread,
    /// Packets marked with ECN since the end of the warm-up.
    pub(crate) marked: u64,
}

/// Everything measured in one run of a scheme with a seed. It is a value: written as JSON and read again it is equal. Two runs
/// of the same scenario, scheme and seed by the same version of the simulator have equal records; on a kernel in virtual time
/// they differ by fractions of a microsecond.
///
/// Connections count if they start after the warm-up, packets if they are offered after it; queueing delay and
/// utilisation stop at the last arrival, the rest goes on while the run drains. Times are in nanoseconds, sums of times in
/// seconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunRecord {
    /// Version of the serialised form, [`RECORD_VERSION`].
    pub version: u32,
    /// Version of gentle that made the run.
    pub gentle: String,
    /// The backend that made the run: `simulator`, or a kernel.
    pub backend: String,
    /// The scheme with its options, as [`Spec`](gentle_aqm::Spec) writes it.
    pub scheme: String,
    /// The seed.
    pub seed: u64,
    /// End of the warm-up.
    #[serde(rename = "from_ns", with = "nanos")]
    pub(crate) from: Nanos,
    /// End of arrivals.
    #[serde(rename = "to_ns", with = "nanos")]
    pub(crate) to: Nanos,
    /// All connections.
    pub(crate) all: Tally,
    /// Connections of each of the scenario's groups.
    pub(crate) groups: Vec<Tally>,
    /// Goodput of each long-lived connection within the measured window, bytes per second.
    pub(crate) long_goodput: Vec<f64>,
    /// Both directions, [`Direction::Down`](crate::Direction::Down) first.
    pub(crate) links: [LinkRecord; 2],
    /// Sojourn times in the queue under test over the run.
    pub(crate) timeline: Timeline,
}

impl RunRecord {
    /// Whether lists are as long as `groups` groups and the ranges of sizes with the upper ends `bins` ask for. What was
    /// read from a file may be anything.
    pub(crate) fn fits(&self, groups: usize, bins: &[u64]) -> bool {
        let mut tallies = std::iter::once(&self.all).chain(&self.groups);
        self.groups.len() == groups && tallies.all(|tally| tally.fits(bins))
    }
}
