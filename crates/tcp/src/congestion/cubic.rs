//! CUBIC: RFC 9438, in the fixed-point arithmetic of `net/ipv4/tcp_cubic.c`.

use super::hystart::HyStart;
use super::{Controller, Progress, Window};
use crate::profile::Profile;
use gentle_units::{Instant, Nanos};

/// β of RFC 9438, section 4.6, in units of 1/1024: 0.7.
const BETA: u64 = 717;
const BETA_ONE: u64 = 1024;
/// Time runs in units of 2⁻¹⁰ s (`BICTCP_HZ`).
const HZ_SHIFT: u32 = 10;
/// C of RFC 9438, section 5.1: 0.4, as 410/1024.
const C: u64 = 410;
/// 1/C for K³ = (W_max − cwnd)/C in units of (2⁻¹⁰ s)³.
const CUBE_FACTOR: u64 = (1 << (10 + 3 * HZ_SHIFT)) / C;
/// 8·(1+β)/(3·(1−β)): delivered segments, times 8, that earn the Reno-friendly window one segment, per segment of
/// window (RFC 9438, section 4.3, solved for acknowledgements).
const FRIENDLY: u64 = 8 * (BETA_ONE + BETA) / 3 / (BETA_ONE - BETA);
/// The curve is evaluated at most this often for an unchanged window: HZ/32 in Linux.
const RECOMPUTE: Nanos = Nanos(31_250_000);

#[derive(Debug, Clone)]
pub(crate) struct Cubic {
    hystart: Option<HyStart>,
    /// Segments delivered per segment of growth.
    per: u32,
    /// W_max.
    last_max: u32,
    last_cwnd: u32,
    last_time: Instant,
    /// The plateau of the curve, and the time from the epoch to it in 2⁻¹⁰ s.
    origin: u32,
    k: u64,
    /// Start of the epoch: the first acknowledgement after a reduction.
    epoch: Option<Instant>,
    /// Shortest round trip; `Nanos::MAX` before the first.
    min_rtt: Nanos,
    /// Reno-friendly estimate W_est, and the segments delivered towards its next increment.
    friendly: u32,
    delivered: u32,
}

impl Cubic {
    fn started(hystart: Option<HyStart>) -> Cubic {
        Cubic {
            hystart,
            per: 0,
            last_max: 0,
            last_cwnd: 0,
            last_time: Instant::ZERO,
            origin: 0,
            k: 0,
            epoch: None,
            min_rtt: Nanos::MAX,
            friendly: 0,
            delivered: 0,
        }
    }

    fn update(&mut self, cwnd: u32, now: Instant, acked: u32) {
        self.delivered += acked;
        let fresh = cwnd == self.last_cwnd && now.saturating_since(self.last_time) <= RECOMPUTE;
        if fresh && self.last_time > Instant::ZERO {
            return;
        }
        // Within one tick of the curve's clock only the friendly window moves.
        let same_tick = self.epoch.is_some() && now == self.last_time;
        self.last_cwnd = cwnd;
        self.last_time = now;
        if !same_tick {
            self.per = self.curve(cwnd, now, acked);
        }
        self.be_friendly(cwnd);
        // Not faster than 1.5 times a round trip, slow start's half (RFC 9438, section 4.4).
        self.per = self.per.max(2);
    }

    /// Number of delivered segments per segment of growth with which the window reaches W_cubic(t + RTT).
    fn curve(&mut self, cwnd: u32, now: Instant, acked: u32) -> u32 {
        let epoch = match self.epoch {
            Some(epoch) => epoch,
            None => {
                self.epoch = Some(now);
                self.delivered = acked;
                self.friendly = cwnd;
                if self.last_max <= cwnd {
                    self.k = 0;
                    self.origin = cwnd;
                } else {
                    self.k = cube_root(CUBE_FACTOR * u64::from(self.last_max - cwnd));
                    self.origin = self.last_max;
                }
                now
            }
        };
        let min_rtt = if self.min_rtt == Nanos::MAX { Nanos::ZERO } else { self.min_rtt };
        let t = now.saturating_since(epoch) + min_rtt;
        let t = (u128::from(t.0) << HZ_SHIFT) / 1_000_000_000;
        let offset = u128::from(self.k).abs_diff(t);
        // 2^18 units are four minutes; beyond that the window is far above anything a path carries.
        let offset = offset.min(1 << 18) as u64;
        let delta = ((u128::from(C) * u128::from(offset).pow(3)) >> (10 + 3 * HZ_SHIFT)) as u32;
        let target =
            if t < u128::from(self.k) { self.origin.saturating_sub(delta) } else { self.origin.saturating_add(delta) };
        let per = if target > cwnd { cwnd / (target - cwnd) } else { cwnd.saturating_mul(100) };
        // Before the first loss nothing is known about a plateau: at least 5 % a round trip.
        if self.last_max == 0 { per.min(20) } else { per }
    }

    /// Lets the window grow at least as fast as Reno's (RFC 9438, section 4.3).
    fn be_friendly(&mut self, cwnd: u32) {
        let step = ((u64::from(cwnd) * FRIENDLY) >> 3).max(1) as u32;
        self.friendly += self.delivered / step;
        self.delivered %= step;
        if self.friendly > cwnd {
            self.per = self.per.min(cwnd / (self.friendly - cwnd));
        }
    }
}

impl Controller for Cubic {
    fn new(profile: &Profile, now: Instant) -> Cubic {
        let applies = profile.hystart && !profile.hystart_plus;
        Cubic::started(applies.then(|| HyStart::new(now, profile.pacing)))
    }

    /// Discards all measurements (`bictcp_reset`, `bictcp_hystart_reset`).
    fn on_timeout(&mut self, _: &mut Window, now: Instant) {
        *self = Cubic::started(self.hystart.as_ref().map(|old| old.restarted(now)));
    }

