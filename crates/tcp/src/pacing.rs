//! Pacing: data leaves no faster than a rate, in bursts of the size that Linux hands to the network card at once
//! (`tcp_pacing_check`, `tcp_tso_autosize` and `tcp_tso_should_defer` of `net/ipv4/tcp_output.c`).

use crate::congestion::Controller;
use crate::endpoint::{Endpoint, State};
use crate::profile::Profile;
use crate::recovery::CaState;
use crate::segment::{Flags, Outbox};
use gentle_units::{Instant, Nanos};

/// Segments sent before pacing begins.
const UNPACED: u32 = 10;
/// Percentage of the current rate, a window per round trip, at which a connection sends: in slow start up to half the
/// threshold (`net.ipv4.tcp_pacing_ss_ratio`), and after that (`net.ipv4.tcp_pacing_ca_ratio`).
const SLOW_START_PERCENT: u64 = 200;
const AVOIDANCE_PERCENT: u64 = 120;
/// A burst is what the rate carries in 2⁻¹⁰ s (`sk_pacing_shift`).
const BURST_SHIFT: u32 = 10;
/// Largest burst, bytes (`GSO_LEGACY_MAX_SIZE` less `MAX_TCP_HEADER`, the headers' room).
const LARGEST_BURST: u64 = 65_536 - 257;
/// Bursts grow by the largest one, halved for each 2⁹ µs of the shortest round trip (`net.ipv4.tcp_tso_rtt_log`).
const BURST_RTT_LOG: u32 = 9;
/// Least segments of a burst (`net.ipv4.tcp_min_tso_segs`).
const LEAST_BURST: u32 = 2;
/// Fraction of the window that is sent at once although more could leave later (`net.ipv4.tcp_tso_win_divisor`).
const WINDOW_DIVISOR: u64 = 3;
const MILLISECOND: Nanos = Nanos::from_millis(1);

/// State of pacing, or of bursts without pacing.
#[derive(Debug, Clone)]
pub(crate) struct Pacing {
    /// Whether data has to wait.
    paces: bool,
    /// Bytes of payload per second; `u64::MAX`: not limited.
    pub(crate) rate: u64,
    /// Time at which the next data may leave (`tcp_wstamp_ns`).
    next: Instant,
    /// Expiry of the pacing timer; `Instant::NEVER`: not set.
    pub(crate) timer_at: Instant,
    /// Segments with payload sent, repeated ones included.
    segments: u32,
    /// End of the last new segment that was not full (`snd_sml`).
    pub(crate) short_end: u64,
}

impl Pacing {
    /// State of a connection of `profile`; `None`: it does not pace, and the size of its bursts does not matter.
    pub(crate) fn new(profile: &Profile) -> Option<Box<Pacing>> {
        let paces = profile.pacing || profile.congestion_control.is_rate_based();
        (paces || profile.tso_unpaced).then(|| {
            Box::new(Pacing {
                paces,
                rate: u64::MAX,
                next: Instant::ZERO,
                timer_at: Instant::NEVER,
                segments: 0,
                short_end: 0,
            })
        })
    }

    /// Time for which data still has to wait.
    pub(crate) fn wait(&self, now: Instant) -> Nanos {
        self.next.saturating_since(now)
    }

    /// Whether data has to wait; the timer is then set.
    fn holds(&mut self, now: Instant) -> bool {
        if self.next <= now {
            return false;
        }
        if self.timer_at == Instant::NEVER {
            self.timer_at = self.next;
        }
        true
    }

    /// Accounts for a packet without data.
    pub(crate) fn passed(&mut self, now: Instant) {
        self.next = self.next.max(now);
    }

    /// Accounts for a burst with `bytes` of payload in `segments`. Up to half of its time is taken from the time that
    /// passed unused since the last one (`tcp_update_skb_after_send`).
    fn departed(&mut self, now: Instant, bytes: u64, segments: u32) {
        let unused = now.saturating_since(self.next);
        self.next = self.next.max(now);
        self.segments = self.segments.saturating_add(segments);
        if !self.paces || self.rate == u64::MAX || self.rate == 0 || self.segments < UNPACED {
            return;
        }
        let time = (u128::from(bytes) * 1_000_000_000 / u128::from(self.rate)) as u64;
        self.next += Nanos(time - unused.0.min(time / 2));
    }

