//! Waiting for retransmissions, each moment counted once.

use gentle_units::{Instant, Nanos};

/// Times in which an end point waited for retransmissions.
///
/// A retransmission has waited since the previous transmission of its segment. Segments of a window wait at the same time,
/// so the [sum](Waits::sum) of their waits is longer than the [time](Waits::total) that has passed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Waits {
    /// SYN and SYN/ACK, then other segments. Nothing is allocated before the first retransmission.
    kinds: Option<Box<[Kind; 2]>>,
}

/// Waits of one kind of segments.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Kind {
    sum: Nanos,
    /// Disjoint intervals in ascending order.
    intervals: Vec<(Instant, Instant)>,
}

/// Places in [`Waits::kinds`].
const HANDSHAKE: usize = 0;
const OTHERS: usize = 1;

impl Waits {
    /// Adds the wait of a retransmission sent at `to`. Calls come in order of `to`.
    pub fn add(&mut self, from: Instant, to: Instant) {
        self.kinds.get_or_insert_default()[OTHERS].add(from, to);
    }

    /// Adds the wait of a retransmitted SYN or SYN/ACK sent at `to`. Calls come in order of `to`.
    pub fn add_handshake(&mut self, from: Instant, to: Instant) {
        self.kinds.get_or_insert_default()[HANDSHAKE].add(from, to);
    }

    /// Sum over all retransmissions of the time since the previous transmission of the segment.
    pub fn sum(&self) -> Nanos {
        let kinds = self.kinds.as_deref();
        kinds.map_or(Nanos::ZERO, |kinds| kinds.iter().map(|kind| kind.sum).sum())
    }

    /// The part of [`Waits::sum`] that is due to SYN and SYN/ACK segments.
    pub fn handshake_sum(&self) -> Nanos {
        let kinds = self.kinds.as_deref();
        kinds.map_or(Nanos::ZERO, |kinds| kinds[HANDSHAKE].sum)
    }

    /// Time before `until` in which any of the end points `of` waited.
    pub fn total<'a>(of: impl Iterator<Item = &'a Waits>, until: Instant) -> Nanos {
        union(of.flat_map(|waits| waits.intervals(2)), until)
    }

    /// The part of [`Waits::total`] in which a SYN or SYN/ACK waited.
    pub fn handshake<'a>(of: impl Iterator<Item = &'a Waits>, until: Instant) -> Nanos {
        union(of.flat_map(|waits| waits.intervals(1)), until)
    }

    /// Intervals of the first `kinds`.
    fn intervals(&self, kinds: usize) -> impl Iterator<Item = (Instant, Instant)> {
        let all = self.kinds.as_deref().map_or(&[][..], |all| &all[..kinds]);
        all.iter().flat_map(|kind| kind.intervals.iter().copied())
    }
}

impl Kind {
    fn add(&mut self, from: Instant, to: Instant) {
        self.sum += to.saturating_since(from);
        let (mut from, mut to) = (from, to);
        while let Some(&(start, end)) = self.intervals.last()
            && end >= from
        {
            (from, to) = (from.min(start), to.max(end));
            self.intervals.pop();
        }
        if from < to {
            self.intervals.push((from, to));
        }
    }
}

/// Length of the union of `intervals`, up to `until`.
fn union(intervals: impl Iterator<Item = (Instant, Instant)>, until: Instant) -> Nanos {
    let mut intervals: Vec<(Instant, Instant)> = intervals.collect();
    intervals.sort_unstable();
    let (mut total, mut reached) = (Nanos::ZERO, Instant::ZERO);
    for (from, to) in intervals {
        total += to.min(until).saturating_since(from.max(reached));
        reached = reached.max(to);
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Milliseconds, some of them covered.
    fn covered(waits: &[(u64, u64)], until: u64) -> Nanos {
        let is_covered = |ms: &u64| waits.iter().any(|(from, to)| (*from..*to).contains(ms));
        Nanos::from_millis((0..until.min(200)).filter(is_covered).count() as u64)
    }

    /// Waits as `(from, to)` in milliseconds, in order of `to`.
    fn waits() -> impl Strategy<Value = Vec<(u64, u64)>> {
        prop::collection::vec((0_u64..90, 0_u64..60), 0..12).prop_map(|list| {
            let waits = list.into_iter().map(|(from, length)| (from, from + length));
            let mut waits: Vec<(u64, u64)> = waits.collect();
            waits.sort_unstable_by_key(|(_, to)| *to);
            waits
        })
    }

    proptest! {
        #[test]
        fn each_moment_counts_once(
            ends in [(waits(), waits()), (waits(), waits())],
            until in 0_u64..220,
        ) {
            let (at, ms) = (Instant::from_millis, Nanos::from_millis);
            let recorded = ends.each_ref().map(|(handshake, others)| {
                let mut recorded = Waits::default();
                handshake.iter().for_each(|(from, to)| recorded.add_handshake(at(*from), at(*to)));
                others.iter().for_each(|(from, to)| recorded.add(at(*from), at(*to)));
                recorded
            });
            let handshake = [&ends[0].0[..], &ends[1].0].concat();
            let all = [&handshake[..], &ends[0].1, &ends[1].1].concat();
            let total = Waits::total(recorded.iter(), at(until));
            let of_handshake = Waits::handshake(recorded.iter(), at(until));
            prop_assert_eq!(total, covered(&all, until));
            prop_assert_eq!(of_handshake, covered(&handshake, until));
            prop_assert!(of_handshake <= total && total <= ms(until));
            let sum: Nanos = recorded.iter().map(Waits::sum).sum();
            let sum_of_handshake: Nanos = recorded.iter().map(Waits::handshake_sum).sum();
            prop_assert!(total <= sum && of_handshake <= sum_of_handshake && sum_of_handshake <= sum);
            // A longer time and a further end point never shorten it.
            prop_assert!(total <= Waits::total(recorded.iter(), at(until + 1)));
            prop_assert!(Waits::total(recorded[..1].iter(), at(until)) <= total);
        }
    }
}