    /// Excludes idle time from the epoch (RFC 9438, section 5.8), which does not begin in the future
    /// (`cubictcp_cwnd_event_tx_start`).
    fn on_restart(&mut self, now: Instant, idle: Nanos) {
        if let Some(epoch) = &mut self.epoch {
            *epoch = (*epoch + idle).min(now);
        }
    }

    #[inline]
    fn on_rtt(&mut self, window: &mut Window, progress: &Progress, rtt: Nanos, ack_delay: impl FnOnce() -> Nanos) {
        // Delays right after a reduction still belong to the queue that caused it.
        if let Some(epoch) = self.epoch
            && progress.now.saturating_since(epoch) < Nanos::from_secs(1)
        {
            return;
        }
        let rtt = rtt.max(Nanos::from_micros(1));
        self.min_rtt = self.min_rtt.min(rtt);
        if let Some(hystart) = &mut self.hystart
            && window.in_slow_start()
            && hystart.ends_slow_start(window.cwnd, progress, rtt, self.min_rtt, ack_delay)
        {
            window.ssthresh = window.cwnd;
        }
    }

    /// Follows the cubic curve (RFC 9438, section 4.2).
    #[inline]
    fn on_ack(&mut self, window: &mut Window, now: Instant, acked: u32) {
        self.update(window.cwnd, now, acked);
        window.additive_increase(self.per, acked);
    }

    /// Multiplicative decrease and fast convergence (RFC 9438, sections 4.6 and 4.7).
    fn on_loss(&mut self, cwnd: u32) -> u32 {
        self.epoch = None;
        self.last_max =
            if cwnd < self.last_max { (u64::from(cwnd) * (BETA_ONE + BETA) / (2 * BETA_ONE)) as u32 } else { cwnd };
        ((u64::from(cwnd) * BETA / BETA_ONE) as u32).max(2)
    }
}

/// The integer cube root, rounded down, by Newton's method from above.
fn cube_root(n: u64) -> u64 {
    if n == 0 {
        return 0;
    }
    let mut root = 1 << (64 - n.leading_zeros()).div_ceil(3);
    loop {
        let next = (2 * root + n / (root * root)) / 3;
        if next >= root {
            return root;
        }
        root = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cube_roots() {
        for n in [0u64, 1, 7, 8, 26, 27, 1_000_000, 999_999, 1 << 40] {
            let root = cube_root(n);
            assert!(root.pow(3) <= n && (root + 1).pow(3) > n, "{n}: {root}");
        }
    }

    #[test]
    fn a_pause_moves_the_epoch_and_not_into_the_future() {
        let mut cubic = Cubic::started(None);
        let s = Nanos::from_secs;
        cubic.on_restart(Instant::from_secs(9), s(1));
        assert_eq!(cubic.epoch, None);
        cubic.epoch = Some(Instant::from_secs(10));
        cubic.on_restart(Instant::from_secs(14), s(3));
        assert_eq!(cubic.epoch, Some(Instant::from_secs(13)));
        // The last data left before the acknowledgement that began the epoch.
        cubic.on_restart(Instant::from_secs(15), s(4));
        assert_eq!(cubic.epoch, Some(Instant::from_secs(15)));
    }

    /// RFC 9438, figures 1 and 2: W(t) = C·(t − K)³ + W_max, K = cbrt(W_max·(1 − β)/C).
    #[test]
    fn the_window_follows_the_formula() {
        let mut cubic = Cubic::started(None);
        let rtt = Nanos::from_millis(100);
        let start = Instant::from_secs(1);
        cubic.min_rtt = rtt;
        let mut window = Window { cwnd: 1000, credit: 0, ssthresh: 1000 };
        window.ssthresh = cubic.on_loss(window.cwnd);
        window.cwnd = window.ssthresh;
        assert_eq!(window.cwnd, 700);
        let k = libm::cbrt(1000.0 * 0.3 / 0.4);
        let mut now = start;
        while now < Instant::from_secs(16) {
            let acks = window.cwnd;
            for i in 0..acks {
                cubic.on_ack(&mut window, now + Nanos(rtt.0 * u64::from(i) / u64::from(acks)), 1);
            }
            now += rtt;
            let t = (now - start).as_secs_f64();
            let expected = 0.4 * libm::pow(t - k, 3.0) + 1000.0;
            let error = (f64::from(window.cwnd) - expected).abs() / expected;
            assert!(error < 0.02, "t {t}: {} instead of {expected}", window.cwnd);
        }
    }

    #[test]
    fn a_smaller_peak_gives_way() {
        let mut cubic = Cubic::started(None);
        assert_eq!(cubic.on_loss(1000), 700);
        assert_eq!(cubic.on_loss(800), 560);
        // Fast convergence: W_max = cwnd·(1 + β)/2.
        assert_eq!(cubic.last_max, 680);
    }

    #[test]
    fn small_windows_grow_like_reno() {
        let mut cubic = Cubic::started(None);
        cubic.min_rtt = Nanos::from_millis(10);
        let mut window = Window { cwnd: 20, credit: 0, ssthresh: 20 };
        window.ssthresh = cubic.on_loss(window.cwnd);
        window.cwnd = window.ssthresh;
        let mut now = Instant::from_secs(1);
        for _ in 0..20 {
            for _ in 0..window.cwnd {
                cubic.on_ack(&mut window, now, 1);
                now += Nanos::from_micros(500);
            }
        }
        // W_est grows by 3(1−β)/(1+β) = 0.53 a round trip; the cubic curve alone would still stand at 20.
        assert!((22..=26).contains(&window.cwnd), "{}", window.cwnd);
    }
}
