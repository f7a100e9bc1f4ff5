//! Filters of spa-2018, section III: connections to leave out before the quantities of a link are computed.
//!
//! Whether an address floods is known only at the end, so the contribution of every connection is
//! [remembered](Remembered) until then. If memory is short, the decision is made early, from the connections so far
//! ([`Filters::settle`]).

use super::directions::{DirectionSums, Share};
use super::flood::Parties;
use super::remembered::Remembered;
use crate::connections::{Departure, State};
use crate::options::Options;
use crate::results::{Direction, Filter};
use gentle_units::Nanos;
use gentle_wire::Address;

/// Longest retransmission delay of a connection that is kept: that of four SYNs lost at 3 s, doubling.
const LONGEST_DELAY: Nanos = Nanos::from_secs(45);
/// Most flooding addresses that are named.
const EXAMPLES: usize = 10;

/// Connections that pass a filter.
#[derive(Debug, Clone, Default)]
struct Passed {
    connections: u64,
    sums: DirectionSums,
}

impl Passed {
    fn record(&mut self, shares: &[Share; 2]) {
        self.connections += 1;
        self.sums.record(shares);
    }

    fn add(&mut self, other: &Passed) {
        self.connections += other.connections;
        self.sums.add(&other.sums);
    }
}

/// Connections that pass a filter, split by whether they also pass the last filter (`established-with-data`).
#[derive(Debug, Clone, Default)]
struct Split {
    established_with_data: Passed,
    others: Passed,
}

impl Split {
    fn of(&mut self, established_with_data: bool) -> &mut Passed {
        if established_with_data {
            &mut self.established_with_data
        } else {
            &mut self.others
        }
    }

    fn add(&mut self, other: &Split) {
        self.established_with_data.add(&other.established_with_data);
        self.others.add(&other.others);
    }

    fn all(&self) -> Passed {
        let mut all = self.established_with_data.clone();
        all.add(&self.others);
        all
    }
}

/// Filters in the order in which they apply.
///
/// Limited to a sixteenth of the memory limit. Aligned to separate cache lines, as `Decoder` is.
#[repr(align(128))]
#[derive(Debug)]
pub(crate) struct Filters {
    remembered: Remembered,
    parties: Parties,
    without_syn: u64,
    too_long: Passed,
    /// Sums over the remembered connections, so that without a flood they need not be gone through.
    undecided: Split,
    /// Decided connections that are not too long; `harmless` has those of them that are not involved in a flood.
    decided: Split,
    harmless: Split,
    judged_early: u64,
    memory_limit: usize,
    peak_bytes: usize,
}

/// Name and description of each filter.
const FILTERS: [(&str, &str); 4] = [
    ("syn-seen", "connections of which no SYN was seen"),
    (
        "delay-45s",
        "connections with more than 45 s of retransmission delay in a direction",
    ),
    (
        "syn-flood",
        "connections of addresses with at least 1,000 connections without data and 1,000 times more of them than with data",
    ),
    (
        "established-with-data",
        "connections without a full three-way handshake or without data",
    ),
];

impl Filters {
    pub(crate) fn new(options: &Options) -> Filters {
        Filters {
            remembered: Remembered::default(),
            parties: Parties::default(),
            without_syn: 0,
            too_long: Passed::default(),
            undecided: Split::default(),
            decided: Split::default(),
            harmless: Split::default(),
            judged_early: 0,
            memory_limit: options.memory() / 16,
            peak_bytes: 0,
        }
    }

    /// Records a connection that is over.
    pub(crate) fn record(&mut self, departure: &Departure) {
        let Departure {
            connection, ends, ..
        } = departure;
        if !connection.state.has(State::SYN) {
            self.without_syn += 1;
            return;
        }
        let shares = [Share::of(connection, 0), Share::of(connection, 1)];
        if shares
            .iter()
            .any(|share| share.waits_longer_than(LONGEST_DELAY))
        {
            self.too_long.record(&shares);
            return;
        }
        let has_data = connection.bytes.iter().any(|&bytes| bytes > 0);
        let parties = self.parties.record(*ends, has_data);
        let established_with_data = has_data && connection.state.has(State::ESTABLISHED);
        self.undecided.of(established_with_data).record(&shares);
        self.remembered
            .push(&shares, parties, established_with_data);
        self.limit_memory();
    }

    fn limit_memory(&mut self) {
        let bytes = self.remembered.bytes_with_one_more() + self.parties.bytes_with_one_more();
        if bytes > self.memory_limit {
            self.settle();
        } else {
            self.peak_bytes = self.peak_bytes.max(bytes);
        }
    }

    /// Decides about all remembered connections by the addresses' counts so far; at the end of the trace, these are complete.
    pub(crate) fn judge(&mut self) {
        let undecided = std::mem::take(&mut self.undecided);
        let mut remembered = std::mem::take(&mut self.remembered);
        self.decided.add(&undecided);
        if !self.parties.catch() {
            self.harmless.add(&undecided);
            return;
        }
        for (kept, shares) in remembered.drain() {
            if !kept.parties.iter().any(|&at| self.parties.floods(at)) {
                let harmless = self.harmless.of(kept.established_with_data);
                harmless.record(&shares);
            }
        }
    }

    /// Peak of the memory in use or about to be used, bytes.
    pub(crate) fn peak_bytes(&self) -> usize {
        self.peak_bytes
    }

    /// Frees memory when it is short: decides early, and forgets the addresses that are far from flooding.
    fn settle(&mut self) {
        self.judged_early += self.remembered.len() as u64;
        self.judge();
        // The parties may double, and as much again is left for connections, before the limit is next reached.
        self.parties.forget_the_harmless(self.memory_limit / 4);
    }

    /// Number of connections decided early.
    pub(crate) fn judged_early(&self) -> u64 {
        self.judged_early
    }

    /// Results of the filters; call [`judge`](Filters::judge) first. `show` formats an address.
    pub(crate) fn result(
        &self,
        show: impl Fn(Address) -> String,
        directions: impl Fn(&DirectionSums) -> Vec<Direction>,
    ) -> Vec<Filter> {
        let flooders = self.parties.caught();
        let not_too_long = self.decided.all();
        let mut syn_seen = self.too_long.clone();
        syn_seen.add(&not_too_long);
        let passed = [
            syn_seen,
            not_too_long,
            self.harmless.all(),
            self.harmless.established_with_data.clone(),
        ];
        let removed = [
            self.without_syn,
            passed[0].connections - passed[1].connections,
            passed[1].connections - passed[2].connections,
            passed[2].connections - passed[3].connections,
        ];
        FILTERS
            .iter()
            .enumerate()
            .map(|(i, &(name, description))| Filter {
                name,
                description: description.to_string(),
                removed_connections: removed[i],
                removed_addresses: (name == "syn-flood").then(|| self.parties.number_caught()),
                examples: if name == "syn-flood" {
                    flooders
                        .iter()
                        .take(EXAMPLES)
                        .map(|party| show(party.address))
                        .collect()
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
