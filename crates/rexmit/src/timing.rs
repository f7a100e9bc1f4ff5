//! Delays after which copies are sent.

use crate::estimate::Learned;
use gentle_units::Nanos;
use rand::RngExt;

/// Parameters of the delays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// Fixed delay, as in the tool of handshake-2009; `None`: delay learned for the path.
    pub fixed: Option<Nanos>,
    /// Delay for a path without an estimate.
    pub initial: Nanos,
    /// Lower bound of a learned delay.
    pub min: Nanos,
    /// Upper bound of every delay.
    pub max: Nanos,
    /// Factor between the delays of consecutive copies, 1 to 8.
    pub backoff: u32,
    /// Maximum random extension of a delay, 0 to 100 %, so that packets lost together are not retransmitted together.
    pub jitter_percent: u8,
    /// Whether the engine runs at the edge of a network: twice the variation, at least [`Timing::EDGE_MIN`], and a
    /// longer learned delay overrides a fixed one.
    pub edge: bool,
}

impl Timing {
    /// Learned delays. The first handshake of a path waits a little less than the initial RTO of one second of today's
    /// stacks (RFC 6298, 2.1), and longer than a handshake over a satellite takes.
    pub const LEARNED: Timing = Timing {
        fixed: None,
        initial: Nanos::from_millis(800),
        min: Nanos::from_millis(20),
        max: Nanos::from_secs(3),
        backoff: 2,
        jitter_percent: 10,
        edge: false,
    };

    /// Fixed delay without backoff and jitter, as in the tool of handshake-2009, section 4: its copies are evenly
    /// spaced.
    pub const fn fixed(delay: Nanos) -> Timing {
        Timing { fixed: Some(delay), backoff: 1, jitter_percent: 0, ..Timing::LEARNED }
    }

    /// Lower bound of the delay at the edge, where the paths of many different hosts are merged into one estimate.
    pub const EDGE_MIN: Nanos = Nanos::from_millis(100);

    /// Whether the delay depends on the estimate of a path.
    pub(crate) fn is_learned(&self) -> bool {
        self.fixed.is_none() || self.edge
    }

    /// Longest expected time to an answer, on a path with an estimate.
    pub(crate) fn timeout(&self, learned: &Learned) -> Nanos {
        learned.timeout(if self.edge { 8 } else { 4 })
    }

    /// Delay of copy `number` (from 0) after the previous packet, without jitter. `backoffs` is the number of times
    /// that the delay of the path has been doubled.
    pub(crate) fn delay(&self, learned: Option<Learned>, backoffs: u32, number: u32) -> Nanos {
        let least = match self.edge {
            false => self.min,
            true => self.min.max(Timing::EDGE_MIN),
        };
        let path_delay = || {
            let timeout = learned.map_or(self.initial, |learned| self.timeout(&learned));
            Nanos(timeout.0.saturating_mul(1 << backoffs.min(16))).max(least)
        };
        let delay = match self.fixed {
            Some(fixed) if self.edge && learned.is_some() => fixed.max(path_delay()),
            Some(fixed) => fixed,
            None => path_delay(),
        };
        let factor = u64::from(self.backoff).saturating_pow(number);
        Nanos(delay.0.saturating_mul(factor)).min(self.max)
    }

    /// Delay with a random extension.
    pub(crate) fn jitter(&self, delay: Nanos, rng: &mut impl RngExt) -> Nanos {
        match delay.0 / 100 * u64::from(self.jitter_percent) {
            0 => delay,
            most => delay + Nanos(rng.random_range(0..=most)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::Estimate;
    use rand::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    const TIMING: Timing = Timing { jitter_percent: 0, ..Timing::LEARNED };

    fn delays(timing: &Timing, rtt_ms: Option<u64>, backoffs: u32) -> [u64; 3] {
        let learned = rtt_ms.map(|ms| Learned {
            estimate: Estimate { srtt: Nanos::from_millis(ms), rttvar: Nanos::from_millis(5) },
            tail: Nanos::ZERO,
        });
        [0, 1, 2].map(|n| timing.delay(learned, backoffs, n).as_millis())
    }

    #[test]
    fn a_fixed_delay_is_constant_except_at_the_edge() {
        let paper = Timing::fixed(Nanos::from_millis(200));
        assert_eq!(delays(&paper, Some(900), 3), [200, 200, 200]);
        let edge = Timing { edge: true, ..paper };
        assert_eq!(delays(&edge, None, 0), [200, 200, 200]);
        assert_eq!(delays(&edge, Some(900), 0), [940, 940, 940]);
    }

    #[test]
    fn a_learned_delay_grows_within_its_bounds() {
        assert_eq!(delays(&TIMING, Some(10), 0), [30, 60, 120]);
        assert_eq!(delays(&TIMING, Some(10), 2), [120, 240, 480]);
        assert_eq!(delays(&TIMING, None, 0), [800, 1600, 3000]);
        let edge = Timing { edge: true, ..TIMING };
        assert_eq!(delays(&edge, Some(10), 0), [100, 200, 400]);
    }

    #[test]
    fn the_tail_outlasts_the_variation() {
        let learned = Learned { estimate: Estimate::first(Nanos::from_millis(10)), tail: Nanos::from_millis(300) };
        assert_eq!(TIMING.delay(Some(learned), 0, 0).as_millis(), 300);
        assert_eq!(TIMING.delay(Some(learned), 1, 0).as_millis(), 600);
    }

    #[test]
    fn jitter_only_lengthens() {
        let timing = Timing { jitter_percent: 50, ..TIMING };
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(7);
        let delays: Vec<u64> = (0..200).map(|_| timing.jitter(timing.initial, &mut rng).as_millis()).collect();
        assert!(delays.iter().all(|ms| (800..=1200).contains(ms)));
        assert!(delays.iter().any(|ms| *ms < 850) && delays.iter().any(|ms| *ms > 1150));
    }
}