    /// Segments of a burst of the pacing rate alone, at least `least` (`bbr_tso_segs_goal`).
    pub(crate) fn burst(&self, mss: u32, least: u32) -> u32 {
        let bytes = (self.rate >> BURST_SHIFT).min(LARGEST_BURST);
        ((bytes / u64::from(mss.max(1))) as u32).max(least)
    }
}

impl Endpoint {
    /// Sets the pacing rate of a window-based congestion control (`tcp_update_pacing_rate`).
    pub(crate) fn update_pacing_rate(&mut self) {
        let tx = &mut self.tx;
        let Some(pacing) = &mut tx.pacing else {
            return;
        };
        if tx.rate.is_some() {
            return;
        }
        let percent = if tx.window.cwnd < tx.window.ssthresh / 2 { SLOW_START_PERCENT } else { AVOIDANCE_PERCENT };
        let segments = u64::from(tx.window.cwnd.max(tx.board.len()));
        // Below 2⁶⁴ for any window that fits in memory; a division of 128 bits takes ten times as long.
        let per_second = u64::from(self.mss) * percent * 10_000;
        let srtt_us = self.rtt.srtt().map_or(1, |srtt| (srtt.0 / 1000).max(1));
        pacing.rate = match per_second.checked_mul(segments) {
            Some(product) => product / srtt_us,
            None => {
                let product = u128::from(per_second) * u128::from(segments);
                u64::try_from(product / u128::from(srtt_us)).unwrap_or(u64::MAX)
            }
        };
    }

    /// Whole ticks for which pacing delays timers (`tcp_pacing_delay`).
    #[inline]
    pub(crate) fn pacing_delay(&self, now: Instant) -> Nanos {
        match &self.tx.pacing {
            None => Nanos::ZERO,
            Some(pacing) if pacing.next <= now => Nanos::ZERO,
            Some(pacing) => {
                let tick = self.profile.timer_granularity.0;
                Nanos(pacing.wait(now).0 / tick * tick)
            }
        }
    }

    /// Handles the pacing timer (`tcp_tsq_write`).
    pub(crate) fn on_pacing_timer(&mut self, now: Instant, out: &mut impl Outbox) {
        if let Some(pacing) = &mut self.tx.pacing {
            pacing.timer_at = Instant::NEVER;
        }
        if self.state == State::Established {
            self.retransmit_lost(now, out);
            self.transmit(now, out);
        }
    }

    /// Whether pacing holds data back at `now`; the timer is then set.
    #[inline]
    pub(crate) fn is_held(&mut self, now: Instant) -> bool {
        match &mut self.tx.pacing {
            None => false,
            Some(pacing) => pacing.holds(now),
        }
    }

    /// Accounts for `segments` with `bytes` of payload, the last in `out`, that left at once. Of several, Linux gives
    /// the last one PSH, which the receiver acknowledges without delay (`__tcp_transmit_skb`).
    #[inline]
    pub(crate) fn end_burst(&mut self, now: Instant, bytes: u64, segments: u32, out: &mut impl Outbox) {
        let Some(pacing) = &mut self.tx.pacing else {
            return;
        };
        pacing.departed(now, bytes, segments);
        if segments > 1
            && let Some(last) = out.last_mut()
        {
            last.flags |= Flags::PSH;
        }
    }

    /// Largest number of segments that leave at once (`tcp_tso_segs`).
    pub(crate) fn burst_segments(&self) -> u32 {
        let Some(pacing) = self.tx.pacing.as_ref().filter(|_| self.profile.tso) else {
            return 1;
        };
        let least = self.tx.congestion.least_burst(pacing.rate).unwrap_or(LEAST_BURST);
        let min_rtt_us = self.rtt.min().map_or(u64::from(u32::MAX), |rtt| rtt.0 / 1000);
        let halvings = min_rtt_us >> BURST_RTT_LOG;
        let near = if halvings < 32 { LARGEST_BURST >> halvings } else { 0 };
        let bytes = (pacing.rate >> BURST_SHIFT).saturating_add(near);
        ((bytes.min(LARGEST_BURST) / u64::from(self.mss.max(1))) as u32).max(least)
    }

