//! Filters of spa-2018, section III: connections to leave out before the quantities of a link are computed.
//!
//! Whether an address floods is known only at the end of the trace, so the contribution of every connection is kept
//! until then ([`UndecidedConnections`]). If memory is short, the decision is made early, from the connections so far
//! ([`Filters::decide_early`]).

use super::directions::{Contribution, DirectionSums};
use super::flood::FloodDetector;
use super::undecided::UndecidedConnections;
use crate::connections::{ClosedConnection, ConnectionFlags};
use crate::options::Options;
use crate::results::{Direction, Filter};
use crate::sum::{Sum, sum};
use gentle_units::Nanos;
use gentle_wire::Address;
use serde::{Deserialize, Serialize};

/// Longest retransmission delay of a connection that is kept: that of four SYNs lost with an initial RTO of 3 s.
const LONGEST_DELAY: Nanos = Nanos::from_secs(45);
/// Largest number of flooding addresses that are named.
const EXAMPLES: usize = 10;

/// Connections that pass a filter.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Passed {
    connections: u64,
    sums: DirectionSums,
}

impl Passed {
    fn record(&mut self, contributions: &[Contribution; 2]) {
        self.connections += 1;
        self.sums.record(contributions);
    }
}

/// Connections that pass a filter, split by whether they also pass the last filter (`established-with-data`).
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Split {
    established_with_data: Passed,
    others: Passed,
}

sum! {
    Passed { connections, sums }
    Split { established_with_data, others }
}

impl Split {
    fn of(&mut self, established_with_data: bool) -> &mut Passed {
        if established_with_data { &mut self.established_with_data } else { &mut self.others }
    }

    /// Numbers the directions from `first` on.
    fn shift(&mut self, first: usize) {
        self.established_with_data.sums.shift(first);
        self.others.sums.shift(first);
    }

    fn directions(&self) -> usize {
        let others = self.others.sums.directions();
        others.max(self.established_with_data.sums.directions())
    }

    fn all(&self) -> Passed {
        self.established_with_data.clone().plus(self.others.clone())
    }
}

/// Filters in the order in which they apply.
///
/// Memory is limited to a sixteenth of the memory limit. Aligned to separate cache lines, as `Decoder` is.
#[repr(align(128))]
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Filters {
    undecided_connections: UndecidedConnections,
    flood: FloodDetector,
    without_syn: u64,
    too_long: Passed,
    /// Sums over the undecided connections; if no address floods, they are added as a whole.
    undecided: Split,
    /// Decided connections with at most [`LONGEST_DELAY`]; `benign` has the ones that are not involved in a flood.
    decided: Split,
    benign: Split,
    decided_early: u64,
    #[serde(skip)]
    memory_limit: usize,
    #[serde(skip)]
    peak_bytes: usize,
}

sum! {
    Filters {
        undecided_connections own, flood own, without_syn, too_long, undecided, decided, benign, decided_early,
        memory_limit own, peak_bytes max,
    }
}

/// Name of each filter.
const FILTERS: [&str; 4] = ["syn-seen", "delay-45s", "syn-flood", "established-with-data"];

impl Filters {
    pub(crate) fn new(options: &Options) -> Filters {
        Filters {
            undecided_connections: UndecidedConnections::default(),
            flood: FloodDetector::default(),
            without_syn: 0,
            too_long: Passed::default(),
            undecided: Split::default(),
            decided: Split::default(),
            benign: Split::default(),
            decided_early: 0,
            memory_limit: options.memory() / 16,
            peak_bytes: 0,
        }
    }

    /// Records a closed connection.
    pub(crate) fn record(&mut self, closed: &ClosedConnection) {
        let ClosedConnection { connection, addresses, .. } = closed;
        if !connection.flags.has(ConnectionFlags::SYN) {
            self.without_syn += 1;
            return;
        }
        let contributions = [Contribution::of(connection, 0), Contribution::of(connection, 1)];
        if contributions.iter().any(|contribution| contribution.waits_longer_than(LONGEST_DELAY)) {
            self.too_long.record(&contributions);
            return;
        }
        let has_data = connection.bytes.iter().any(|&bytes| bytes > 0);
        let places = self.flood.record(*addresses, has_data);
        let established_with_data = has_data && connection.flags.has(ConnectionFlags::ESTABLISHED);
        self.undecided.of(established_with_data).record(&contributions);
        self.undecided_connections.push(&contributions, places, established_with_data);
        self.limit_memory();
    }

