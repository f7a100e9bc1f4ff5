//! Acknowledgement policy: at once, or delayed until a second segment arrives (RFC 5681, section 4.2).

use crate::profile::{AckPolicy, Profile};
use gentle_units::{Instant, Nanos};

/// Decision of the policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Due {
    /// No acknowledgement is pending.
    Nothing,
    /// Send now.
    Now,
    /// Send after this delay at the latest.
    After(Nanos),
}

/// State of delayed acknowledgement of one end point.
#[derive(Debug, Clone)]
pub(crate) struct AckState {
    /// Whether an acknowledgement is pending.
    scheduled: bool,
    /// Whether the pending acknowledgement must not be delayed.
    now: bool,
    /// Segments that arrived since the last acknowledgement.
    segments: u32,
    /// Number of acknowledgements still sent at once (`icsk_ack.quick`).
    quick: u32,
    /// Interactive mode (`pingpong`): data was sent shortly after data was received, so acknowledgements piggyback on
    /// data.
    interactive: bool,
    /// Whether the last segment had PSH or was short (`ICSK_ACK_PUSHED`).
    pushed: bool,
    /// Largest segment received, the estimate of the peer's full segment size (`rcv_mss`).
    rcv_mss: u32,
    /// Current delay (`icsk_ack.ato`); zero before the first data.
    ato: Nanos,
    last_data: Instant,
}

impl AckState {
    pub(crate) fn new(profile: &Profile) -> AckState {
        AckState {
            scheduled: false,
            now: false,
            segments: 0,
            quick: 0,
            interactive: false,
            pushed: false,
            // tcp_initialize_rcv_mss
            rcv_mss: u32::from(profile.mss.min(536)),
            ato: Nanos::ZERO,
            last_data: Instant::ZERO,
        }
    }

    /// Requests an acknowledgement without delay.
    #[inline]
    pub(crate) fn force(&mut self) {
        self.scheduled = true;
        self.now = true;
    }

    /// Requests an acknowledgement, which counts among those sent at once (`tcp_data_queue_ofo`).
    pub(crate) fn schedule(&mut self) {
        self.scheduled = true;
    }

    /// Requests that the next acknowledgement, whenever one is due, is not delayed (`ICSK_ACK_NOW`).
    #[inline]
    pub(crate) fn hurry(&mut self) {
        self.now = true;
    }

    /// Accounts for in-order data (`tcp_event_data_recv`). `rto` bounds the delay, since a longer one would time the
    /// peer out.
    #[inline(always)]
    pub(crate) fn data(&mut self, profile: &Profile, now: Instant, len: u32, push: bool, rto: Nanos) {
        self.scheduled = true;
        self.segments += 1;
        if profile.ack_policy == AckPolicy::Linux {
            self.adapt_delay(profile, now, len, push, rto);
        }
    }

    /// Adapts the delay to the time since the last segment.
    fn adapt_delay(&mut self, profile: &Profile, now: Instant, len: u32, push: bool, rto: Nanos) {
        self.pushed = push || len < self.rcv_mss;
        self.rcv_mss = self.rcv_mss.max(len);
        let floor = profile.delack;
        if self.ato == Nanos::ZERO {
            self.add_quickacks(profile);
            self.ato = floor;
        } else {
            let whole = |time: Nanos| match profile.exact_ato {
                true => Nanos(time.0 - time.0 % profile.timer_granularity.0),
                false => time,
            };
            let tick = |at: Instant| whole(at.since_origin());
            let gap = tick(now).saturating_sub(tick(self.last_data));
            let half = whole(Nanos(self.ato.0 / 2));
            if gap.0 <= floor.0 / 2 {
                self.ato = half + Nanos(floor.0 / 2);
            } else if gap < self.ato {
                self.ato = (half + gap).min(rto);
            } else if gap > rto {
                // The sender seems to have restarted after idle: let its window grow quickly.
                self.add_quickacks(profile);
            }
        }
        self.last_data = now;
    }

    #[inline]
    fn add_quickacks(&mut self, profile: &Profile) {
        self.quick = self.quick.max(profile.quickack_segments);
    }

    /// Enters quick-ACK mode after a duplicate, since the peer is in recovery (`tcp_enter_quickack_mode`).
    pub(crate) fn enter_quickack(&mut self, profile: &Profile) {
        if profile.ack_policy == AckPolicy::Linux {
            self.add_quickacks(profile);
            self.interactive = false;
            self.ato = profile.delack;
        }
    }