    /// Sends at most `burst` new segments as pacing permits; `probe` ignores the congestion window. Returns the number
    /// sent.
    // Out of line: the counterpart of `send_new` for connections that pace.
    #[inline(never)]
    pub(crate) fn send_paced(&mut self, now: Instant, burst: u32, probe: bool, out: &mut impl Outbox) -> u32 {
        let most = self.burst_segments();
        let mut sent = 0;
        let mut limited = false;
        while sent < burst && self.tx.has_unsent() && !self.is_held(now) {
            let cwnd = self.tx.window.cwnd;
            let room = cwnd.saturating_sub(self.window_used()).min((cwnd / 2).max(1));
            let quota = match (room, probe) {
                (0, false) => break,
                (0, true) => 1,
                (room, _) => room.min(most),
            };
            if !probe && self.defers(now, most, &mut limited) {
                break;
            }
            let count = self.send_burst(now, quota.min(burst - sent), out);
            if count == 0 {
                break;
            }
            sent += count;
        }
        limited |= self.tx.board.in_flight() >= self.tx.window.cwnd;
        self.after_sending(now, sent, limited, probe);
        sent
    }

    /// Sends up to `most` new segments at once; returns their number.
    fn send_burst(&mut self, now: Instant, most: u32, out: &mut impl Outbox) -> u32 {
        let idle = self.tx.board.is_empty();
        let quiet = self.tx.board.in_flight() == 0;
        let first = self.tx.nxt;
        let mut count = self.send_full_segments(now, most, out);
        while count < most && self.tx.has_unsent() && self.send_one_new(now, count > 0, out) {
            count += 1;
        }
        if count > 0 {
            if quiet {
                self.start_transmission(now);
            }
            if let Some(rate) = &mut self.tx.rate {
                rate.sent(now, count, idle);
            }
            let bytes = self.tx.nxt.min(self.tx.limit) - first.min(self.tx.limit);
            self.end_burst(now, bytes, if bytes > 0 { count } else { 0 }, out);
        }
        count
    }

    /// Whether several segments wait a little longer, so that they leave in one burst of `most`
    /// (`tcp_tso_should_defer`). Sets `limited` if the congestion window is the reason.
    fn defers(&self, now: Instant, most: u32, limited: &mut bool) -> bool {
        let tx = &self.tx;
        let mss = u64::from(self.mss);
        let window = u64::from(tx.window.cwnd.saturating_sub(tx.board.in_flight())) * mss;
        let offered = tx.window_end.saturating_sub(tx.nxt);
        let room = window.min(offered);
        // First of all conditions, because it holds for most bursts.
        if room >= u64::from(most) * mss {
            return false;
        }
        let unsent = tx.limit.saturating_sub(tx.nxt);
        if !self.profile.tso || unsent <= mss || tx.ca >= CaState::Recovery {
            return false;
        }
        let recent = tx.pacing.as_ref().is_some_and(|pacing| pacing.next + MILLISECOND >= now);
        let Some(head) = tx.board.front().filter(|_| recent) else {
            return false;
        };
        let whole = tx.window_end.saturating_sub(tx.una).min(u64::from(tx.window.cwnd) * mss);
        if room >= whole / WINDOW_DIVISOR {
            return false;
        }
        // The next acknowledgement, which will open the window, must be close.
        let srtt = self.rtt.srtt().unwrap_or(Nanos::ZERO);
        let expected = (head.sent + srtt).saturating_since(now);
        if expected > Nanos(srtt.0 / 2).min(MILLISECOND) {
            return false;
        }
        if room > unsent {
            return !tx.is_closing();
        }
        *limited |= window < offered;
        true
    }
}
