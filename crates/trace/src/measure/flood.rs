//! The filters of spa-2018, section III: what is left out before the quantities of a link are taken.
//!
//! The SYN-flood filter is the difficult one: whether an address floods is known only at the end, so the contribution of
//! every connection is kept until then, 64 bytes each. When memory is short, what has been kept is decided with what is
//! known so far ([`Filters::settle`]).

use super::directions::{DirectionSums, Share};
use super::rate::Meter;
use crate::connections::{Departure, State};
use crate::hash_size::hash_table_bytes;
use crate::options::Options;
use crate::results::{Direction, Filter};
use gentle_units::{Nanos, Rate};
use gentle_wire::Address;
use hashbrown::HashMap;

/// Connections whose retransmission delay is longer are left out: the delay after four SYNs lost at 3 s, doubling.
const LONGEST_DELAY: Nanos = Nanos::from_secs(45);
/// An address floods if it has at least so many connections without data …
const FLOOD: u32 = 1_000;
/// … and so many times more of them than of those with data.
const FLOOD_RATIO: u64 = 1_000;
/// Addresses with fewer connections without data are forgotten when memory is short.
const SUSPECT: u32 = 100;
/// Flooding addresses that are named.
const EXAMPLES: usize = 10;

/// What is kept of a connection until the end.
#[derive(Debug, Clone, Copy)]
struct Kept {
    shares: [Share; 2],
    /// Places of the addresses in [`Parties`].
    parties: [u32; 2],
    established_with_data: bool,
}

const _: () = assert!(size_of::<Kept>() <= 64);

/// Connections of an address.
#[derive(Debug, Clone, Copy)]
struct Party {
    address: Address,
    with_data: u32,
    without_data: u32,
}

impl Party {
    fn floods(&self) -> bool {
        self.without_data >= FLOOD
            && u64::from(self.without_data) >= FLOOD_RATIO * u64::from(self.with_data)
    }
}

/// Every address seen.
#[derive(Debug, Clone, Default)]
struct Parties {
    places: HashMap<Address, u32>,
    parties: Vec<Party>,
}

impl Parties {
    fn place(&mut self, address: Address) -> u32 {
        *self.places.entry(address).or_insert_with(|| {
            self.parties.push(Party {
                address,
                with_data: 0,
                without_data: 0,
            });
            (self.parties.len() - 1) as u32
        })
    }

    fn bytes(&self) -> usize {
        hash_table_bytes(self.places.len(), size_of::<(Address, u32)>())
            + self.parties.capacity() * size_of::<Party>()
    }
}

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
}

/// What the SYN-flood filter and the one after it let pass.
#[derive(Debug, Clone, Default)]
struct Harmless {
    all: Passed,
    established_with_data: Passed,
}

impl Harmless {
    fn record(&mut self, kept: &Kept) {
        self.all.record(&kept.shares);
        if kept.established_with_data {
            self.established_with_data.record(&kept.shares);
        }
    }
}

/// The filters, in the order in which they apply.
///
/// They have a sixteenth of the memory limit, and cache lines of their own, as `Decoder` has.
#[repr(align(128))]
#[derive(Debug)]
pub(crate) struct Filters {
    kept: Vec<Kept>,
    parties: Parties,
    without_syn: u64,
    too_long: u64,
    flooded: u64,
    syn_seen: Passed,
    not_too_long: Passed,
    /// Of those about whom all is decided.
    harmless: Harmless,
    /// And of those kept, too, if nobody floods: then nothing is left to do at the end.
    harmless_unless_flood: Harmless,
    judged_early: u64,
    /// Addresses found flooding when memory was short, with their connections.
    flooders: HashMap<Address, u32>,
    memory_limit: usize,
    peak_bytes: usize,
}

