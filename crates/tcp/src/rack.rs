//! RACK-TLP (RFC 8985): a segment is lost when one sent later has arrived and a reordering window has passed; a tail
//! loss probe makes a lost tail detectable in this way.

use crate::endpoint::Endpoint;
use crate::recovery::CaState;
use crate::scoreboard::{EVER_RETRANS, LOST, RETRANS, Sent};
use crate::segment::Outbox;
use crate::timer::Timer;
use crate::wheel;
use gentle_units::{Instant, Nanos};

/// Recoveries for which an enlarged reordering window is kept (RFC 8985, section 6.2, step 4).
const REO_WND_PERSIST: u8 = 16;
/// Slack of the kernel's timers (`TCP_TIMEOUT_MIN_US`).
const TIMER_SLACK: Nanos = Nanos::from_millis(2);

/// State of RACK.
#[derive(Debug, Clone)]
pub(crate) struct Rack {
    /// Send time of the most recently sent of all delivered segments (`RACK.xmit_ts`); `end` is its right edge.
    sent: Instant,
    end: u64,
    /// Round-trip time of the latest delivery.
    pub(crate) rtt: Nanos,
    /// Whether a delivery has happened since the last loss detection.
    pub(crate) advanced: bool,
    /// Whether a DSACK was received that reordering may have caused.
    pub(crate) duplicate_seen: bool,
    /// Reordering window, in quarters of the minimum round-trip time.
    reo_wnd_mult: u8,
    /// Recoveries left before `reo_wnd_mult` returns to 1.
    reo_wnd_persist: u8,
    /// End of the round trip in which the window was last enlarged.
    round_end: u64,
}

impl Default for Rack {
    fn default() -> Rack {
        Rack {
            sent: Instant::ZERO,
            end: 0,
            rtt: Nanos::ZERO,
            advanced: false,
            duplicate_seen: false,
            reo_wnd_mult: 1,
            reo_wnd_persist: 0,
            round_end: 0,
        }
    }
}

impl Rack {
    /// Accounts for a delivered segment (RFC 8985, section 6.2, step 2).
    #[inline]
    pub(crate) fn delivered(&mut self, now: Instant, sent: &Sent, min_rtt: Nanos) {
        let rtt = now.saturating_since(sent.sent);
        // Faster than the minimum RTT: the original was delivered, not the retransmission.
        if sent.is(EVER_RETRANS) && rtt < min_rtt {
            return;
        }
        self.advanced = true;
        self.rtt = rtt;
        if (sent.sent, sent.end()) > (self.sent, self.end) {
            self.sent = sent.sent;
            self.end = sent.end();
        }
    }

    /// Adapts the reordering window, at most once per round trip (`tcp_rack_update_reo_wnd`).
    #[inline]
    pub(crate) fn adapt(&mut self, una: u64, nxt: u64) {
        if self.duplicate_seen {
            self.duplicate_seen = false;
            if una >= self.round_end {
                self.reo_wnd_mult = self.reo_wnd_mult.saturating_add(1);
                self.round_end = nxt;
                self.reo_wnd_persist = REO_WND_PERSIST;
            }
        } else if self.reo_wnd_persist == 0 {
            self.reo_wnd_mult = 1;
        }
    }

    pub(crate) fn recovery_over(&mut self) {
        self.reo_wnd_persist = self.reo_wnd_persist.saturating_sub(1);
    }

    pub(crate) fn recovery_undone(&mut self) {
        self.reo_wnd_persist = (self.reo_wnd_persist + 1).min(REO_WND_PERSIST);
    }
}

impl Endpoint {
    /// Reordering window (RFC 8985, section 6.2, step 4).
    fn reordering_window(&self) -> Nanos {
        if !self.tx.reordering_seen && (self.tx.ca >= CaState::Recovery || self.tx.board.sacked >= self.tx.reordering) {
            return Nanos::ZERO;
        }
        let min_rtt = self.rtt.min().unwrap_or(Nanos::ZERO);
        let srtt = self.rtt.srtt().unwrap_or(Nanos::ZERO);
        Nanos(min_rtt.0 / 4 * u64::from(self.tx.rack.reo_wnd_mult)).min(srtt)
    }

    /// Marks lost segments (RFC 8985, section 6.2, step 5); returns the time until the remaining ones may be lost.
    fn rack_detect(&mut self, now: Instant) -> Option<Nanos> {
        let allowance = self.tx.rack.rtt + self.reordering_window();
        let mut wait = None;
        let mut next = self.tx.board.oldest();
        while let Some(index) = next {
            let Some(&sent) = self.tx.board.get(index) else {
                break;
            };
            if (self.tx.rack.sent, self.tx.rack.end) <= (sent.sent, sent.end()) {
                break;
            }
            next = self.tx.board.after(index);
            // Already marked lost by a timeout, and not yet retransmitted.
            if sent.flags & (LOST | RETRANS) == LOST {
                continue;
            }
            let due = sent.sent + allowance;
            if due <= now {
                self.mark_lost(index);
                // As in Linux, the segment is not examined again before it is retransmitted, not even when an undo
                // clears the mark: then only a probe or the timeout detects its loss.
                self.tx.board.unlist(index);
            } else {
                wait = wait.max(Some(due - now));
            }
        }
        wait
    }

