//! Round-trip time estimation and the retransmission timeout (RTO).

use crate::profile::{Profile, RtoEstimator};
use gentle_units::Nanos;

/// RTT estimator and RTO: RFC 6298, in the arithmetic of the profile's stack.
///
/// Values are scaled as in the kernel (`srtt` times 8, `mdev` times 4), so that shifts round in the same way; the unit
/// is the nanosecond where Linux has microseconds.
#[derive(Debug, Clone)]
pub(crate) struct Rtt {
    /// 8 · SRTT; zero before the first sample.
    srtt8: u64,
    /// 4 · mean deviation.
    mdev4: u64,
    /// Largest `mdev4` of the current round trip (Linux).
    mdev_max: u64,
    /// 4 · RTTVAR, as added to SRTT for the timeout.
    rttvar4: u64,
    /// End of the round trip over which `mdev_max` is taken.
    round_end: u64,
    rto: Nanos,
    /// Last sample and last timeout in whole ticks, to avoid a division when the next ones are equal, which is common.
    sample_ticks: u64,
    rto_ticks: u64,
    /// Minimum round-trip time; `Nanos::MAX` before the first sample.
    min: Nanos,
}

impl Rtt {
    pub(crate) fn new(profile: &Profile) -> Rtt {
        Rtt {
            srtt8: 0,
            mdev4: 0,
            mdev_max: 0,
            rttvar4: 0,
            round_end: 0,
            rto: profile.initial_rto,
            sample_ticks: 0,
            rto_ticks: 0,
            min: Nanos::MAX,
        }
    }

    /// Smoothed round-trip time; `None` before the first sample.
    #[inline]
    pub(crate) fn srtt(&self) -> Option<Nanos> {
        (self.srtt8 > 0).then_some(Nanos(self.srtt8 >> 3))
    }

    #[inline]
    pub(crate) fn min(&self) -> Option<Nanos> {
        (self.min != Nanos::MAX).then_some(self.min)
    }

    #[inline]
    pub(crate) fn rto(&self) -> Nanos {
        self.rto
    }

    /// Lowers the minimum round-trip time to `sample`.
    #[inline]
    pub(crate) fn note_min(&mut self, sample: Nanos) {
        self.min = self.min.min(sample);
    }

    /// Doubles the timeout (RFC 6298, rule 5.5).
    pub(crate) fn back_off(&mut self, profile: &Profile) {
        self.rto = Nanos(self.rto.0.saturating_mul(2)).min(profile.max_rto);
    }

    /// Sets the timeout after a handshake without RTT sample (RFC 6298, rule 5.7).
    pub(crate) fn fall_back(&mut self, profile: &Profile) {
        self.rto = profile.rto_fallback;
        self.mdev4 = profile.rto_fallback.0;
        self.mdev_max = profile.rto_fallback.0;
        self.rttvar4 = profile.rto_fallback.0;
    }

    /// Recomputes the timeout from the estimate, without backoff.
    pub(crate) fn reset_backoff(&mut self, profile: &Profile) {
        if self.srtt8 > 0 {
            self.rto = self.estimate(profile);
        }
    }

    /// Takes an RTT sample. `una` and `nxt` delimit the data in flight: the deviation decays once per round trip.
    pub(crate) fn sample(&mut self, profile: &Profile, sample: Nanos, una: u64, nxt: u64) {
        self.note_min(sample);
        match profile.rto_estimator {
            RtoEstimator::Linux => self.sample_linux(profile, sample, una, nxt),
            RtoEstimator::Rfc6298 => self.sample_rfc(profile, sample),
        }
        self.rto = self.estimate(profile);
    }

    /// `tcp_rtt_estimator` of `net/ipv4/tcp_input.c`: RFC 6298, except that a sudden *decrease* of the RTT raises the
    /// deviation by 1/32 only, and that the timeout uses the largest deviation in a round trip, which decays once per
    /// round trip by a quarter of the difference.
    fn sample_linux(&mut self, profile: &Profile, sample: Nanos, una: u64, nxt: u64) {
        let floor = profile.min_rto.0;
        let m = sample.0.max(1);
        if self.srtt8 == 0 {
            self.srtt8 = m << 3;
            self.mdev4 = m << 1;
            self.rttvar4 = self.mdev4.max(floor);
            self.mdev_max = self.rttvar4;
            self.round_end = nxt;
            return;
        }
        let error = m as i64 - (self.srtt8 >> 3) as i64;
        self.srtt8 = (self.srtt8 as i64 + error).max(1) as u64;
        let deviation = if error < 0 {
            let beyond = -error - (self.mdev4 >> 2) as i64;
            // A deviation below the mean counts fully, one above only by an eighth: the RTT fell, nothing is late.
            if beyond > 0 { beyond >> 3 } else { beyond }
        } else {
            error - (self.mdev4 >> 2) as i64
        };
        self.mdev4 = (self.mdev4 as i64 + deviation).max(0) as u64;
        if self.mdev4 > self.mdev_max {
            self.mdev_max = self.mdev4;
            self.rttvar4 = self.rttvar4.max(self.mdev_max);
        }
        if una > self.round_end {
            if self.mdev_max < self.rttvar4 {
                self.rttvar4 -= (self.rttvar4 - self.mdev_max) >> 2;
            }
            self.round_end = nxt;
            self.mdev_max = floor;
        }
    }

