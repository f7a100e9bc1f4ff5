//! Congestion control: a trait, one file an algorithm, and the one list of them.
//!
//! An algorithm says how far the window grows for what an acknowledgement delivered, and what `ssthresh` becomes when a loss
//! is found. Slow start ([`Window::slow_start`]) and what happens between a loss and its repair (PRR, undo,
//! [`recovery`](crate::recovery)) are the same for all.
//!
//! Adding one is a file with a type that implements [`Controller`], and one line in the list below; scenario files, `--tcp`,
//! `gentle profiles` and its knob `congestion_control` know it then.

mod cubic;
mod hystart;
mod reno;

use crate::profile::{Profile, texts};
use gentle_units::Nanos;
use std::fmt;

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

/// A congestion control algorithm and its state for one connection.
pub(crate) trait Controller {
    /// State at the start of a connection at `now`.
    fn new(profile: &Profile, now: Nanos) -> Self;

    /// Congestion avoidance: `acked` segments were delivered, beyond those that slow start took, while the window was in full
    /// use.
    fn on_ack(&mut self, window: &mut Window, now: Nanos, acked: u32);

    /// A loss was found, or congestion reported, with a window of `cwnd` segments: the new `ssthresh`.
    fn on_loss(&mut self, cwnd: u32) -> u32;

    /// `segments` new segments were sent at `now`, with which `in_flight` are under way.
    #[inline]
    fn on_sent(&mut self, now: Nanos, segments: u32, in_flight: u32) {
        let _ = (now, segments, in_flight);
    }

    /// A round-trip time was measured on data that was sent once. `ack_delay` is how long a full burst may hold
    /// acknowledgements back ([`hystart`]).
    #[inline]
    fn on_rtt(
        &mut self,
        window: &mut Window,
        progress: &Progress,
        rtt: Nanos,
        ack_delay: impl FnOnce() -> Nanos,
    ) {
        let _ = (window, progress, rtt, ack_delay);
    }

    /// The retransmission timer expired: what was learned of the path may be wrong.
    #[inline]
    fn on_timeout(&mut self, now: Nanos) {
        let _ = now;
    }

    /// Sending resumes after `idle` without anything in flight.
    #[inline]
    fn on_restart(&mut self, idle: Nanos) {
        let _ = idle;
    }
}

/// One line an algorithm: name of the variant, type, texts by which users name it.
macro_rules! algorithms {
    ($($(#[$doc:meta])* $name:ident: $type:ty = $text:literal $(| $alias:literal)*;)*) => {
        /// Which algorithm moves the congestion window.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum CongestionControl {
            $($(#[$doc])* $name,)*
        }

        texts!(CongestionControl { $($name = $text $(| $alias)*),* });

        /// The algorithm of a connection, dispatched by variant so that calls inline.
        #[derive(Debug, Clone)]
        pub(crate) enum Congestion {
            $($name($type),)*
        }

        impl Controller for Congestion {
            fn new(profile: &Profile, now: Nanos) -> Congestion {
                match profile.congestion_control {
                    $(CongestionControl::$name => Congestion::$name(<$type>::new(profile, now)),)*
                }
            }

            #[inline]
            fn on_ack(&mut self, window: &mut Window, now: Nanos, acked: u32) {
                match self {
                    $(Congestion::$name(algorithm) => algorithm.on_ack(window, now, acked),)*
                }
            }

            #[inline]
            fn on_loss(&mut self, cwnd: u32) -> u32 {
                match self {
                    $(Congestion::$name(algorithm) => algorithm.on_loss(cwnd),)*
                }
            }

            #[inline]
            fn on_sent(&mut self, now: Nanos, segments: u32, in_flight: u32) {
                match self {
                    $(Congestion::$name(algorithm) => algorithm.on_sent(now, segments, in_flight),)*
                }
            }

            #[inline]
            fn on_rtt(
                &mut self,
                window: &mut Window,
                progress: &Progress,
                rtt: Nanos,
                ack_delay: impl FnOnce() -> Nanos,
            ) {
                match self {
                    $(Congestion::$name(algorithm) => algorithm.on_rtt(window, progress, rtt, ack_delay),)*
                }
            }

            #[inline]
            fn on_timeout(&mut self, now: Nanos) {
                match self {
                    $(Congestion::$name(algorithm) => algorithm.on_timeout(now),)*
                }
            }

            #[inline]
            fn on_restart(&mut self, idle: Nanos) {
                match self {
                    $(Congestion::$name(algorithm) => algorithm.on_restart(idle),)*
                }
            }
        }
    };
}

algorithms! {
    /// NewReno: RFC 5681 and RFC 6582.
    Reno: reno::Reno = "reno" | "newreno";
    /// CUBIC: RFC 9438.
    Cubic: cubic::Cubic = "cubic";
}

impl Congestion {
    /// New data was acknowledged and the window was in full use: grow it, in slow start and beyond.
    #[inline]
    pub(crate) fn grow(&mut self, window: &mut Window, progress: &Progress, abc_limit: u32) {
        let mut left = progress.delivered;
        if window.in_slow_start() {
            left = window.slow_start(left, abc_limit);
            if left == 0 {
                return;
            }
        }
        self.on_ack(window, progress.now, left);
    }
}
