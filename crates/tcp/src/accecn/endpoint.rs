//! Accurate ECN in the end point: when marks are counted, reported and taken.

use super::feedback::{CE, Delivery};
use super::{Field, Marks, OPTION_OFFSETS, OPTION_SEND};
use crate::endpoint::Endpoint;
use crate::recovery::CaState;
use crate::segment::{AccEcnOption, Options, Outbox, Segment};
use gentle_units::Instant;

/// Marks not yet reported that force an acknowledgement (`TCP_ACCECN_ACE_MAX_DELTA`).
const MOST_UNREPORTED: u8 = 6;
/// Space that the option takes in a header without SACK blocks, bytes.
const OPTION_SPACE: u32 = 12;

impl Endpoint {
    /// Marks counted so far; `None` without Accurate ECN.
    pub fn marks(&self) -> Option<Marks> {
        self.accecn.as_ref().map(|accecn| Marks { received: accecn.received, reported: accecn.reported })
    }

    /// Accounts for an arriving segment before its acknowledgement is processed.
    #[cold]
    pub(crate) fn note_arrival(&mut self, segment: &Segment, ce: bool, acceptable: bool) {
        // Linux counts only in the state ESTABLISHED.
        let counts = acceptable && !self.tx.is_closing() && !self.rx.closed();
        let Some(accecn) = &mut self.accecn else {
            return;
        };
        let age = segment.ts_val.wrapping_sub(self.rx.ts_recent) as i32;
        accecn.stamp_advanced = age > 0 && segment.options.contains(Options::TIMESTAMPS);
        if counts && accecn.count(Field::of(segment, ce), segment.len) {
            self.rx.ack.hurry();
        }
    }

    /// Accounts for a duplicate that begins at `start`. If the acknowledgement that reported it before had the option, it
    /// seems to have been lost because of that (`tcp_rcv_spurious_retrans`).
    #[cold]
    pub(crate) fn note_duplicate(&mut self, start: u64) {
        if let Some(accecn) = &mut self.accecn {
            if accecn.option_with_dsack && accecn.duplicate == start {
                accecn.failed |= OPTION_SEND;
            }
            accecn.duplicate = start;
        }
    }

    /// An outgoing segment with the ACE field and the option; `dsack`: it reports a duplicate.
    #[cold]
    pub(crate) fn report_marks(&mut self, now: Instant, mut segment: Segment, dsack: bool) -> Segment {
        let srtt = self.rtt.srtt();
        if let Some(accecn) = &mut self.accecn {
            let with_option = accecn.sends_option(&self.profile, now, srtt);
            accecn.report(now, &mut segment, with_option, dsack);
        }
        segment
    }

    /// Sends the acknowledgement of a SYN or SYN/ACK, whose ACE field reports the ECN field of that
    /// (`tcp_send_ack_reflect_ect`).
    pub(crate) fn send_reflection(&mut self, now: Instant, out: &mut impl Outbox) {
        let unreported = self.accecn.as_ref().map_or(0, |accecn| accecn.unreported);
        self.send_ack(now, out);
        if let (Some(accecn), Some(sent)) = (&mut self.accecn, out.last_mut()) {
            accecn.unreported = unreported;
            sent.flags = sent.flags.with_ace(accecn.reflection());
        }
    }

    /// Answers a SYN or SYN/ACK on an established connection.
    pub(crate) fn answer_syn(&mut self, now: Instant, syn: &Segment, ce: bool, out: &mut impl Outbox) {
        if let Some(accecn) = &mut self.accecn {
            accecn.syn_field = Field::of(syn, ce);
            if accecn.take_first_option(syn) {
                accecn.demand = accecn.demand.max(1);
            }
        }
        self.send_reflection(now, out);
    }

    /// The option of a SYN/ACK: the counters before anything has arrived.
    pub(crate) fn initial_option(&self) -> Option<AccEcnOption> {
        (self.profile.ecn_option > 0).then_some(AccEcnOption { fields: 3, counters: OPTION_OFFSETS })
    }

    /// Payload of a full segment sent at `now`: without the space of the AccECN option, if the segment has one
    /// (`tcp_current_mss`).
    #[inline]
    pub(crate) fn full_payload(&self, now: Instant) -> u32 {
        match &self.accecn {
            None => self.mss,
            Some(accecn) => match accecn.sends_option(&self.profile, now, self.rtt.srtt()) {
                true => self.mss.saturating_sub(OPTION_SPACE).max(1),
                false => self.mss,
            },
        }
    }

    /// Removes the option of a retransmission that has become too long by it; Linux splits such a segment.
    #[cold]
    pub(crate) fn shorten(&self, mut segment: Segment) -> Segment {
        if segment.len + OPTION_SPACE > self.mss && segment.sack_count == 0 {
            segment.remove_accecn_option();
        }
        segment
    }

    /// Number of marks that an acknowledgement reports, after `delivered` segments with `bytes` bytes were delivered;
    /// `progress`: it acknowledges something new (`tcp_accecn_process`).
    #[cold]
    pub(crate) fn take_marks(&mut self, segment: &Segment, delivered: u32, bytes: u64, progress: bool) -> u32 {
        let Some(accecn) = &mut self.accecn else {
            return 0;
        };
        // An acknowledgement that was overtaken says nothing.
        if !progress && !accecn.stamp_advanced {
            return 0;
        }
        let delivery = Delivery {
            segments: delivered,
            bytes: u32::try_from(bytes).unwrap_or(u32::MAX),
            mss: self.mss,
            in_order: self.sack || matches!(self.tx.ca, CaState::Open | CaState::Cwr),
        };
        let before = accecn.reported_bytes[CE];
        let counted = accecn.take_option(segment.accecn_option(), delivery.bytes, self.tx.nxt);
        let marked_bytes = accecn.reported_bytes[CE].wrapping_sub(before);
        accecn.note_acked(delivered);
        if accecn.unreported >= MOST_UNREPORTED {
            self.rx.ack.hurry();
        }
        let marks = accecn.resolve(segment.flags.ace(), &delivery, counted, marked_bytes);
        accecn.reported = accecn.reported.wrapping_add(marks);
        marks
    }
}