    /// Adds the connections of another trace, whose directions follow after `first` others.
    pub(crate) fn add(&mut self, mut other: Filters, first: usize) {
        let places = self.flood.add(&other.flood);
        let undecided = std::mem::take(&mut other.undecided_connections);
        self.undecided_connections.add(undecided, first, &places);
        other.too_long.sums.shift(first);
        [&mut other.undecided, &mut other.decided, &mut other.benign].into_iter().for_each(|split| split.shift(first));
        Sum::add(self, other);
        self.limit_memory();
    }

    /// Replaces all addresses. Nothing may be recorded afterwards.
    pub(crate) fn replace(&mut self, replacement: impl Fn(Address) -> Address) {
        self.flood.replace(replacement);
    }

    /// Whether the parts fit each other and there are at most `directions` directions.
    pub(crate) fn fits(&self, directions: usize) -> bool {
        let sums = [&self.undecided, &self.decided, &self.benign];
        let of_sums = sums.into_iter().map(Split::directions);
        of_sums.max().max(Some(self.too_long.sums.directions())) <= Some(directions)
            && self.undecided_connections.fits(self.flood.len(), directions)
    }

    fn limit_memory(&mut self) {
        let bytes = self.undecided_connections.bytes_with_one_more() + self.flood.bytes_with_one_more();
        if bytes > self.memory_limit {
            self.decide_early();
        } else {
            self.peak_bytes = self.peak_bytes.max(bytes);
        }
    }

    /// Decides about all undecided connections by the addresses' counts so far; at the end of the trace, these are
    /// complete.
    pub(crate) fn decide(&mut self) {
        let undecided = std::mem::take(&mut self.undecided);
        let mut undecided_connections = std::mem::take(&mut self.undecided_connections);
        self.decided.add(undecided.clone());
        if !self.flood.mark_flooders() {
            self.benign.add(undecided);
            return;
        }
        for (kept, contributions) in undecided_connections.drain() {
            if !kept.places.iter().any(|&at| self.flood.floods(at)) {
                let benign = self.benign.of(kept.established_with_data);
                benign.record(&contributions);
            }
        }
    }

    /// Peak of the memory in use or about to be used, bytes.
    pub(crate) fn peak_bytes(&self) -> usize {
        self.peak_bytes
    }

    /// Frees memory when it is short: decides early, and forgets the addresses that are far from flooding.
    fn decide_early(&mut self) {
        self.decided_early += self.undecided_connections.len() as u64;
        self.decide();
        // The table of addresses may double, and as much again is left for connections, before the limit is next
        // reached.
        self.flood.forget_benign(self.memory_limit / 4);
    }

    /// Number of connections decided early.
    pub(crate) fn decided_early(&self) -> u64 {
        self.decided_early
    }

    /// Results of the filters; call [`decide`](Filters::decide) first. `show` formats an address.
    pub(crate) fn result(
        &self,
        show: impl Fn(Address) -> String,
        directions: impl Fn(&DirectionSums) -> Vec<Direction>,
    ) -> Vec<Filter> {
        let flooders = self.flood.flooders();
        let not_too_long = self.decided.all();
        let syn_seen = self.too_long.clone().plus(not_too_long.clone());
        let passed = [syn_seen, not_too_long, self.benign.all(), self.benign.established_with_data.clone()];
        let removed = [
            self.without_syn,
            passed[0].connections.saturating_sub(passed[1].connections),
            passed[1].connections.saturating_sub(passed[2].connections),
            passed[2].connections.saturating_sub(passed[3].connections),
        ];
        FILTERS
            .iter()
            .enumerate()
            .map(|(i, &name)| Filter {
                name,
                description: String::new(),
                removed_connections: removed[i],
                removed_addresses: (name == "syn-flood").then(|| self.flood.flooder_count()),
                examples: if name == "syn-flood" {
                    flooders.iter().take(EXAMPLES).map(|flooder| show(flooder.address)).collect()
                } else {
                    Vec::new()
                },
                connections: passed[i].connections,
                directions: directions(&passed[i].sums),
            })
            .collect()
    }

    /// Sums for the quantities of spa-2018: after the 45 s filter.
    pub(crate) fn considered(&self) -> DirectionSums {
        self.decided.all().sums
    }
}