    /// Accounts for the end of the delay: the next segment came later than expected (`tcp_delack_timer_handler`).
    pub(crate) fn expired(&mut self, profile: &Profile, rto: Nanos) {
        if profile.ack_policy != AckPolicy::Linux || !profile.exact_ato {
            return;
        }
        if self.interactive {
            self.interactive = false;
            self.ato = profile.delack;
        } else {
            self.ato = (self.ato * 2).min(rto).min(profile.delack_max);
        }
    }

    /// Requests an acknowledgement at once for a window update (`tcp_grow_window`).
    #[inline]
    pub(crate) fn opened(&mut self, profile: &Profile) {
        if profile.ack_policy == AckPolicy::Linux {
            self.quick |= 1;
        }
    }

    /// Accounts for data sent.
    #[inline]
    pub(crate) fn data_sent(&mut self, now: Instant) {
        if now.saturating_since(self.last_data) < self.ato {
            self.interactive = true;
        }
    }

    /// Accounts for the peer's FIN: data sent from now on is a response (`tcp_fin` enters pingpong mode).
    pub(crate) fn peer_closed(&mut self, profile: &Profile) {
        match profile.ack_policy {
            AckPolicy::Linux => {
                self.interactive = true;
                self.scheduled = true;
            }
            AckPolicy::Fixed => self.force(),
        }
    }

    /// Accounts for a segment sent with an acknowledgement.
    #[inline]
    pub(crate) fn sent(&mut self, profile: &Profile) {
        if self.scheduled && self.quick > 0 {
            self.quick -= 1;
            if self.quick == 0 {
                self.ato = profile.delack;
            }
        }
        self.scheduled = false;
        self.now = false;
        self.pushed = false;
        self.segments = 0;
    }

    /// Whether an acknowledgement is due at once although data is missing, with `unacknowledged` sequence numbers received
    /// in order and not acknowledged.
    pub(crate) fn is_urgent(&self, unacknowledged: u64) -> bool {
        let quick = !self.interactive && self.quick > 0;
        self.now || quick || unacknowledged > u64::from(self.rcv_mss)
    }

    /// Decides on the pending acknowledgement, with `unacknowledged` sequence numbers received and not acknowledged.
    #[inline]
    pub(crate) fn due(&self, profile: &Profile, unacknowledged: u64, srtt: Option<Nanos>) -> Due {
        if !self.scheduled {
            return Due::Nothing;
        }
        if self.now {
            return Due::Now;
        }
        match profile.ack_policy {
            AckPolicy::Fixed => {
                if self.segments >= profile.delack_segments {
                    Due::Now
                } else {
                    Due::After(profile.delack)
                }
            }
            AckPolicy::Linux => {
                let enough = u64::from(self.rcv_mss) * u64::from(profile.delack_segments - 1);
                if unacknowledged > enough || (!self.interactive && (self.quick > 0 || self.pushed)) {
                    return Due::Now;
                }
                // tcp_send_delayed_ack: at most half a second (`delack_max` if interactive or pushed), and at most the
                // SRTT.
                let mut delay = self.ato;
                if delay > profile.delack {
                    let mut longest = Nanos::from_millis(500);
                    if self.interactive || self.pushed {
                        longest = profile.delack_max;
                    }
                    if let Some(srtt) = srtt {
                        longest = longest.min(srtt.max(profile.delack));
                    }
                    delay = delay.min(longest);
                }
                Due::After(delay.min(profile.delack_max))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A delay that expired doubles; segments that follow closely bring it back to its minimum.
    #[test]
    fn the_delay_adapts_to_what_comes() {
        let profile = Profile { exact_ato: true, ..Profile::default() };
        let ms = Nanos::from_millis;
        let (rto, mss) = (ms(300), 1448);
        let mut state = AckState::new(&profile);
        let delay = |state: &AckState| state.due(&profile, u64::from(mss), Some(ms(250)));
        for n in 0..20 {
            state.data(&profile, Instant::from_millis(n * 10), mss, false, rto);
            state.sent(&profile);
        }
        state.data(&profile, Instant::from_millis(200), mss, false, rto);
        assert_eq!(delay(&state), Due::After(ms(40)));
        state.expired(&profile, rto);
        state.sent(&profile);
        // Half of 80 ms, and the gap of 50 ms; then half of that, and half of the minimum.
        state.data(&profile, Instant(250_900_000), mss, false, rto);
        assert_eq!(delay(&state), Due::After(ms(90)));
        state.data(&profile, Instant::from_millis(255), mss, false, rto);
        assert_eq!(delay(&state), Due::After(ms(65)));
    }
}
