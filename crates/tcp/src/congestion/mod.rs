//! Congestion control: a trait, a file for each algorithm, and the list of algorithms.
//!
//! An algorithm sets the growth of the window per acknowledgement, and `ssthresh` after a loss. Slow start
//! ([`Window::slow_start`]) and the course between a loss and its repair (PRR, undo, [`recovery`](crate::recovery))
//! are common to all.
//!
//! A new algorithm is a file with a type that implements [`Controller`], and one line in the list below; scenario
//! files, `--tcp`, `gentle profiles` and the knob `congestion_control` follow from that.

mod bbr;
mod cubic;
mod dctcp;
mod hystart;
mod hystart_plus;
mod policer;
mod reno;
mod windowed_max;

pub(crate) use hystart_plus::HyStartPlus;

use crate::pacing::Pacing;
use crate::profile::{Profile, texts};
use crate::rate::{DeliveryRate, RateSample};
use crate::recovery::CaState;
use gentle_units::{Instant, Nanos};
use std::fmt;

/// Congestion window and the state that all algorithms share.
#[derive(Debug, Clone)]
pub(crate) struct Window {
    /// Congestion window, segments.
    pub(crate) cwnd: u32,
    /// Segments delivered since the window last grew by one (`snd_cwnd_cnt`).
    pub(crate) credit: u32,
    /// Slow start threshold, segments; `u32::MAX`: infinite.
    pub(crate) ssthresh: u32,
}

impl Window {
    #[inline]
    pub(crate) fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Slow start (RFC 5681, section 3.1, with the byte counting of RFC 3465); returns the segments left for
    /// congestion avoidance. `limit` is RFC 3465's `L`, 0 for none.
    #[inline]
    fn slow_start(&mut self, acked: u32, limit: u32) -> u32 {
        let grow = if limit > 0 { acked.min(limit) } else { acked };
        let cwnd = self.cwnd.saturating_add(grow).min(self.ssthresh);
        let left = grow - (cwnd - self.cwnd);
        self.cwnd = cwnd;
        left
    }

    /// Grows the window by a segment for every `per` segments delivered (`tcp_cong_avoid_ai`).
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

/// State of the connection after an acknowledgement, for an algorithm.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Progress {
    pub(crate) now: Instant,
    /// Segments delivered.
    pub(crate) delivered: u32,
    /// Oldest unacknowledged position.
    pub(crate) una: u64,
    /// Next position to send.
    pub(crate) nxt: u64,
}

/// State of a connection when its handshake completes, for an algorithm.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Opening {
    /// Whether the ends agreed on ECN.
    pub(crate) ecn: bool,
    /// Next position to send.
    pub(crate) nxt: u64,
    /// Number that differs between connections.
    pub(crate) seed: u32,
}

/// Connection, as far as an algorithm that controls the sending rate sees and sets it.
#[derive(Debug)]
pub(crate) struct Flow<'a> {
    pub(crate) now: Instant,
    pub(crate) state: CaState,
    /// Segments in flight.
    pub(crate) in_flight: u32,
    /// Segments marked lost over the life of the connection.
    pub(crate) lost: u32,
    /// Payload of a full segment, bytes.
    pub(crate) mss: u32,
    pub(crate) srtt: Option<Nanos>,
    pub(crate) min_rtt: Option<Nanos>,
    pub(crate) window: &'a mut Window,
    pub(crate) pacing: &'a mut Pacing,
    pub(crate) rate: &'a mut DeliveryRate,
}

/// A congestion control algorithm and its state for one connection.
pub(crate) trait Controller {
    /// Whether the algorithm negotiates ECN regardless of [`Ecn`](crate::Ecn), sends every packet ECN-capable and has
    /// the receiver report each change of the marking at once (`TCP_CONG_NEEDS_ECN`).
    const NEEDS_ECN: bool = false;

    /// Whether the algorithm sets window and pacing rate itself after each acknowledgement, in every state, from samples
    /// of the delivery rate (`cong_control`): [`on_sample`](Controller::on_sample). Slow start, congestion avoidance and
    /// PRR then do not apply.
    const RATE_BASED: bool = false;

    /// Creates the state of a connection that starts at `now`.
    fn new(profile: &Profile, now: Instant) -> Self;

    /// Starts work on a connection that has completed its handshake.
    #[inline]
    fn on_open(&mut self, opening: &Opening, flow: Option<&mut Flow>) {
        let _ = (opening, flow);
    }

    /// Accounts for the segments that an acknowledgement reported as delivered, before the window adapts to it.
    /// `marked`: number of segments that it reported as marked.
    #[inline]
    fn on_delivered(&mut self, progress: &Progress, marked: u32) {
        let _ = (progress, marked);
    }

    /// Grows the window in congestion avoidance: `acked` segments, those taken by slow start not counted, were
    /// delivered while the window was fully used.
    fn on_ack(&mut self, window: &mut Window, now: Instant, acked: u32);

    /// Returns the new `ssthresh` after a loss or an ECN echo, with a window of `cwnd` segments.
    fn on_loss(&mut self, cwnd: u32) -> u32;

    /// Accounts for `segments` new segments sent at `now`; `in_flight` includes them.
    #[inline]
    fn on_sent(&mut self, now: Instant, segments: u32, in_flight: u32) {
        let _ = (now, segments, in_flight);
    }

    /// Takes an RTT sample of data that was sent once. `ack_delay` is the time for which a full burst may hold
    /// acknowledgements back ([`hystart`]).
    #[inline]
    fn on_rtt(&mut self, window: &mut Window, progress: &Progress, rtt: Nanos, ack_delay: impl FnOnce() -> Nanos) {
        let _ = (window, progress, rtt, ack_delay);
    }