/// Names and descriptions.
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
            kept: Vec::new(),
            parties: Parties::default(),
            without_syn: 0,
            too_long: 0,
            flooded: 0,
            syn_seen: Passed::default(),
            not_too_long: Passed::default(),
            harmless: Harmless::default(),
            harmless_unless_flood: Harmless::default(),
            judged_early: 0,
            flooders: HashMap::new(),
            memory_limit: options.memory() / 16,
            peak_bytes: 0,
        }
    }

    /// A connection is over.
    pub(crate) fn record(&mut self, departure: &Departure) {
        let Departure {
            connection, ends, ..
        } = departure;
        if !connection.state.has(State::SYN) {
            self.without_syn += 1;
            return;
        }
        let shares = [Share::of(connection, 0), Share::of(connection, 1)];
        self.syn_seen.record(&shares);
        if shares
            .iter()
            .any(|share| share.waits_longer_than(LONGEST_DELAY))
        {
            self.too_long += 1;
            return;
        }
        self.not_too_long.record(&shares);
        let has_data = connection.bytes.iter().any(|&bytes| bytes > 0);
        let parties = ends.map(|address| self.parties.place(address));
        let distinct = if parties[0] == parties[1] { 1 } else { 2 };
        for &place in &parties[..distinct] {
            let party = &mut self.parties.parties[place as usize];
            if has_data {
                party.with_data = party.with_data.saturating_add(1);
            } else {
                party.without_data = party.without_data.saturating_add(1);
            }
        }
        let kept = Kept {
            shares,
            parties,
            established_with_data: has_data && connection.state.has(State::ESTABLISHED),
        };
        self.harmless_unless_flood.record(&kept);
        self.kept.push(kept);
        self.limit_memory();
    }

    fn limit_memory(&mut self) {
        let bytes = self.kept.capacity() * size_of::<Kept>() + self.parties.bytes();
        self.peak_bytes = self.peak_bytes.max(bytes);
        if bytes > self.memory_limit {
            self.settle();
        }
    }

    /// Decides about every connection kept with what is known of the addresses now: all, when the trace is over.
    pub(crate) fn judge(&mut self) {
        let kept = std::mem::take(&mut self.kept);
        let mut anybody = false;
        for party in self.parties.parties.iter().filter(|party| party.floods()) {
            anybody = true;
            self.flooders.insert(
                party.address,
                party.without_data.saturating_add(party.with_data),
            );
        }
        if !anybody {
            self.harmless = self.harmless_unless_flood.clone();
            return;
        }
        for kept in kept {
            if kept
                .parties
                .iter()
                .any(|&place| self.parties.parties[place as usize].floods())
            {
                self.flooded += 1;
            } else {
                self.harmless.record(&kept);
            }
        }
        self.harmless_unless_flood = self.harmless.clone();
    }

    /// Most memory that was in use, bytes.
    pub(crate) fn peak_bytes(&self) -> usize {
        self.peak_bytes
    }

    /// Memory is short: decides early, and forgets the addresses that are far from flooding.
    fn settle(&mut self) {
        self.judged_early += self.kept.len() as u64;
        self.judge();
        let parties = std::mem::take(&mut self.parties);
        for party in parties.parties {
            if party.without_data >= SUSPECT {
                let place = self.parties.place(party.address);
                self.parties.parties[place as usize] = party;
            }
        }
    }

    /// Connections decided early.
    pub(crate) fn judged_early(&self) -> u64 {
        self.judged_early
    }

    /// What the filters left, once everything is [judged](Filters::judge). `show` writes an address.
    pub(crate) fn result(
        &self,
        show: impl Fn(Address) -> String,
        directions: impl Fn(&DirectionSums) -> Vec<Direction>,
    ) -> Vec<Filter> {
        let mut flooders: Vec<_> = self.flooders.iter().map(|(&a, &n)| (n, a)).collect();
        flooders.sort_unstable_by_key(|&(n, address)| (std::cmp::Reverse(n), address));
        let passed = [
            &self.syn_seen,
            &self.not_too_long,
            &self.harmless.all,
            &self.harmless.established_with_data,
        ];
        let removed = [
            self.without_syn,
            self.too_long,
            self.flooded,
            passed[2].connections - passed[3].connections,
        ];
        FILTERS
            .iter()
            .enumerate()
            .map(|(i, &(name, description))| Filter {
                name,
                description: description.to_string(),
                removed_connections: removed[i],
                removed_addresses: (name == "syn-flood").then_some(flooders.len() as u64),
                examples: if name == "syn-flood" {
                    flooders
                        .iter()
                        .take(EXAMPLES)
                        .map(|&(_, address)| show(address))
                        .collect()
                } else {
                    Vec::new()
                },
                connections: passed[i].connections,
                directions: directions(&passed[i].sums),
            })
            .collect()
    }

    /// The sums behind the quantities of spa-2018: after the 45 s filter.
    pub(crate) fn considered(&self) -> &DirectionSums {
        &self.not_too_long.sums
    }
}

/// Quantities per direction need what the whole link did, too.
#[derive(Debug)]
pub(crate) struct Link<'a> {
    pub(crate) names: &'a [String],
    pub(crate) meters: &'a [Meter],
    pub(crate) duration: Nanos,
    pub(crate) rate: Option<Rate>,
}

impl Link<'_> {
    pub(crate) fn directions(&self, sums: &DirectionSums) -> Vec<Direction> {
        sums.result(self.names, self.meters, self.duration, self.rate)
    }
}
