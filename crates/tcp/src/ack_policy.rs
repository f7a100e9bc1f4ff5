//! When an acknowledgement goes out: at once, or delayed in the hope of a second segment (RFC 5681, section 4.2).

use crate::profile::{AckPolicy, Profile};
use gentle_units::Nanos;

/// What the policy decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Due {
    /// Nothing to acknowledge.
    Nothing,
    /// Now.
    Now,
    /// Not later than after this.
    After(Nanos),
}

/// State of the delayed-acknowledgement machinery of one end point.
#[derive(Debug, Clone)]
pub(crate) struct AckState {
    /// Something arrived that asks for an acknowledgement.
    scheduled: bool,
    /// It must not be delayed.
    now: bool,
    /// Segments that arrived since the last acknowledgement.
    segments: u32,
    /// Acknowledgements that still go out at once (`icsk_ack.quick`).
    quick: u32,
    /// Interactive: data went out shortly after data came in, so acknowledgements ride on data (`pingpong`).
    interactive: bool,
    /// The last segment ended what the application wrote (`ICSK_ACK_PUSHED`).
    pushed: bool,
    /// Largest segment seen, the peer's idea of a full one (`rcv_mss`).
    full: u32,
    /// The current delay (`icsk_ack.ato`); zero before the first data.
    ato: Nanos,
    last_data: Nanos,
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
            full: u32::from(profile.mss.min(536)),
            ato: Nanos::ZERO,
            last_data: Nanos::ZERO,
        }
    }

    /// An acknowledgement is owed and must go out at once.
    #[inline]
    pub(crate) fn force(&mut self) {
        self.scheduled = true;
        self.now = true;
    }

    /// In-order data arrived (`tcp_event_data_recv`). `rto` bounds the delay, as a longer one would time the peer out.
    #[inline]
    pub(crate) fn data(&mut self, profile: &Profile, now: Nanos, len: u32, push: bool, rto: Nanos) {
        self.scheduled = true;
        self.segments += 1;
        if profile.ack_policy == AckPolicy::Fixed {
            return;
        }
        self.pushed = push || len < self.full;
        self.full = self.full.max(len);
        let floor = profile.delack;
        if self.ato == Nanos::ZERO {
            self.enter_quick(profile);
            self.ato = floor;
        } else {
            let gap = now.saturating_sub(self.last_data);
            if gap.0 <= floor.0 / 2 {
                self.ato = Nanos(self.ato.0 / 2 + floor.0 / 2);
            } else if gap < self.ato {
                self.ato = Nanos(self.ato.0 / 2 + gap.0).min(rto);
            } else if gap > rto {
                // The sender seems to have restarted from idle: let its window grow quickly.
                self.enter_quick(profile);
            }
        }
        self.last_data = now;
    }

    #[inline]
    fn enter_quick(&mut self, profile: &Profile) {
        self.quick = self.quick.max(profile.quickack_segments);
    }

    /// A duplicate came in: the peer is in trouble and needs acknowledgements soon (`tcp_enter_quickack_mode`).
    pub(crate) fn trouble(&mut self, profile: &Profile) {
        if profile.ack_policy == AckPolicy::Linux {
            self.enter_quick(profile);
            self.interactive = false;
            self.ato = profile.delack;
        }
    }

    /// The receive window opened, which the peer should learn (`tcp_grow_window`).
    #[inline]
    pub(crate) fn opened(&mut self, profile: &Profile) {
        if profile.ack_policy == AckPolicy::Linux {
            self.quick |= 1;
        }
    }

    /// Data went out.
    #[inline]
    pub(crate) fn data_sent(&mut self, now: Nanos) {
        if now.saturating_sub(self.last_data) < self.ato {
            self.interactive = true;
        }
    }

    /// The peer has closed: what follows from this side is an answer (`tcp_fin` enters pingpong mode).
    pub(crate) fn peer_closed(&mut self, profile: &Profile) {
        match profile.ack_policy {
            AckPolicy::Linux => {
                self.interactive = true;
                self.scheduled = true;
            }
            AckPolicy::Fixed => self.force(),
        }
    }

    /// A segment with an acknowledgement went out.
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

    /// Whether an acknowledgement is due, with `unacknowledged` sequence numbers received and not acknowledged.
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
                let enough = u64::from(self.full) * u64::from(profile.delack_segments - 1);
                if unacknowledged > enough || (!self.interactive && (self.quick > 0 || self.pushed))
                {
                    return Due::Now;
                }
                // tcp_send_delayed_ack: not beyond half a second, nor an RTT of this direction unless interactive.
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
