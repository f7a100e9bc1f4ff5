//! Copies of packets made by mirror ports at different places. A copy follows the original after 0.5 to 100 ms, a gap
//! too long to distinguish it from a retransmission by one segment alone.
//!
//! Segments that can be recognised as copies reveal the delay of those that cannot. A mirror copies whole streams. If
//! many segments repeat unchanged after about the same delay, any segment that repeats unchanged after that delay is a
//! copy, even one without IP identification (a SYN/ACK of Linux, a segment over IPv6). A retransmission differs in IP
//! identification or timestamp, or comes after another delay, and not with so many others at once.

use crate::segment::Segment;
use gentle_units::{Instant, Nanos};
use gentle_wire::TcpFlags;
use hashbrown::{DefaultHashBuilder, HashTable};
use std::collections::VecDeque;
use std::hash::BuildHasher;
use std::ops::RangeInclusive;

/// Longest delay of a copy.
const LONGEST: Nanos = Nanos::from_millis(100);
/// Shortest delay considered. Shorter ones are within the gaps that [`Sent::is_copy`](super::flight::Sent::is_copy)
/// allows, which needs no evidence from other segments.
const SHORTEST: Nanos = Nanos::from_micros(500);
/// Number of segments at the start of the trace that are all used to learn the delay; afterwards, segments of one
/// connection in 64 are.
const ALL_AT_FIRST: u64 = 8192;
/// Number of newest segments kept as evidence.
const REMEMBERED: usize = 2048;
/// Largest number of segments for which copies are awaited; beyond it, the oldest is dropped (0.4 MB).
const AWAITED: usize = 16_384;
/// Factor within which delays count as equal, in addition to [`JITTER`].
const ALIKE: u64 = 2;
const JITTER: Nanos = Nanos::from_micros(500);

/// Delay of the copies made by the capture.
#[derive(Debug, Clone, PartialEq)]
struct Delay {
    range: RangeInclusive<Nanos>,
    /// Number of copies of each packet.
    copies: u8,
}

/// Learns the delay of copies, and recognises copies by it.
#[derive(Debug, Default)]
pub(crate) struct DuplicateDetector {
    hasher: DefaultHashBuilder,
    seen: u64,
    sample: Originals,
    evidence: VecDeque<Evidence>,
    delay: Option<Delay>,
    awaited: Originals,
}

/// Evidence from one segment.
#[derive(Debug, Clone, Copy)]
struct Evidence {
    /// Time since an equal segment; `None` if there was none.
    gap: Option<Nanos>,
    /// Whether the IP identification proves that a repeat is a copy.
    certain: bool,
}

impl DuplicateDetector {
    /// Marks the copies among `segments`, the next ones of the trace.
    pub(crate) fn mark(&mut self, segments: &mut [Segment]) {
        self.learn(segments);
        let Some(delay) = &self.delay else {
            return;
        };
        for segment in segments.iter_mut().filter(|it| !it.is_undelivered()) {
            let number = self.hasher.hash_one(segment.content());
            self.awaited.expire(segment.time);
            let is_copy = self.awaited.take(number, segment.time, &delay.range);
            segment.mark(is_copy);
            if !is_copy {
                self.awaited.add(number, segment.time, delay.copies);
            }
        }
    }

    /// Updates the evidence and the delay.
    fn learn(&mut self, segments: &[Segment]) {
        let any = 0..=LONGEST.0;
        let mut learned = false;
        for segment in segments {
            self.seen += 1;
            if self.seen > ALL_AT_FIRST && !is_sampled(segment) {
                continue;
            }
            let certain = segment.ip_id != 0;
            // A sender may repeat a segment without sequence numbers.
            if segment.flags().any(TcpFlags::RST) || segment.is_undelivered() || (segment.seq_len() == 0 && !certain) {
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
                self.awaited = Originals::default();
            }
        }
    }

    /// Delay shown by the evidence, if any.
    fn conclude(&self) -> Option<Delay> {
        let mut gaps: Vec<(Nanos, bool)> = self
            .evidence
            .iter()
            .filter_map(|evidence| Some((evidence.gap?, evidence.certain)))
            .filter(|(gap, _)| *gap >= SHORTEST)
            .collect();
        gaps.sort_unstable();
        let alike = |from: usize| {
            let most = Nanos(gaps[from].0.0.saturating_mul(ALIKE)) + JITTER;
            from..gaps.partition_point(|(gap, _)| *gap <= most)
        };
        let most = (0..gaps.len()).map(alike).max_by_key(ExactSizeIterator::len)?;
        let gaps = &gaps[most];
        let originals = |certain: bool| {
            let originals = self.evidence.iter().filter(|it| it.gap.is_none());
            originals.filter(|it| it.certain || !certain).count()
        };
        let certain = gaps.iter().filter(|(_, certain)| *certain).count();
        // Either half of all segments repeat, or enough of those that can only be copies, if a mirror copies part of
        // the traffic.
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

/// Whether the connection of a segment is in the sample of one in 64, which is the same in every run.
fn is_sampled(segment: &Segment) -> bool {
    let [lower, upper] = segment.key.ports;
    (lower ^ upper.rotate_left(3)) % 64 == 7
}

/// Segments of which copies may follow.
#[derive(Debug, Default)]
struct Originals {
    table: HashTable<Original>,
    /// Time and number of each, in the order seen.
    order: VecDeque<(Instant, u64)>,
}

/// Segment, identified by a hash of its content.
#[derive(Debug, Clone, Copy)]
struct Original {
    number: u64,
    time: Instant,
    /// Number of copies still awaited.
    copies: u8,
}

impl Originals {
    /// Adds a segment of which `copies` copies are awaited.
    fn add(&mut self, number: u64, time: Instant, copies: u8) {
        if self.order.len() == AWAITED {
            self.forget_oldest();
        }
        self.order.push_back((time, number));
        let original = Original { number, time, copies };
        self.table.insert_unique(number, original, |original| original.number);
    }

    /// Drops segments too old to be copied.
    fn expire(&mut self, now: Instant) {
        while self.order.front().is_some_and(|(time, _)| now.saturating_since(*time) > LONGEST) {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        if let Some((time, number)) = self.order.pop_front()
            && let Ok(entry) =
                self.table.find_entry(number, |original| original.number == number && original.time == time)
        {
            entry.remove();
        }
    }

    /// Time since an equal segment, if there was one.
    fn gap(&self, number: u64, now: Instant) -> Option<Nanos> {
        let original = self.table.find(number, |original| original.number == number)?;
        Some(now.saturating_since(original.time))
    }

    /// Removes one awaited copy whose delay is within `delay`; returns `false` if no copy of an equal segment is
    /// awaited.
    fn take(&mut self, number: u64, now: Instant, delay: &RangeInclusive<Nanos>) -> bool {
        let found = self.table.find_entry(number, |original| {
            original.number == number && delay.contains(&now.saturating_since(original.time))
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
