//! The sender's timer: its purposes, and the handling of its expiry.

use crate::endpoint::Endpoint;
use crate::profile::Undo;
use crate::recovery::CaState;
use crate::segment::{Flags, Outbox};
use crate::wheel;
use gentle_units::{Instant, Nanos};

/// Purpose of the sender's timer; only one is active at a time (`icsk_pending` of Linux).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Timer {
    /// Retransmission timeout (RFC 6298).
    Rto,
    /// Tail loss probe (RFC 8985, section 7).
    Probe,
    /// End of the reordering window (RFC 8985, section 6.3).
    Reorder,
    /// Delayed early retransmit.
    EarlyRetransmit,
    /// Window probe while the peer's window is closed (RFC 9293, section 3.8.6.1).
    Persist,
}

impl Endpoint {
    /// Expiry of a timer set at `now` to `delay`.
    #[inline]
    pub(crate) fn expiry(&self, now: Instant, delay: Nanos) -> Instant {
        if self.profile.timer_wheel { wheel::expiry(now, delay, self.profile.timer_granularity) } else { now + delay }
    }

    /// Starts the retransmission timer from now.
    #[inline]
    pub(crate) fn arm_rto(&mut self, now: Instant) {
        self.tx.timer = Timer::Rto;
        self.tx.timer_at = self.expiry(now, self.rtt.rto());
    }

    /// Starts the retransmission timer when pacing lets data go again.
    #[inline]
    pub(crate) fn arm_rto_paced(&mut self, now: Instant) {
        self.tx.timer = Timer::Rto;
        self.tx.timer_at = self.expiry(now, self.rtt.rto() + self.pacing_delay(now));
    }

    /// Restarts the retransmission timer, or stops it if nothing is outstanding. If a probe or reordering timer ran
    /// instead, the timeout counts from the transmission of the oldest segment (`tcp_rearm_rto`).
    #[inline]
    pub(crate) fn rearm_rto(&mut self, now: Instant) {
        let Some(front) = self.tx.board.front() else {
            self.tx.timer_at = Instant::NEVER;
            return;
        };
        let borrowed = self.tx.timer_at != Instant::NEVER
            && matches!(self.tx.timer, Timer::Probe | Timer::Reorder | Timer::EarlyRetransmit);
        let from = if borrowed { front.sent } else { now };
        self.tx.timer = Timer::Rto;
        let delay = (from + self.rtt.rto()).saturating_since(now);
        let delay = delay.max(self.profile.timer_granularity) + self.pacing_delay(now);
        self.tx.timer_at = self.expiry(now, delay);
    }

    /// Sets the timer after progress: tail loss probe if the profile has it, else retransmission timeout.
    #[inline]
    pub(crate) fn reset_timer(&mut self, now: Instant) {
        if !self.schedule_probe(now, true) {
            self.rearm_rto(now);
        }
    }

    pub(crate) fn on_sender_timer(&mut self, now: Instant, out: &mut impl Outbox) {
        if self.tx.timer == Timer::Persist {
            self.probe_window(now, out);
        } else if self.tx.board.is_empty() {
            self.tx.timer_at = Instant::NEVER;
        } else {
            match self.tx.timer {
                Timer::Probe => self.send_probe(now, out),
                Timer::Reorder => self.on_reorder_timer(now, out),
                Timer::EarlyRetransmit => self.on_early_retransmit_timer(now, out),
                Timer::Rto | Timer::Persist => self.on_rto(now, out),
            }
        }
    }

    /// Handles a retransmission timeout (RFC 6298, section 5).
    fn on_rto(&mut self, now: Instant, out: &mut impl Outbox) {
        if self.tx.timeouts >= self.profile.retries {
            self.fail();
            return;
        }
        self.stats.rto_timeouts += 1;
        self.enter_loss(now);
        self.tx.timeouts += 1;
        if self.profile.undo == Undo::BadRetransmit {
            let half = self.rtt.srtt().map_or(Nanos::ZERO, |srtt| Nanos(srtt.0 / 2));
            self.tx.undoing.bad_retransmit_until = if self.tx.timeouts == 1 { now + half } else { Instant::ZERO };
        }
        self.retransmit_alone(now, 0, out);
        self.rtt.back_off(&self.profile);
        self.arm_rto(now);
    }

    /// Probes the peer's closed window with a segment outside of it.
    fn probe_window(&mut self, now: Instant, out: &mut impl Outbox) {
        self.tx.timer_at = Instant::NEVER;
        if !self.tx.board.is_empty() || !self.tx.has_unsent() {
            return;
        }
        if self.tx.timeouts >= self.profile.retries {
            self.fail();
            return;
        }
        self.tx.timeouts += 1;
        self.stats.acks_sent += 1;
        let probe = self.segment(now, self.tx.nxt - 1, Flags::ACK);
        out.push(probe);
        self.rtt.back_off(&self.profile);
        self.tx.timer_at = self.expiry(now, self.rtt.rto());
    }

    /// Handles the end of the delay of early retransmit: nothing arrived in a quarter RTT, so the segment is lost (RFC
    /// 5827).
    fn on_early_retransmit_timer(&mut self, now: Instant, out: &mut impl Outbox) {
        self.rearm_rto(now);
        if self.tx.ca == CaState::Disorder && self.tx.board.sacked > 0 {
            self.mark_head_lost();
            self.enter_recovery(now, false);
            self.reduce(0, 0, false);
            self.retransmit_lost(now, out);
        }
    }
}
