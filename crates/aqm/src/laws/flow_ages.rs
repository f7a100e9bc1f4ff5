//! Ages of flows in a small table: the bytes that each has sent, less what it has been forgiven.
//!
//! Time is divided into periods of a second. At the end of each, every flow is forgiven a part of the *fair share*, the
//! max-min fair one of the period: what flows of age zero left of the link, divided by the number of the others. A flow that
//! sends less than it stays young; one that sends more grows older, and is counted among the others in the next period.
//!
//! The shares add up to a sum; an entry stores the value that the sum has when the flow's age will be zero. One addition a
//! packet thus keeps the age, no entry is visited when a period ends, and an entry whose age is zero is as good as an empty
//! one.

use crate::plumbing::flow_hash::FlowHash;
use crate::plumbing::options::{Kind, OptionSpec, Options};
use gentle_units::{Instant, Nanos};

/// Length of a period. Shorter ones forgive flows that wait for their RTO; longer ones change little (docs/gentle.md).
const PERIOD: Nanos = Nanos::from_secs(1);

/// Entries of a set: 64 bytes, a line of the cache.
const WAYS: usize = 8;

/// Periods after which an entry that was not used has the age zero, whatever the 32 bits of its sum say.
const EXPIRY: u16 = 1024;

/// Largest age that can be counted, bytes: [`EXPIRY`] periods in which it is forgiven fit into 31 bits.
const OLDEST: u32 = 1 << 21;

pub(crate) const BANDS: OptionSpec = OptionSpec {
    name: "bands",
    // One band would be a FIFO.
    kind: Kind::Count(2, 15),
    default: Some("10"),
    help: "number of bands",
};

pub(crate) const FIRST: OptionSpec = OptionSpec {
    name: "first",
    kind: Kind::Size(64, 65_536),
    default: Some("2kb"),
    help: "age at which a flow leaves the youngest band; each further band is twice as long",
};

pub(crate) const FORGIVE: OptionSpec = OptionSpec {
    name: "forgive",
    kind: Kind::Count(0, 1000),
    default: Some("75"),
    help: "percentage of the fair share of the link by which each flow grows younger in a second",
};

/// Largest number of a period.
const PERIODS: u16 = u16::MAX >> 1;

/// A flow's entry.
#[derive(Debug, Clone, Copy, Default)]
struct Entry {
    /// Part of the flow's hash.
    tag: u16,
    /// Period in which the flow last sent, modulo 2^15, times two; one more if it was in debt when it began to.
    sent: u16,
    /// Sum of the shares at which the flow's age is zero, modulo 2^32.
    paid: u32,
}

/// Ages of flows in bytes, and their bands.
#[derive(Debug)]
pub(crate) struct FlowAges {
    sets: Box<[[Entry; WAYS]]>,
    hash: FlowHash,
    /// Age at which the youngest band ends.
    first: u32,
    bands: usize,
    /// Largest age. A flow of this age has to be silent for a few periods until it is young again.
    most: u32,
    /// Percentage of the fair share that each flow is forgiven at the end of a period.
    percent: u32,
    /// Sum of what flows have been forgiven so far, modulo 2^32.
    forgiven: u32,
    /// Number of the period, modulo 2^15.
    period: u16,
    ends: Option<Instant>,
    /// Flows in debt: their age was not zero when they began to send in this period.
    indebted: u32,
    /// Bytes that all others have sent in this period.
    unindebted_bytes: u64,
}

impl FlowAges {
    /// An empty table for `flows` flows, rounded up to whole sets, with the options [`BANDS`], [`FIRST`] and [`FORGIVE`].
    pub(crate) fn new(flows: u32, options: &Options, hash: FlowHash) -> FlowAges {
        let bands = options.count(BANDS.name) as usize;
        let first = options.size(FIRST.name) as u32;
        let sets = (flows as usize).div_ceil(WAYS).max(1);
        FlowAges {
            sets: vec![[Entry::default(); WAYS]; sets].into_boxed_slice(),
            hash,
            first,
            bands,
            most: (first << bands).min(OLDEST),
            percent: options.count(FORGIVE.name) as u32,
            forgiven: 0,
            period: 0,
            ends: None,
            indebted: 0,
            unindebted_bytes: 0,
        }
    }