    /// RFC 6298, rules 2.2 and 2.3 (alpha 1/8, beta 1/4), on a clock with the profile's granularity.
    fn sample_rfc(&mut self, profile: &Profile, sample: Nanos) {
        let tick = profile.timer_granularity.0;
        // A round trip shorter than a tick counts as one tick (`tcp_xmit_timer`, FreeBSD; `t_rtt_` of ns-2).
        round_up(&mut self.sample_ticks, sample.0.max(1), tick);
        let m = self.sample_ticks;
        if self.srtt8 == 0 {
            self.srtt8 = m << 3;
            self.mdev4 = m << 1;
        } else {
            let error = m as i64 - (self.srtt8 >> 3) as i64;
            self.srtt8 = (self.srtt8 as i64 + error).max(1) as u64;
            self.mdev4 = (self.mdev4 as i64 + error.abs() - (self.mdev4 >> 2) as i64).max(0) as u64;
        }
        self.rttvar4 = self.mdev4;
    }

    #[inline]
    fn estimate(&mut self, profile: &Profile) -> Nanos {
        let tick = profile.timer_granularity.0;
        let raw = (self.srtt8 >> 3) + self.rttvar4 + profile.rto_slop.0;
        round_up(&mut self.rto_ticks, raw, tick);
        // For Linux, RTTVAR includes the lower bound, so the clamp has no effect.
        Nanos(self.rto_ticks).max(profile.min_rto).min(profile.max_rto)
    }
}

/// Sets `ticks` to `raw` rounded up to a multiple of `tick`; skips the division if `ticks` already has that value.
#[inline]
fn round_up(ticks: &mut u64, raw: u64, tick: u64) {
    if ticks.wrapping_sub(raw) >= tick {
        *ticks = raw.div_ceil(tick) * tick;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Nanos {
        Nanos::from_millis(n)
    }

    #[test]
    fn rfc_6298_by_hand() {
        let mut profile = Profile::freebsd_9_3();
        profile.rto_slop = Nanos::ZERO;
        profile.min_rto = ms(1);
        let mut rtt = Rtt::new(&profile);
        assert_eq!(rtt.rto(), Nanos::from_secs(3));
        // First sample R: SRTT = R, RTTVAR = R/2, RTO = R + 4·R/2 = 3·R.
        rtt.sample(&profile, ms(100), 1, 1);
        assert_eq!(rtt.srtt(), Some(ms(100)));
        assert_eq!(rtt.rto(), ms(300));
        // R' = 180: RTTVAR = 3/4·50 + 1/4·80 = 57.5; SRTT = 7/8·100 + 180/8 = 110; RTO = 340.
        rtt.sample(&profile, ms(180), 1, 1);
        assert_eq!(rtt.srtt(), Some(ms(110)));
        assert_eq!(rtt.rto(), ms(340));
        rtt.back_off(&profile);
        assert_eq!(rtt.rto(), ms(680));
        rtt.reset_backoff(&profile);
        assert_eq!(rtt.rto(), ms(340));
    }

    #[test]
    fn freebsd_adds_its_slop() {
        let profile = Profile::freebsd_9_3();
        let mut rtt = Rtt::new(&profile);
        rtt.sample(&profile, ms(100), 1, 1);
        assert_eq!(rtt.rto(), ms(500));
    }

    #[test]
    fn linux_keeps_200_ms_above_the_round_trip() {
        let profile = Profile::linux_7_2();
        let mut rtt = Rtt::new(&profile);
        let mut una = 1;
        for _ in 0..100 {
            una += 10;
            rtt.sample(&profile, ms(50), una, una + 10);
        }
        assert_eq!(rtt.rto(), ms(250));
        assert_eq!(rtt.min(), Some(ms(50)));
        // A rise of the RTT raises the deviation at once, a fall only by 1/8 of the excess over the deviation.
        rtt.sample(&profile, ms(450), una, una + 10);
        assert!(rtt.rto() >= ms(500) && rtt.rto() <= ms(501), "{}", rtt.rto());
    }

    #[test]
    fn the_timeout_is_bounded() {
        let profile = Profile::linux_7_2();
        let mut rtt = Rtt::new(&profile);
        for _ in 0..20 {
            rtt.back_off(&profile);
        }
        assert_eq!(rtt.rto(), Nanos::from_secs(120));
    }
}
