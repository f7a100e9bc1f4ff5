//! Counts made while segments are observed; TCP only.

use super::intervals::IntervalCounts;
use super::order::OrderCounts;
use super::rate::Meter;
use super::timeline::TimelineCounts;
use super::vantage::VantageCounts;
use crate::connections::Kind;
use crate::results::{CaptureDuplicates, Retransmissions};
use gentle_units::Nanos;

/// Counts that need no complete connection. Others are in [`Outcomes`](super::Outcomes).
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
    pub(crate) fn data(&mut self, time: Nanos, kind: Kind) {
        let counts = &mut self.retransmissions;
        match kind {
            Kind::New => return,
            Kind::Retransmitted(_) => counts.retransmitted += 1,
            Kind::Late(_) => counts.late += 1,
            Kind::Reordered => counts.reordered += 1,
            Kind::Probe => counts.probes += 1,
            Kind::Copy => self.capture_duplicates.other += 1,
        }
        if let Kind::Retransmitted(_) | Kind::Late(_) = kind {
            self.timeline.at(time).other_retransmissions += 1;
        }
    }
}