    /// Whether a packet that arrives now ends a period.
    #[inline]
    pub(crate) fn ends_period(&self, now: Instant) -> bool {
        self.ends.is_some_and(|ends| now >= ends)
    }

    /// The band of a packet of `bytes` that `flow` sends now, 0 the youngest, over a link with a rate of `rate` bytes per
    /// second. While the rate is not known, no packet has waited, and flows are forgiven all.
    #[inline]
    pub(crate) fn band(&mut self, now: Instant, flow: u64, bytes: u32, rate: Option<u64>) -> usize {
        let doublings = (self.charge(now, flow, bytes, rate) / self.first).checked_ilog2();
        let band = doublings.map_or(0, |doublings| doublings as usize + 1);
        band.min(self.bands - 1)
    }

    /// The age of `flow` before the packet of [`FlowAges::band`].
    #[inline]
    fn charge(&mut self, now: Instant, flow: u64, bytes: u32, rate: Option<u64>) -> u32 {
        if self.ends.is_none() || self.ends_period(now) {
            self.end_period(now, rate);
        }
        let hash = self.hash.value(flow);
        let count = self.sets.len() as u64;
        let set = &mut self.sets[((u64::from(hash) * count) >> 32) as usize];
        let tag = hash as u16;
        let (period, forgiven) = (self.period, self.forgiven);
        let age = |entry: &Entry| {
            let left = entry.paid.wrapping_sub(forgiven) as i32;
            if left <= 0 || period.wrapping_sub(entry.sent >> 1) & PERIODS > EXPIRY {
                0
            } else {
                left as u32
            }
        };
        // The flow's entry, else the one that is the least loss.
        let mut found = 0;
        let mut least = u32::MAX;
        for (index, entry) in set.iter().enumerate() {
            let age = age(entry);
            if entry.tag == tag && age > 0 {
                found = index;
                least = age;
                break;
            }
            if age < least {
                (found, least) = (index, age);
            }
        }
        let entry = &mut set[found];
        let known = entry.tag == tag;
        let before = if known { least } else { 0 };
        let indebted = if known && entry.sent >> 1 == period {
            entry.sent & 1
        } else {
            self.indebted += u32::from(before > 0);
            u16::from(before > 0)
        };
        if indebted == 0 {
            self.unindebted_bytes += u64::from(bytes);
        }
        let after = before.saturating_add(bytes).min(self.most);
        *entry = Entry {
            tag,
            sent: period << 1 | indebted,
            paid: forgiven.wrapping_add(after),
        };
        before
    }

