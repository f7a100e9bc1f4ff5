//! Copies made by mirror ports that are far apart: the same packet again after 0.5 to 100 ms, longer than a gap by which
//! one segment alone can be told from a retransmission.
//!
//! What can be recognised teaches the delay of what cannot. A mirror copies whole streams, whatever is in them; so where many
//! of the segments come again unchanged, all after about the same time, a segment that comes again unchanged after that time is
//! a copy, though it be a SYN/ACK of Linux, without IP identification, or a segment over IPv6. A retransmission differs in IP
//! identification or time stamp, or comes after another time, and none has so many others beside it.

use crate::segment::Segment;
use gentle_units::Nanos;
use gentle_wire::TcpFlags;
use hashbrown::{DefaultHashBuilder, HashTable};
use std::collections::VecDeque;
use std::hash::BuildHasher;
use std::ops::RangeInclusive;

/// Longest delay of a copy.
const LONGEST: Nanos = Nanos::from_millis(100);
/// Shorter delays are within the gaps that [`Sent::is_copy`](super::flight::Sent::is_copy) allows, which needs no other
/// segment's evidence.
const SHORTEST: Nanos = Nanos::from_micros(500);
/// Segments of which all are looked at to learn a delay at first; afterwards, those of one in 64 connections.
const ALL_AT_FIRST: u64 = 8192;
/// Segments that count as evidence, the newest.
const REMEMBERED: usize = 2048;
/// Segments whose copies are waited for; of more, the oldest is given up (0.4 MB).
const WAITING: usize = 16_384;
/// Delays are alike if they differ by less than this factor, and this.
const ALIKE: u64 = 2;
const JITTER: Nanos = Nanos::from_micros(500);

/// A delay with which packets are copied.
#[derive(Debug, Clone, PartialEq)]
struct Delay {
    range: RangeInclusive<Nanos>,
    /// Copies of one packet.
    copies: u8,
}

/// Learns delays, and recognises copies by them.
#[derive(Debug, Default)]
pub(crate) struct Copies {
    hasher: DefaultHashBuilder,
    seen: u64,
    sample: Waiting,
    evidence: VecDeque<Evidence>,
    delay: Option<Delay>,
    waiting: Waiting,
}

/// What a segment has shown.
#[derive(Debug, Clone, Copy)]
struct Evidence {
    /// It came again, or was the same as one so much earlier.
    gap: Option<Nanos>,
    /// By its IP identification it can be nothing but a copy.
    certain: bool,
}

impl Copies {
    /// Marks the copies in `segments`, the next ones of the trace.
    pub(crate) fn mark(&mut self, segments: &mut [Segment]) {
        self.learn(segments);
        let Some(delay) = &self.delay else {
            return;
        };
        for segment in segments.iter_mut().filter(|it| !it.is_undelivered()) {
            let number = self.hasher.hash_one(segment.content());
            self.waiting.expire(segment.time);
            let is_copy = self.waiting.take(number, segment.time, &delay.range);
            segment.mark(is_copy);
            if !is_copy {
                self.waiting.add(number, segment.time, delay.copies);
            }
        }
    }

    fn learn(&mut self, segments: &[Segment]) {
        let any = 0..=LONGEST.0;
        let mut learned = false;
        for segment in segments {
            self.seen += 1;
            if self.seen > ALL_AT_FIRST && !is_sampled(segment) {
                continue;
            }
            let certain = segment.ip_id != 0;
            // What takes no sequence numbers may be said twice by its sender.
            if segment.flags().any(TcpFlags::RST)
                || segment.is_undelivered()
                || (segment.span() == 0 && !certain)
            {
                continue;
            }
            let number = self.hasher.hash_one(segment.content());
            self.sample.expire(segment.time);
            let gap = self.sample.gap(number, segment.time);
            if gap.is_none() {
                self.sample.add(number, segment.time, 0);
            }
            if self.evidence.len() == REMEMBERED {
                self.evidence.pop_front();
            }
            let gap = gap.filter(|gap| any.contains(&gap.0));
            self.evidence.push_back(Evidence { gap, certain });
            learned = true;
        }
        if learned {
            self.delay = self.conclude();
            if self.delay.is_none() {
                self.waiting = Waiting::default();
            }
        }
    }

