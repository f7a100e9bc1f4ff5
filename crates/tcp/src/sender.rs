//! The sending half: what may be sent now, and what an acknowledgement changes.

use crate::endpoint::Endpoint;
use crate::profile::Profile;
use crate::scoreboard::{EVER_RETRANS, FIN, PUSH, Scoreboard};
use crate::segment::{Flags, Segment};
use crate::seq::{Seq, Unwrap};
use gentle_units::Nanos;

/// What "more than anyone will send" is: far below the end of `u64`, so that sums do not overflow.
const FOREVER: u64 = 1 << 62;

/// The sending half of an end point. Positions as in [`Unwrap`]: 0 is the SYN, 1 the first byte.
#[derive(Debug, Clone)]
pub(crate) struct Sender {
    pub(crate) unwrap: Unwrap,
    /// Oldest position not acknowledged.
    pub(crate) una: u64,
    /// Next position to send.
    pub(crate) nxt: u64,
    /// One past the last byte written; the FIN's position, once the application has closed.
    pub(crate) limit: u64,
    closing: bool,
    /// Right edge of the peer's receive window.
    pub(crate) window_end: u64,
    pub(crate) board: Scoreboard,
    /// Congestion window, in segments.
    pub(crate) cwnd: u32,
    /// Slow start threshold, in segments.
    pub(crate) ssthresh: u32,
    /// When the sender's timer expires; `Nanos::MAX` for never.
    pub(crate) timer_at: Nanos,
    /// Timeouts in a row.
    timeouts: u32,
}

impl Sender {
    pub(crate) fn new(profile: &Profile, isn: Seq) -> Sender {
        Sender {
            unwrap: Unwrap::new(isn),
            una: 0,
            nxt: 1,
            limit: 1,
            closing: false,
            window_end: 0,
            board: Scoreboard::new(),
            cwnd: profile.iw,
            ssthresh: profile.initial_ssthresh,
            timer_at: Nanos::MAX,
            timeouts: 0,
        }
    }

    pub(crate) fn open(&mut self) {}

    pub(crate) fn write(&mut self, bytes: u64) {
        if !self.closing {
            self.limit = self.limit.saturating_add(bytes).min(FOREVER);
        }
    }

    pub(crate) fn write_forever(&mut self) {
        if !self.closing {
            self.limit = FOREVER;
        }
    }

    pub(crate) fn close(&mut self) {
        if !self.closing {
            self.closing = true;
            if self.limit == FOREVER {
                self.limit = self.nxt;
            }
        }
    }

    pub(crate) fn fin_acked(&self) -> bool {
        self.closing && self.una > self.limit
    }

    pub(crate) fn bytes_acked(&self) -> u64 {
        self.una.min(self.limit).saturating_sub(1)
    }

    /// Frees what only a live connection needs.
    pub(crate) fn release(&mut self) {
        self.board = Scoreboard::new();
    }
}

impl Endpoint {
    pub(crate) fn take_rtt_sample(&mut self, sample: Nanos) {
        self.stats.rtt_samples += 1;
        self.stats.rtt_sum += sample;
        self.rtt.sample(&self.profile, sample, self.tx.una, self.tx.nxt);
    }

    pub(crate) fn restart_after_idle(&mut self, _now: Nanos) {}

    /// Sends new segments as far as the windows allow.
    pub(crate) fn transmit(&mut self, now: Nanos, out: &mut Vec<Segment>) {
        while self.tx.board.in_flight() < self.tx.cwnd {
            let left = self.tx.limit.saturating_sub(self.tx.nxt);
            let len = left.min(u64::from(self.mss)).min(self.tx.window_end.saturating_sub(self.tx.nxt));
            let fin = self.tx.closing && self.tx.nxt + len == self.tx.limit && (len == 0 || self.profile.fin_on_data);
            if len == 0 && !fin {
                return;
            }
            let mut flags = 0;
            if fin {
                flags |= FIN;
            }
            if self.tx.nxt + len == self.tx.limit {
                flags |= PUSH;
            }
            let start = self.tx.nxt;
            self.tx.nxt += len + u64::from(fin);
            self.tx.board.push(start, (len + u64::from(fin)) as u16, flags, now);
            self.emit(now, start, (len + u64::from(fin)) as u32, flags, false, out);
            if self.tx.timer_at == Nanos::MAX {
                self.tx.timer_at = now + self.rtt.rto();
            }
        }
    }

    fn emit(&mut self, now: Nanos, start: u64, len: u32, flags: u8, again: bool, out: &mut Vec<Segment>) {
        let fin = flags & FIN != 0;
        let payload = len - u32::from(fin);
        let mut wire = Flags::ACK;
        if fin {
            wire |= Flags::FIN;
        }
        if flags & PUSH != 0 && payload > 0 {
            wire |= Flags::PSH;
        }
        let mut segment = self.segment(now, start, wire);
        segment.len = payload;
        segment.retransmitted = again;
        self.stats.segments_sent += 1;
        self.stats.data_sent += u32::from(payload > 0);
        self.stats.fin_sent += u32::from(fin);
        if again {
            self.stats.segments_retransmitted += 1;
            self.stats.data_retransmitted += u32::from(payload > 0);
            self.stats.fin_retransmitted += u32::from(fin);
        }
        out.push(segment);
    }

    /// Takes in an acknowledgement; `false` if it is not acceptable.
    pub(crate) fn on_ack(&mut self, now: Nanos, segment: &Segment, _out: &mut Vec<Segment>) -> bool {
        let Some(ack) = self.tx.unwrap.position(segment.ack, self.tx.una) else {
            return false;
        };
        if ack > self.tx.nxt {
            return false;
        }
        self.tx.window_end = self.tx.window_end.max(ack + u64::from(segment.window));
        if ack <= self.tx.una {
            return true;
        }
        self.tx.una = ack;
        self.tx.timeouts = 0;
        let mut sample = None;
        while self.tx.board.front().is_some_and(|sent| sent.end() <= ack) {
            if let Some(sent) = self.tx.board.pop() {
                if !sent.is(EVER_RETRANS) {
                    sample = Some(now.saturating_sub(sent.sent));
                }
                self.tx.cwnd += 1;
            }
        }
        if let Some(sample) = sample {
            self.take_rtt_sample(sample);
        }
        self.tx.timer_at = if self.tx.board.is_empty() { Nanos::MAX } else { now + self.rtt.rto() };
        true
    }

    pub(crate) fn on_retransmit_timer(&mut self, now: Nanos, out: &mut Vec<Segment>) {
        let Some(&front) = self.tx.board.front() else {
            self.tx.timer_at = Nanos::MAX;
            return;
        };
        self.tx.timeouts += 1;
        if self.tx.timeouts > self.profile.retries {
            self.fail();
            return;
        }
        self.stats.rto_timeouts += 1;
        self.tx.cwnd = 1;
        self.rtt.back_off(&self.profile);
        let previous = self.tx.board.mark_retransmitted(0, now);
        self.stats.retransmission_delay += now.saturating_sub(previous);
        self.emit(now, front.start, u32::from(front.len), front.flags, true, out);
        self.tx.timer_at = now + self.rtt.rto();
    }
}
