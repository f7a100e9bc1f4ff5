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
use gentle_units::Nanos;
use intervals::IntervalCounts;
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
#[derive(Debug)]
pub(crate) struct Tally {
    pub(crate) attempts: u64,
    pub(crate) duplicate_syn: u64,
    pub(crate) duplicate_synack: u64,
    pub(crate) capture_duplicates: CaptureDuplicates,
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
    /// Empty counts; `start` is the time of the first packet.
    pub(crate) fn new(start: Nanos) -> Tally {
        Tally {
            attempts: 0,
            duplicate_syn: 0,
            duplicate_synack: 0,
            capture_duplicates: CaptureDuplicates::default(),
            synack_without_syn: 0,
            syn_with_data: 0,
            retransmissions: Retransmissions::default(),
            intervals: IntervalCounts::default(),
            vantage: VantageCounts::default(),
            order: OrderCounts::default(),
            timeline: TimelineCounts::new(Some(start)),
            meters: [Meter::default(); 2],
        }
    }

    /// Counts a segment other than SYN and SYN/ACK by its classification.
    pub(crate) fn data(&mut self, time: Nanos, kind: SegmentKind) {
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
