//! Congestion control: one file an algorithm.
//!
//! An algorithm answers two questions: how far the window grows for what an acknowledgement delivered, and what
//! `ssthresh` becomes when a loss is found. What happens in between (PRR, undo) is the same for all and stands in
//! [`recovery`](crate::recovery).

mod cubic;
mod hystart;
mod reno;

use crate::profile::{CongestionControl, Profile};
use cubic::Cubic;
use gentle_units::Nanos;

/// The congestion window and what every algorithm needs with it.
#[derive(Debug, Clone)]
pub(crate) struct Window {
    /// In segments.
    pub(crate) cwnd: u32,
    /// Segments delivered since the window last grew by one (`snd_cwnd_cnt`).
    pub(crate) credit: u32,
    /// In segments; `u32::MAX` is infinite.
    pub(crate) ssthresh: u32,
}

impl Window {
    #[inline]
    pub(crate) fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Slow start (RFC 5681, section 3.1, with the byte counting of RFC 3465); returns what is left for congestion
    /// avoidance. `limit` is RFC 3465's `L`, 0 for none.
    #[inline]
    fn slow_start(&mut self, acked: u32, limit: u32) -> u32 {
        let grow = if limit > 0 { acked.min(limit) } else { acked };
        let cwnd = self.cwnd.saturating_add(grow).min(self.ssthresh);
        let left = grow - (cwnd - self.cwnd);
        self.cwnd = cwnd;
        left
    }

    /// One segment more for every `per` delivered (`tcp_cong_avoid_ai`).
    #[inline]
    fn additive_increase(&mut self, per: u32, acked: u32) {
        // A credit above `per` stems from a time when `per` was larger; it buys one segment, not several.
        if self.credit >= per {
            self.credit = 0;
            self.cwnd += 1;
        }
        self.credit += acked;
        if self.credit >= per {
            let grow = self.credit / per;
            self.credit -= grow * per;
            self.cwnd += grow;
        }
    }
}

/// The algorithm with its state.
#[derive(Debug, Clone)]
pub(crate) enum Congestion {
    Reno,
    Cubic(Cubic),
}

/// What an algorithm may know about an acknowledgement.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Progress {
    pub(crate) now: Nanos,
    /// Segments delivered.
    pub(crate) delivered: u32,
    /// Oldest position not acknowledged, and next to send.
    pub(crate) una: u64,
    pub(crate) nxt: u64,
}

impl Congestion {
    pub(crate) fn new(profile: &Profile, now: Nanos) -> Congestion {
        match profile.congestion_control {
            CongestionControl::Reno => Congestion::Reno,
            CongestionControl::Cubic => Congestion::Cubic(Cubic::new(profile.hystart, now)),
        }
    }

    /// A round-trip time was measured on data that was sent once. `ack_delay` is how long a full burst may hold
    /// acknowledgements back ([`hystart`]).
    #[inline]
    pub(crate) fn on_rtt(
        &mut self,
        window: &mut Window,
        progress: &Progress,
        rtt: Nanos,
        ack_delay: impl FnOnce() -> Nanos,
    ) {
        if let Congestion::Cubic(cubic) = self {
            cubic.on_rtt(window, progress, rtt, ack_delay);
        }
    }

    /// New data was acknowledged and the window was in full use: grow it.
    #[inline]
    pub(crate) fn grow(&mut self, window: &mut Window, progress: &Progress, abc_limit: u32) {
        let mut left = progress.delivered;
        if window.in_slow_start() {
            left = window.slow_start(left, abc_limit);
            if left == 0 {
                return;
            }
        }
        match self {
            Congestion::Reno => reno::avoid(window, left),
            Congestion::Cubic(cubic) => cubic.avoid(window, progress.now, left),
        }
    }

    /// What `ssthresh` becomes when the window must be reduced.
    pub(crate) fn ssthresh(&mut self, cwnd: u32) -> u32 {
        match self {
            Congestion::Reno => reno::ssthresh(cwnd),
            Congestion::Cubic(cubic) => cubic.ssthresh(cwnd),
        }
    }

    /// A retransmission timeout: start over.
    pub(crate) fn on_timeout(&mut self, now: Nanos) {
        if let Congestion::Cubic(cubic) = self {
            cubic.reset(now);
        }
    }

    /// Sending resumes after `idle` without anything in flight.
    pub(crate) fn on_restart(&mut self, idle: Nanos) {
        if let Congestion::Cubic(cubic) = self {
            cubic.shift(idle);
        }
    }
}
