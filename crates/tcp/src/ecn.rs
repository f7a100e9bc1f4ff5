//! Explicit congestion notification: the ECN field of outgoing packets, and the receiver's echo of marks (RFC 3168;
//! RFC 8257, section 3.2).

use crate::endpoint::Endpoint;
use crate::profile::{Ecn, Profile};
use crate::segment::{Ect, Flags, Segment};
use gentle_units::Nanos;

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
        if self.congestion_control.needs_ecn() {
            self.capable()
        } else {
            Ect::Not
        }
    }

    /// Whether a SYN requests ECN.
    pub(crate) fn requests_ecn(&self) -> bool {
        self.ecn == Ecn::Request || self.congestion_control.needs_ecn()
    }

    /// Whether ECN is agreed on when `syn` requests it. A SYN that is ECN-capable or marked (`ce`) must not be answered
    /// with ECN (RFC 3168, section 6.1.1), except by a congestion control that needs it.
    pub(crate) fn accepts_ecn(&self, syn: &Segment, ce: bool) -> bool {
        self.congestion_control.needs_ecn()
            || (self.ecn != Ecn::Off && !ce && !syn.ect.is_capable())
    }
}

impl Endpoint {
    /// Applies the outcome of the negotiation.
    pub(crate) fn set_ecn(&mut self, agreed: bool) {
        self.ecn = agreed;
        self.ect = Ect::Not;
        self.data_ect = Ect::Not;
        if agreed {
            self.data_ect = self.profile.capable();
            // Pure acknowledgements and retransmissions are ECN-capable only where the congestion control needs ECN
            // (`tcp_ecn_send`).
            if self.profile.congestion_control.needs_ecn() {
                self.ect = self.data_ect;
                self.rx.ce = Some(CeState {
                    marked: false,
                    nxt: self.rx.nxt,
                });
            }
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
    pub(crate) fn report_change(
        &mut self,
        now: Nanos,
        segment: &Segment,
        ce: bool,
        out: &mut Vec<Segment>,
    ) {
        // A segment that is not ECN-capable says nothing about marking.
        let Some(last) = self.rx.ce.filter(|_| ce || segment.ect.is_capable()) else {
            return;
        };
        if last.marked != ce {
            if self.delack_at != Nanos::MAX {
                self.rx.echo_congestion = last.marked;
                self.send_early_ack(now, last.nxt, out);
            }
            self.rx.ack.force();
        }
        self.rx.echo_congestion = ce;
        self.rx.ce = Some(CeState {
            marked: ce,
            nxt: self.rx.nxt,
        });
    }

    /// Acknowledges everything before `position`, which may be less than what has arrived; the state of delayed
    /// acknowledgement stays (`tcp_event_ack_sent`).
    fn send_early_ack(&mut self, now: Nanos, position: u64, out: &mut Vec<Segment>) {
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