    #[cold]
    fn end_period(&mut self, now: Instant, rate: Option<u64>) {
        let Some(ends) = self.ends else {
            self.ends = Some(now + PERIOD);
            return;
        };
        let periods = 1 + (now - ends).0 / PERIOD.0;
        self.ends = Some(ends + PERIOD * periods);
        let share = rate.map_or(u64::MAX, |rate| {
            let left = rate.saturating_sub(self.unindebted_bytes);
            let fair = left / u64::from(self.indebted.max(1));
            fair * u64::from(self.percent) / 100
        });
        // More than the largest age would forgive no more.
        let share = share.min(self.most.into()) * periods.min(EXPIRY.into());
        self.forgiven = self.forgiven.wrapping_add(share as u32);
        self.period = self.period.wrapping_add(periods as u16) & PERIODS;
        self.indebted = 0;
        self.unindebted_bytes = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plumbing::spec::Spec;
    use rand::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    const RATE: Option<u64> = Some(100_000);

    fn ages(flows: u32) -> FlowAges {
        let hash = FlowHash::draw(&mut Xoshiro256PlusPlus::seed_from_u64(1));
        let spec: Spec = "gentle forgive=100".parse().unwrap();
        FlowAges::new(flows, spec.options(), hash)
    }

    fn ms(n: u64) -> Instant {
        Instant::from_millis(n)
    }

    #[test]
    fn an_age_is_what_the_flow_has_sent_in_the_period() {
        let mut ages = ages(64);
        let found = [100, 50, 7].map(|bytes| ages.charge(ms(1), 1, bytes, RATE));
        assert_eq!(found, [0, 100, 150]);
        assert_eq!(ages.charge(ms(2), 2, 1000, RATE), 0);
        assert_eq!(ages.charge(ms(3), 1, 1, RATE), 157);
    }

    #[test]
    fn each_period_forgives_the_fair_share() {
        let mut ages = ages(64);
        // Flows that have no debt yet: 90,000 bytes. There is nothing left to forgive but 10,000.
        for flow in 0..3 {
            assert_eq!(ages.charge(ms(0), flow, 30_000, RATE), 0);
        }
        assert_eq!(ages.charge(ms(1000), 0, 0, RATE), 20_000);
        assert_eq!(ages.charge(ms(1000), 1, 0, RATE), 20_000);
        // A flow without debt takes 40,000; each of the two that are in debt may send half of the other 60,000.
        assert_eq!(ages.charge(ms(1000), 3, 40_000, RATE), 0);
        assert_eq!(ages.charge(ms(1001), 0, 50_000, RATE), 20_000);
        assert_eq!(ages.charge(ms(1001), 1, 25_000, RATE), 20_000);
        assert_eq!(ages.charge(ms(2000), 0, 0, RATE), 40_000);
        assert_eq!(ages.charge(ms(2000), 1, 0, RATE), 15_000);
        assert_eq!(ages.charge(ms(2000), 2, 0, RATE), 0);
        assert_eq!(ages.charge(ms(2000), 3, 0, RATE), 10_000);
    }

    #[test]
    fn a_long_pause_forgives_all_even_when_the_sum_has_wrapped() {
        let mut ages = ages(8);
        for pause in [
            2, 100, 1023, 1025, 3000, 32_768, 65_535, 65_536, 70_000, 10_000_000,
        ] {
            let now = ages.ends.unwrap_or_default();
            ages.charge(now, 1, OLDEST, Some(1 << 40));
            assert!(ages.charge(now, 1, OLDEST, Some(1 << 40)) > 0);
            let later = now + PERIOD * pause;
            assert_eq!(ages.charge(later, 1, 1, Some(1 << 40)), 0, "{pause}");
        }
    }

    #[test]
    fn all_is_forgiven_while_no_packet_has_waited() {
        let mut ages = ages(64);
        for second in 0..10 {
            assert_eq!(ages.charge(ms(1000 * second), 1, 1 << 19, None), 0);
            assert_eq!(
                ages.charge(ms(1000 * second + 1), 1, 1 << 19, None),
                1 << 19
            );
        }
    }

    #[test]
    fn a_full_set_forgets_the_youngest() {
        let mut ages = ages(8);
        for flow in 1..=8 {
            assert_eq!(ages.charge(ms(0), flow, 100 * flow as u32, RATE), 0);
        }
        assert_eq!(ages.charge(ms(1), 9, 50, RATE), 0);
        assert_eq!(ages.charge(ms(1), 1, 0, RATE), 0);
        for flow in 2..=8 {
            assert_eq!(ages.charge(ms(1), flow, 0, RATE), 100 * flow as u32);
        }
    }

    #[test]
    fn memory_is_eight_bytes_a_flow() {
        assert_eq!(size_of::<Entry>(), 8);
        assert_eq!(ages(512).sets.len() * size_of::<[Entry; WAYS]>(), 4096);
    }
}
