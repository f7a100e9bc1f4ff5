//! Explicit congestion notification: negotiation, the ECN field of outgoing packets, and the receiver's echo of marks
//! (RFC 3168; RFC 8257, section 3.2). Accurate ECN is in [`accecn`](crate::accecn).

use crate::accecn::{AccEcn, Field};
use crate::endpoint::Endpoint;
use crate::profile::{Ecn, Profile};
use crate::segment::{Ect, Flags, Outbox, Segment};
use gentle_units::Instant;

/// Feedback that the ends have agreed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Feedback {
    /// None: no ECN.
    None,
    /// ECN echo (RFC 3168).
    Echo,
    /// Accurate ECN (RFC 9768).
    Accurate,
}

/// State of the echo that reports each change of the marking (`dctcp_ece_ack_update`).
#[derive(Debug, Clone, Copy)]
pub(crate) struct CeState {
    /// Whether the last data segment was marked.
    marked: bool,
    /// Next position expected when it had arrived.
    nxt: u64,
}

impl Profile {
    /// ECN field of ECN-capable packets.
    fn capable(&self) -> Ect {
        if self.ect1 { Ect::One } else { Ect::Zero }
    }

    /// ECN field of a SYN or SYN/ACK; only congestion controls that need ECN mark these (RFC 3168, section 6.1.1).
    pub(crate) fn handshake_ect(&self) -> Ect {
        if self.congestion_control.needs_ecn() { self.capable() } else { Ect::Not }
    }

    /// Whether a SYN requests ECN.
    pub(crate) fn requests_ecn(&self) -> bool {
        matches!(self.ecn, Ecn::Request | Ecn::AccEcn) || self.congestion_control.needs_ecn()
    }

    /// Feedback agreed on with the sender of `syn` (`tcp_ecn_create_request`).
    ///
    /// Accurate ECN is what any ACE field but 0 and 3 requests (RFC 9768, section 3.1.2). A SYN that requests ECN and is
    /// ECN-capable or marked (`ce`) must not be answered with ECN (RFC 3168, section 6.1.1), except by a congestion
    /// control that needs it, or if AE is set (RFC 8311, section 4.3).
    pub(crate) fn answer_to_syn(&self, syn: &Segment, ce: bool) -> Feedback {
        let ace = syn.flags.ace();
        let plain = !ce && !syn.ect.is_capable() || syn.flags.contains(Flags::AE);
        if self.ecn == Ecn::AccEcn && ace != 0 && ace != 3 {
            Feedback::Accurate
        } else if syn.flags.contains(Flags::ECE | Flags::CWR)
            && (self.congestion_control.needs_ecn() || self.ecn != Ecn::Off && plain)
        {
            Feedback::Echo
        } else {
            Feedback::None
        }
    }

    /// Feedback agreed on with the sender of `synack` (`tcp_ecn_rcv_synack`; RFC 9768, section 3.1.1, table 2).
    pub(crate) fn agreed_by_synack(&self, synack: &Segment) -> Feedback {
        match synack.flags.ace() {
            0b000 | 0b111 => Feedback::None,
            0b001 if self.requests_ecn() => Feedback::Echo,
            _ if self.ecn == Ecn::AccEcn => Feedback::Accurate,
            // AE is unknown to a host without Accurate ECN.
            0b101 if self.requests_ecn() => Feedback::Echo,
            _ => Feedback::None,
        }
    }
}

impl Endpoint {
    /// Applies the outcome of the negotiation.
    pub(crate) fn set_ecn(&mut self, agreed: Feedback, syn_field: Field) {
        self.ecn = agreed == Feedback::Echo;
        self.accecn = (agreed == Feedback::Accurate).then(|| Box::new(AccEcn::new(syn_field)));
        self.ect = Ect::Not;
        self.data_ect = Ect::Not;
        if agreed != Feedback::None {
            self.data_ect = self.profile.capable();
            // Pure acknowledgements and retransmissions are ECN-capable only with Accurate ECN, or where the congestion
            // control needs ECN (`tcp_ecn_send`).
            if self.accecn.is_some() || self.profile.congestion_control.needs_ecn() {
                self.ect = self.data_ect;
            }
            if self.profile.congestion_control.needs_ecn() {
                self.rx.ce = Some(Box::new(CeState { marked: false, nxt: self.rx.nxt }));
            }
        }
    }

    /// Stops sending ECN-capable packets if the feedback of Accurate ECN has failed.
    pub(crate) fn check_feedback(&mut self) {
        if self.accecn.as_ref().is_some_and(|accecn| !accecn.is_capable()) {
            self.ect = Ect::Not;
            self.data_ect = Ect::Not;
        }
    }

    /// Echoes a mark until the peer reports a reduced window (RFC 3168, section 6.1.3).
    #[inline]
    pub(crate) fn echo_mark(&mut self, segment: &Segment, ce: bool) {
        if segment.flags.contains(Flags::CWR) {
            self.rx.echo_congestion = false;
            // The sender may have a very small window (`tcp_ecn_accept_cwr`).
            if self.rx.ce.is_some() {
                self.rx.ack.force();
            }
        }
        if ce && self.rx.ce.is_none() {
            if !self.rx.echo_congestion {
                self.rx.ack.force();
            }
            self.rx.echo_congestion = true;
        }
    }

    /// Reports a change of the marking at once: data that awaits its acknowledgement is acknowledged with the old
    /// state, then `segment`, which has just been received, with the new one.
    pub(crate) fn report_change(&mut self, now: Instant, segment: &Segment, ce: bool, out: &mut impl Outbox) {
        // A segment that is not ECN-capable says nothing about marking.
        let nxt = self.rx.nxt;
        let state = self.rx.ce.as_deref_mut();
        let Some(state) = state.filter(|_| ce || segment.ect.is_capable()) else {
            return;
        };
        let last = std::mem::replace(state, CeState { marked: ce, nxt });
        if last.marked != ce {
            if self.delack_at != Instant::NEVER {
                self.rx.echo_congestion = last.marked;
                self.send_early_ack(now, last.nxt, out);
            }
            self.rx.ack.force();
        }
        self.rx.echo_congestion = ce;
    }

    /// Acknowledges everything before `position`, which may be less than what has arrived; the state of delayed
    /// acknowledgement stays (`tcp_event_ack_sent`).
    fn send_early_ack(&mut self, now: Instant, position: u64, out: &mut impl Outbox) {
        let (ack, delack_at) = (self.rx.ack.clone(), self.delack_at);
        self.send_ack(now, out);
        if position != self.rx.nxt
            && let Some(sent) = out.last_mut()
        {
            sent.ack = self.rx.unwrap.wire(position);
            (self.rx.ack, self.delack_at) = (ack, delack_at);
        }
    }
}
