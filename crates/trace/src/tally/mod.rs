//! Counts of TCP segments, made while they are observed.

mod backoff;
mod distribution;
mod intervals;
mod order;
mod rate;
mod timeline;
mod vantage;

pub(crate) use backoff::{Candidates, SERIES};
pub(crate) use distribution::Distribution;
pub(crate) use intervals::SeriesCounts;
pub(crate) use order::OrderCounts;
pub(crate) use rate::Meter;
pub(crate) use timeline::TimelineCounts;

use crate::results::{CaptureDuplicates, Retransmissions};
use crate::segment::Segment;
use gentle_units::{Instant, Nanos};
use intervals::IntervalCounts;
use serde::{Deserialize, Serialize};
use vantage::VantageCounts;

/// Classification of a segment by its place in the sequence space of its sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SegmentKind {
    /// Bytes not seen before.
    New,
    /// Bytes seen before, and the time since their previous transmission.
    Retransmitted(Nanos),
    /// Retransmission of bytes lost before the vantage point, and the time since the segment that left the hole.
    Late(Nanos),
    /// Bytes overtaken by later ones.
    Reordered,
    /// Keep-alive or zero-window probe.
    Probe,
    /// A packet captured twice.
    CaptureDuplicate,
}

/// Counts that do not need a complete connection. Those that do are in [`measure`](crate::measure).
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tally {
    pub(crate) attempts: u64,
    pub(crate) duplicate_syn: u64,
    pub(crate) duplicate_synack: u64,
    pub(crate) capture_duplicates: CaptureDuplicates,
    /// Segments seen before at another capture point; they are in `capture_duplicates`.
    pub(crate) seen_again: u64,
    pub(crate) synack_without_syn: u64,
    pub(crate) syn_with_data: u64,
    pub(crate) retransmissions: Retransmissions,
    pub(crate) intervals: IntervalCounts,
    pub(crate) vantage: VantageCounts,
    pub(crate) order: OrderCounts,
    pub(crate) timeline: TimelineCounts,
    /// Traffic from and to the initiator; used if directions are told apart by initiator.
    pub(crate) meters: [Meter; 2],
}

impl Tally {
    /// Adds the counts of another trace.
    pub(crate) fn add(&mut self, other: Tally) {
        let sum = u64::saturating_add;
        self.attempts = sum(self.attempts, other.attempts);
        self.duplicate_syn = sum(self.duplicate_syn, other.duplicate_syn);
        self.duplicate_synack = sum(self.duplicate_synack, other.duplicate_synack);
        let (copies, more) = (&mut self.capture_duplicates, other.capture_duplicates);
        copies.syn = sum(copies.syn, more.syn);
        copies.synack = sum(copies.synack, more.synack);
        copies.other = sum(copies.other, more.other);
        self.seen_again = sum(self.seen_again, other.seen_again);
        self.synack_without_syn = sum(self.synack_without_syn, other.synack_without_syn);
        self.syn_with_data = sum(self.syn_with_data, other.syn_with_data);
        let (counts, more) = (&mut self.retransmissions, other.retransmissions);
        counts.data_segments = sum(counts.data_segments, more.data_segments);
        counts.retransmitted = sum(counts.retransmitted, more.retransmitted);
        counts.late = sum(counts.late, more.late);
        counts.reordered = sum(counts.reordered, more.reordered);
        counts.spurious = sum(counts.spurious, more.spurious);
        counts.probes = sum(counts.probes, more.probes);
        self.intervals.add(&other.intervals);
        self.vantage.add(&other.vantage);
        self.order.add(&other.order);
        self.timeline.add(other.timeline);
        for (meter, more) in self.meters.iter_mut().zip(&other.meters) {
            meter.add(more);
        }
    }

    /// Counts a segment that was seen before at another capture point: a copy made by the capture.
    pub(crate) fn seen_again(&mut self, segment: &Segment) {
        self.seen_again += 1;
        let copies = &mut self.capture_duplicates;
        if segment.flags().is_syn() {
            copies.syn += 1;
            self.duplicate_syn += 1;
        } else if segment.flags().is_synack() {
            copies.synack += 1;
            self.duplicate_synack += 1;
        } else {
            copies.other += 1;
        }
    }

    /// Counts a segment other than SYN and SYN/ACK by its classification.
    pub(crate) fn data(&mut self, time: Instant, kind: SegmentKind) {
        let counts = &mut self.retransmissions;
        match kind {
            SegmentKind::New => return,
            SegmentKind::Retransmitted(_) => counts.retransmitted += 1,
            SegmentKind::Late(_) => counts.late += 1,
            SegmentKind::Reordered => counts.reordered += 1,
            SegmentKind::Probe => counts.probes += 1,
            SegmentKind::CaptureDuplicate => self.capture_duplicates.other += 1,
        }
        if let SegmentKind::Retransmitted(_) | SegmentKind::Late(_) = kind {
            self.timeline.at(time).other_retransmissions += 1;
        }
    }
}
