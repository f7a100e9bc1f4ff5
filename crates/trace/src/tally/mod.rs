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
use crate::sum::sum;
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
    /// Traffic from and to the initiator; used if directions are distinguished by initiator.
    pub(crate) meters: [Meter; 2],
}

sum! {
    Tally {
        attempts, duplicate_syn, duplicate_synack, capture_duplicates, seen_again, synack_without_syn, syn_with_data,
        retransmissions, intervals, vantage, order, timeline, meters,
    }
    CaptureDuplicates { syn, synack, other }
    Retransmissions { data_segments, retransmitted, late, reordered, spurious, probes }
}

impl Tally {
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
