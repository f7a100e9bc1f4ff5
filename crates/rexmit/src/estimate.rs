//! How long a handshake takes: RFC 6298, section 2, fed with handshakes, and the longest of the recent ones.

use gentle_units::Nanos;

/// Smoothed round-trip time and its variation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Estimate {
    pub(crate) srtt: Nanos,
    pub(crate) rttvar: Nanos,
}

/// What is added at least: the clock granularity G of RFC 6298, here what schedulers of both ends may take.
const GRANULARITY: Nanos = Nanos::from_millis(10);

impl Estimate {
    /// RFC 6298, (2.2).
    pub(crate) fn first(sample: Nanos) -> Estimate {
        Estimate {
            srtt: sample,
            rttvar: Nanos(sample.0 / 2),
        }
    }

    /// RFC 6298, (2.3): alpha 1/8, beta 1/4.
    pub(crate) fn add(&mut self, sample: Nanos) {
        let (srtt, rttvar) = (u128::from(self.srtt.0), u128::from(self.rttvar.0));
        let difference = u128::from(self.srtt.0.abs_diff(sample.0));
        // A mean of times is a time.
        self.rttvar = Nanos(((3 * rttvar + difference) / 4) as u64);
        self.srtt = Nanos(((7 * srtt + u128::from(sample.0)) / 8) as u64);
    }

    /// The timeout with `k` variations: RFC 6298 has 4.
    fn timeout(&self, k: u64) -> Nanos {
        let margin = Nanos(self.rttvar.0.saturating_mul(k));
        self.srtt.saturating_add(margin.max(GRANULARITY))
    }
}

/// What is known of the handshake times of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Learned {
    pub(crate) estimate: Estimate,
    /// At most one in a hundred recent handshakes took longer. RFC 6298's variation forgets a slow phase within ten
    /// handshakes; a path whose queue fills now and then would see needless copies each time.
    pub(crate) tail: Nanos,
}

impl Learned {
    /// How long an answer may take; `k`: variations that are added to the mean.
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
