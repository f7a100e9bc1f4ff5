//! Estimator of handshake times: RFC 6298, section 2, plus a tail of the recent handshake times.

use gentle_units::Nanos;

/// Smoothed round-trip time and round-trip time variation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Estimate {
    pub(crate) srtt: Nanos,
    pub(crate) rttvar: Nanos,
}

/// Minimum margin: the clock granularity G of RFC 6298, here the scheduling delay of both ends.
const GRANULARITY: Nanos = Nanos::from_millis(10);

impl Estimate {
    /// Initial estimate: RFC 6298, (2.2).
    pub(crate) fn first(sample: Nanos) -> Estimate {
        Estimate { srtt: sample, rttvar: Nanos(sample.0 / 2) }
    }

    /// Update of the estimate: RFC 6298, (2.3), with alpha 1/8 and beta 1/4.
    pub(crate) fn add(&mut self, sample: Nanos) {
        let (srtt, rttvar) = (u128::from(self.srtt.0), u128::from(self.rttvar.0));
        let difference = u128::from(self.srtt.0.abs_diff(sample.0));
        // The weighted mean of two `u64` values fits in `u64`.
        self.rttvar = Nanos(((3 * rttvar + difference) / 4) as u64);
        self.srtt = Nanos(((7 * srtt + u128::from(sample.0)) / 8) as u64);
    }

    /// Timeout of the mean plus `k` variations; RFC 6298 has 4.
    fn timeout(&self, k: u64) -> Nanos {
        let margin = Nanos(self.rttvar.0.saturating_mul(k));
        self.srtt + margin.max(GRANULARITY)
    }
}

/// Handshake times learned for a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Learned {
    pub(crate) estimate: Estimate,
    /// Time that at most one in a hundred recent handshakes exceeded. The variation of RFC 6298 forgets a slow phase
    /// within ten handshakes; a path whose queue fills occasionally would get spurious copies each time.
    pub(crate) tail: Nanos,
}

impl Learned {
    /// Longest expected time to an answer; `k` is the number of variations added to the mean.
    pub(crate) fn timeout(&self, k: u64) -> Nanos {
        self.estimate.timeout(k).max(self.tail)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_arithmetic_of_the_rfc() {
        let ms = Nanos::from_millis;
        let mut estimate = Estimate::first(ms(100));
        assert_eq!(estimate.timeout(4), ms(300));
        estimate.add(ms(180));
        assert_eq!(estimate.rttvar, Nanos::from_micros(57_500));
        assert_eq!(estimate.srtt, ms(110));
        assert_eq!(estimate.timeout(4), ms(340));
    }

    #[test]
    fn a_steady_path_keeps_the_granularity() {
        let mut estimate = Estimate::first(Nanos::from_millis(10));
        for _ in 0..50 {
            estimate.add(Nanos::from_millis(10));
        }
        assert_eq!(estimate.timeout(4), Nanos::from_millis(20));
    }
}
