//! Playout buffer of a voice call.

use super::stream::Stream;
use crate::metrics::application::ApplicationRecord;
use gentle_units::{Instant, Nanos};
use std::collections::BTreeSet;

/// Longest run of concealed speech without silence: ITU-T G.711, appendix I, fades the speech that it repeats until
/// nothing is left after 60 ms.
const LONGEST_CONCEALMENT: Nanos = Nanos::from_millis(60);

/// Fixed playout delay after the shortest transit so far. A packet that arrives later than its playout time is of no
/// use; lost and late speech is concealed.
#[derive(Debug)]
pub(super) struct Playout {
    /// Times at which the other end sends, known from the set-up of the call.
    speech: Stream,
    delay: Nanos,
    warmup: Instant,
    /// Shortest transit so far; `None`: nothing has arrived.
    shortest: Option<Nanos>,
    /// All packets before this one have been played or concealed.
    next: u32,
    /// Packets that have arrived and wait for their playout time.
    waiting: BTreeSet<u32>,
    /// Number of packets concealed in a row.
    concealed: u32,
}

impl Playout {
    pub(super) fn new(speech: Stream, delay: Nanos, warmup: Instant) -> Playout {
        Playout { speech, delay, warmup, shortest: None, next: 0, waiting: BTreeSet::new(), concealed: 0 }
    }

    /// Takes packet `number`, which arrives at `now`.
    pub(super) fn arrive(&mut self, now: Instant, number: u32, record: &mut ApplicationRecord) {
        // A packet that cannot have been sent yet is not of this call.
        let Some(sent) = self.speech.at(number).filter(|sent| *sent <= now) else {
            return;
        };
        let transit = now - sent;
        self.shortest = Some(self.shortest.map_or(transit, |known| known.min(transit)));
        self.play_until(now, record);
        if number >= self.next {
            self.waiting.insert(number);
        } else if sent >= self.warmup {
            record.late += 1;
        }
    }

    /// Plays or conceals all packets whose playout time lies before `now`.
    fn play_until(&mut self, now: Instant, record: &mut ApplicationRecord) {
        let Some(shortest) = self.shortest else {
            return;
        };
        while let Some(sent) = self.speech.at(self.next)
            && sent + shortest + self.delay < now
        {
            self.play(sent, record);
        }
    }

    /// Plays or conceals the next packet, which was sent at `sent`.
    fn play(&mut self, sent: Instant, record: &mut ApplicationRecord) {
        let arrived = self.waiting.remove(&self.next);
        self.next += 1;
        if sent < self.warmup {
            return;
        }
        record.active += self.speech.interval();
        if arrived {
            self.end_concealment(record);
        } else {
            self.concealed += 1;
        }
    }

    fn end_concealment(&mut self, record: &mut ApplicationRecord) {
        let duration = self.speech.interval() * u64::from(std::mem::take(&mut self.concealed));
        if duration > LONGEST_CONCEALMENT {
            record.stalled(duration);
        }
    }

    /// Plays or conceals the rest of the call.
    pub(super) fn finish(&mut self, record: &mut ApplicationRecord) {
        while let Some(sent) = self.speech.at(self.next) {
            self.play(sent, record);
        }
        self.end_concealment(record);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const AT: fn(u64) -> Instant = Instant::from_millis;
    const MS: fn(u64) -> Nanos = Nanos::from_millis;

    /// Playout of 20 packets, one each 20 ms from 1 s on, delayed by 60 ms; the packets arrive after `transits`.
    fn call(transits: &[(u32, u64)], warmup: Instant) -> ApplicationRecord {
        let speech = Stream::new(AT(1_000), MS(20), AT(1_400));
        assert_eq!(speech.count(), 20);
        let mut playout = Playout::new(speech, MS(60), warmup);
        let mut record = ApplicationRecord::default();
        let mut arrivals: Vec<(u64, u32)> =
            (transits.iter()).map(|(number, transit)| (1_000 + 20 * u64::from(*number) + transit, *number)).collect();
        arrivals.sort_unstable();
        for (at, number) in arrivals {
            playout.arrive(AT(at), number, &mut record);
        }
        playout.finish(&mut record);
        record
    }

    #[test]
    fn a_packet_later_than_the_shortest_transit_and_the_playout_delay_is_late() {
        let mut transits: Vec<(u32, u64)> = (0..20).map(|number| (number, 30)).collect();
        transits[5].1 = 90;
        assert_eq!(call(&transits, Instant::ZERO).late, 0);
        transits[5].1 = 91;
        let record = call(&transits, Instant::ZERO);
        assert_eq!((record.late, record.stalls), (1, 0));
        assert_eq!(record.active, MS(400));
        // Sent before the end of the warm-up, it does not count.
        assert_eq!(call(&transits, AT(1_101)).late, 0);
        // A shorter transit moves the playout time of later packets.
        transits[5].1 = 30;
        transits[2].1 = 10;
        transits[8].1 = 71;
        assert_eq!(call(&transits, Instant::ZERO).late, 1);
    }

    #[test]
    fn a_gap_of_more_than_60_ms_is_a_stall() {
        let without = |lost: std::ops::Range<u32>| {
            let kept = (0..20).filter(|number| !lost.contains(number));
            let record = call(&kept.map(|number| (number, 30)).collect::<Vec<_>>(), Instant::ZERO);
            (record.stalls, record.stalled, record.late)
        };
        assert_eq!(without(4..7), (0, Nanos::ZERO, 0));
        assert_eq!(without(4..8), (1, MS(80), 0));
        // The end of the call, and all of it.
        assert_eq!(without(10..20), (1, MS(200), 0));
        assert_eq!(without(0..20), (1, MS(400), 0));
    }

    #[test]
    fn packets_in_another_order_are_played() {
        let mut transits: Vec<(u32, u64)> = (0..20).map(|number| (number, 10)).collect();
        transits[7].1 = 60;
        let record = call(&transits, Instant::ZERO);
        assert_eq!((record.late, record.stalls), (0, 0));
    }

    proptest! {
        #[test]
        fn any_arrivals_are_survived(arrivals in prop::collection::vec((0_u64..3_000, any::<u32>(), 0_u32..30), 0..60)) {
            let speech = Stream::new(AT(1_000), MS(20), AT(1_400));
            let mut playout = Playout::new(speech, MS(60), Instant::ZERO);
            let mut record = ApplicationRecord::default();
            let mut arrivals = arrivals;
            arrivals.sort_unstable();
            for (at, wild, number) in arrivals {
                playout.arrive(AT(at), number, &mut record);
                playout.arrive(AT(at), wild, &mut record);
                prop_assert!(playout.waiting.len() <= 20);
            }
            playout.finish(&mut record);
            prop_assert_eq!(record.active, MS(400));
            prop_assert!(record.stalled <= record.active);
        }
    }
}