    /// The delay that the evidence shows, if it shows one.
    fn conclude(&self) -> Option<Delay> {
        let mut gaps: Vec<(Nanos, bool)> = self
            .evidence
            .iter()
            .filter_map(|evidence| Some((evidence.gap?, evidence.certain)))
            .filter(|(gap, _)| *gap >= SHORTEST)
            .collect();
        gaps.sort_unstable();
        let alike = |from: usize| {
            let most = Nanos(gaps[from].0.0.saturating_mul(ALIKE)).saturating_add(JITTER);
            from..gaps.partition_point(|(gap, _)| *gap <= most)
        };
        let most = (0..gaps.len())
            .map(alike)
            .max_by_key(ExactSizeIterator::len)?;
        let gaps = &gaps[most];
        let originals = |certain: bool| {
            let originals = self.evidence.iter().filter(|it| it.gap.is_none());
            originals.filter(|it| it.certain || !certain).count()
        };
        let certain = gaps.iter().filter(|(_, certain)| *certain).count();
        // Half of everything comes again; or enough of what can only be copies, if a mirror copies some of the traffic.
        let all = gaps.len() >= 3 && gaps.len() * 2 >= originals(false);
        let some = certain >= 8 && certain * 20 >= originals(true);
        (all || some).then(|| {
            let (shortest, longest) = (gaps[0].0, gaps[gaps.len() - 1].0);
            let copies = (gaps.len() as f64 / originals(false).max(1) as f64).round();
            Delay {
                range: Nanos(shortest.0 / 10 * 9)..=Nanos(longest.0 / 10 * 11),
                copies: copies.clamp(1.0, 4.0) as u8,
            }
        })
    }
}

/// One in 64 connections, the same ones in every run.
fn is_sampled(segment: &Segment) -> bool {
    let [lower, upper] = segment.ends.ports;
    (lower ^ upper.rotate_left(3)) % 64 == 7
}

/// Segments that may come again.
#[derive(Debug, Default)]
struct Waiting {
    table: HashTable<Original>,
    /// In the order in which they came.
    order: VecDeque<(Nanos, u64)>,
}

/// A segment, by a number made of its content.
#[derive(Debug, Clone, Copy)]
struct Original {
    number: u64,
    time: Nanos,
    /// Copies still to come.
    copies: u8,
}

impl Waiting {
    fn add(&mut self, number: u64, time: Nanos, copies: u8) {
        if self.order.len() == WAITING {
            self.forget_oldest();
        }
        self.order.push_back((time, number));
        let original = Original {
            number,
            time,
            copies,
        };
        self.table
            .insert_unique(number, original, |original| original.number);
    }

    /// Forgets those that no copy follows any more.
    fn expire(&mut self, now: Nanos) {
        while self
            .order
            .front()
            .is_some_and(|(time, _)| now.saturating_sub(*time) > LONGEST)
        {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        if let Some((time, number)) = self.order.pop_front()
            && let Ok(entry) = self.table.find_entry(number, |original| {
                original.number == number && original.time == time
            })
        {
            entry.remove();
        }
    }

    /// How long ago the same segment came, if it did.
    fn gap(&self, number: u64, now: Nanos) -> Option<Nanos> {
        let original = self
            .table
            .find(number, |original| original.number == number)?;
        Some(now.saturating_sub(original.time))
    }

    /// Takes a copy of a segment that came so long ago; `false` if there is none of which a copy is still to come.
    fn take(&mut self, number: u64, now: Nanos, delay: &RangeInclusive<Nanos>) -> bool {
        let found = self.table.find_entry(number, |original| {
            original.number == number && delay.contains(&now.saturating_sub(original.time))
        });
        let Ok(mut entry) = found else {
            return false;
        };
        entry.get_mut().copies -= 1;
        if entry.get().copies == 0 {
            entry.remove();
        }
        true
    }
}