    /// Accounts for the start of fast recovery, after [`on_loss`](Controller::on_loss) unless the window was being
    /// reduced already.
    #[inline]
    fn on_recovery(&mut self, window: &mut Window) {
        let _ = window;
    }

    /// Accounts for a retransmission timeout, after which earlier measurements of the path may be wrong.
    #[inline]
    fn on_timeout(&mut self, window: &mut Window, now: Instant) {
        let _ = (window, now);
    }

    /// Restores the window when a reduction, before which it was `prior_cwnd`, proves wrong.
    #[inline]
    fn on_undo(&mut self, window: &mut Window, prior_cwnd: u32) {
        window.cwnd = window.cwnd.max(prior_cwnd);
    }

    /// Sets window and pacing rate after an acknowledgement, if the algorithm is rate-based.
    #[inline]
    fn on_sample(&mut self, flow: &mut Flow, sample: &RateSample) {
        let _ = (flow, sample);
    }

    /// Accounts for data sent while nothing was in flight, if the algorithm is rate-based.
    #[inline]
    fn on_transmission(&mut self, flow: &mut Flow) {
        let _ = flow;
    }

    /// Accounts for the state after a timeout, if the algorithm is rate-based.
    #[inline]
    fn on_enter_loss(&mut self, flow: &mut Flow) {
        let _ = flow;
    }

    /// Least segments of a burst at a pacing rate of `rate` bytes per second; `None`: the system's.
    #[inline]
    fn least_burst(&self, rate: u64) -> Option<u32> {
        let _ = rate;
        None
    }

    /// Accounts for `idle` time without data in flight, when sending resumes at `now`.
    #[inline]
    fn on_restart(&mut self, now: Instant, idle: Nanos) {
        let _ = (now, idle);
    }
}

/// Takes a line for each algorithm: name of the variant, type, names in scenario files.
macro_rules! algorithms {
    ($($(#[$doc:meta])* $name:ident: $type:ty = $text:literal $(| $alias:literal)*;)*) => {
        /// Congestion control algorithm.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum CongestionControl {
            $($(#[$doc])* $name,)*
        }

        impl CongestionControl {
            /// [`Controller::NEEDS_ECN`] of the algorithm.
            pub(crate) fn needs_ecn(self) -> bool {
                match self {
                    $(CongestionControl::$name => <$type>::NEEDS_ECN,)*
                }
            }

            /// [`Controller::RATE_BASED`] of the algorithm.
            pub(crate) fn is_rate_based(self) -> bool {
                match self {
                    $(CongestionControl::$name => <$type>::RATE_BASED,)*
                }
            }
        }

        texts!(CongestionControl { $($name = $text $(| $alias)*),* });

        /// Algorithm of a connection, dispatched by variant so that calls inline.
        #[derive(Debug, Clone)]
        pub(crate) enum Congestion {
            $($name($type),)*
        }

        impl Controller for Congestion {
            fn new(profile: &Profile, now: Instant) -> Congestion {
                match profile.congestion_control {
                    $(CongestionControl::$name => Congestion::$name(<$type>::new(profile, now)),)*
                }
            }

            #[inline]
            fn on_open(&mut self, opening: &Opening, flow: Option<&mut Flow>) {
                match self {
                    $(Congestion::$name(algorithm) => algorithm.on_open(opening, flow),)*
                }
            }

            #[inline]
            fn on_sample(&mut self, flow: &mut Flow, sample: &RateSample) {
                match self {
                    $(Congestion::$name(algorithm) => algorithm.on_sample(flow, sample),)*
                }
            }

            #[inline]
            fn on_transmission(&mut self, flow: &mut Flow) {
                match self {
                    $(Congestion::$name(algorithm) => algorithm.on_transmission(flow),)*
                }
            }

            #[inline]
            fn on_enter_loss(&mut self, flow: &mut Flow) {
                match self {
                    $(Congestion::$name(algorithm) => algorithm.on_enter_loss(flow),)*
                }
            }

            #[inline]
            fn least_burst(&self, rate: u64) -> Option<u32> {
                match self {
                    $(Congestion::$name(algorithm) => algorithm.least_burst(rate),)*
                }
            }

            #[inline]
            fn on_delivered(&mut self, progress: &Progress, marked: u32) {
                match self {
                    $(Congestion::$name(algorithm) => algorithm.on_delivered(progress, marked),)*
                }
            }

            #[inline]
            fn on_ack(&mut self, window: &mut Window, now: Instant, acked: u32) {
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
            fn on_sent(&mut self, now: Instant, segments: u32, in_flight: u32) {
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
            fn on_recovery(&mut self, window: &mut Window) {
                match self {
                    $(Congestion::$name(algorithm) => algorithm.on_recovery(window),)*
                }
            }

            #[inline]
            fn on_timeout(&mut self, window: &mut Window, now: Instant) {
                match self {
                    $(Congestion::$name(algorithm) => algorithm.on_timeout(window, now),)*
                }
            }

            #[inline]
            fn on_undo(&mut self, window: &mut Window, prior_cwnd: u32) {
                match self {
                    $(Congestion::$name(algorithm) => algorithm.on_undo(window, prior_cwnd),)*
                }
            }

            #[inline]
            fn on_restart(&mut self, now: Instant, idle: Nanos) {
                match self {
                    $(Congestion::$name(algorithm) => algorithm.on_restart(now, idle),)*
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
    /// DCTCP: RFC 8257. Requests ECN and sends every packet ECN-capable, whatever the knob `ecn` says.
    Dctcp: dctcp::Dctcp = "dctcp";
    /// BBR, version 1. Paces, whatever the knob `pacing` says.
    Bbr: bbr::Bbr = "bbr";
}

impl Congestion {
    /// Grows a fully used window after an acknowledgement of new data, in slow start and congestion avoidance.
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