    /// Detects losses after an acknowledgement; returns whether the reordering timer was set.
    pub(crate) fn rack_mark_lost(&mut self, now: Instant) -> bool {
        if !std::mem::take(&mut self.tx.rack.advanced) {
            return false;
        }
        let Some(wait) = self.rack_detect(now) else {
            return false;
        };
        self.tx.timer = Timer::Reorder;
        self.tx.timer_at = self.expiry(now, (wait + TIMER_SLACK).min(self.rtt.rto()));
        true
    }

    /// Marks retransmissions as lost if a segment sent after them has arrived, as Linux did before RACK
    /// (`tcp_mark_lost_retrans`).
    pub(crate) fn mark_lost_retransmissions(&mut self) {
        let mut next = self.tx.board.oldest();
        while let Some(index) = next {
            let Some(&sent) = self.tx.board.get(index) else {
                break;
            };
            if self.tx.rack.sent <= sent.sent {
                break;
            }
            next = self.tx.board.after(index);
            if sent.flags & RETRANS != 0 {
                self.mark_lost(index);
            }
        }
    }

    pub(crate) fn on_reorder_timer(&mut self, now: Instant, out: &mut impl Outbox) {
        let in_flight = self.tx.board.in_flight();
        let lost = self.tx.reduction.lost;
        if let Some(wait) = self.rack_detect(now) {
            self.tx.timer_at = self.expiry(now, (wait + TIMER_SLACK).min(self.rtt.rto()));
        } else {
            self.rearm_rto(now);
        }
        if in_flight != self.tx.board.in_flight() {
            if self.tx.ca != CaState::Recovery {
                self.enter_recovery(now, false);
                let marked = self.tx.reduction.lost.wrapping_sub(lost);
                self.reduce(1, marked, false);
            }
            self.retransmit_lost(now, out);
        }
    }

    /// Schedules a tail loss probe (RFC 8985, section 7.2) after two round trips, or longer if the acknowledgement of a
    /// single segment may be delayed, but never later than the RTO. Returns whether the timer was set.
    #[inline]
    pub(crate) fn schedule_probe(&mut self, now: Instant, advancing: bool) -> bool {
        if !self.profile.tlp || !self.sack || !matches!(self.tx.ca, CaState::Open | CaState::Cwr) {
            return false;
        }
        let Some(front) = self.tx.board.front() else {
            return false;
        };
        let timeout = match self.rtt.srtt() {
            Some(srtt) => {
                let slack = if self.tx.board.len() == 1 { self.profile.min_rto } else { TIMER_SLACK };
                srtt * 2 + slack
            }
            None => self.profile.initial_rto,
        };
        let tick = self.profile.timer_granularity;
        let mut delay = Nanos(wheel::ticks(timeout, tick) * tick.0);
        let rto_at = (if advancing { now } else { front.sent }) + self.rtt.rto();
        if rto_at > now {
            delay = delay.min(rto_at - now);
        }
        self.tx.timer = Timer::Probe;
        self.tx.timer_at = self.expiry(now, delay + self.pacing_delay(now));
        true
    }

    /// Sends a tail loss probe (RFC 8985, section 7.3): new data if there is any, else the last segment again.
    pub(crate) fn send_probe(&mut self, now: Instant, out: &mut impl Outbox) {
        if self.tx.probe_high == 0 {
            let sent_new = self.send_new(now, 1, true, out) > 0;
            let last = self.tx.board.len() as usize - 1;
            // If data waits for the peer's window, the last segment is not retransmitted.
            let repeat = !sent_new && !self.tx.has_unsent();
            if repeat {
                self.retransmit_alone(now, last, out);
            }
            if sent_new || repeat {
                self.tx.probe_retransmitted = repeat;
                self.tx.probe_high = self.tx.nxt;
                self.stats.tlp_probes += 1;
                self.arm_rto_paced(now);
                return;
            }
        }
        self.rearm_rto(now);
    }

    /// Ends the probe episode if an acknowledgement covers the probe (RFC 8985, section 7.4), and detects whether it
    /// repaired a loss.
    #[inline(never)]
    pub(crate) fn on_probe_ack(&mut self, ack: u64, duplicate: bool, plain_dupack: bool) {
        if ack < self.tx.probe_high {
            return;
        }
        if !self.tx.probe_retransmitted || duplicate {
            // New data was acknowledged, or original and probe have both arrived.
            self.tx.probe_high = 0;
        } else if ack > self.tx.probe_high {
            // No DSACK: the probe repaired a loss, so the window is reduced.
            self.start_reduction();
            self.tx.ca = CaState::Cwr;
            self.end_reduction();
            self.keep_open();
        } else if plain_dupack {
            self.tx.probe_high = 0;
        }
    }
}
