//! Arrival-time filter: a Kalman filter for the trend of the one-way queueing delay (section 5.3).

use super::groups::Change;
use std::collections::VecDeque;

/// Variance of the state noise q and initial system error covariance e(0) (table 1).
const STATE_NOISE: f64 = 1e-3;
const FIRST_ERROR: f64 = 0.1;
/// Coefficient chi for the variance of the measurement noise: within the range of table 1.
const CHI: f64 = 0.01;
/// Variance of the measurement noise at the start, ms², as in WebRTC (`OveruseEstimator`); the draft has none.
const FIRST_VARIANCE: f64 = 50.0;
/// Number of groups for the highest rate of groups, K, and for the growth of the trend.
const HISTORY: usize = 60;

#[derive(Debug)]
pub(super) struct Filter {
    /// Mean change of the queueing delay from group to group, m(i), ms.
    mean: f64,
    error: f64,
    variance: f64,
    /// Times between departures of the last groups, ms.
    periods: VecDeque<f64>,
}

impl Default for Filter {
    fn default() -> Filter {
        Filter { mean: 0.0, error: FIRST_ERROR, variance: FIRST_VARIANCE, periods: VecDeque::with_capacity(HISTORY) }
    }
}

impl Filter {
    /// Takes the difference between two groups. Returns the trend over the groups in memory: m(i) times their number,
    /// as WebRTC compares it with the threshold (`OveruseDetector::Detect`). The draft compares m(i) itself, with the
    /// same threshold, and so misses a call at 30 frames per second that fills a queue at less than a third of its rate.
    pub(super) fn update(&mut self, change: &Change) -> f64 {
        if self.periods.len() == HISTORY {
            self.periods.pop_front();
        }
        self.periods.push_back(change.departure_ms.max(0.1));
        let shortest = self.periods.iter().copied().fold(f64::MAX, f64::min);
        // 30 / (1000 f_max), with f_max the highest rate of groups per millisecond.
        let alpha = libm::pow(1.0 - CHI, 30.0 * shortest / 1000.0);
        let limit = 3.0 * self.variance.sqrt();
        let innovation = (change.delay_ms - self.mean).clamp(-limit, limit);
        self.variance = (alpha * self.variance + (1.0 - alpha) * innovation * innovation).max(1.0);
        let predicted = self.error + STATE_NOISE;
        let gain = predicted / (self.variance + predicted);
        self.mean += innovation * gain;
        self.error = (1.0 - gain) * predicted;
        self.mean * self.periods.len() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_growing_queue_has_a_positive_trend_and_noise_has_none() {
        let mut filter = Filter::default();
        let mut last = 0.0;
        for number in 0..300 {
            let delay_ms = if number % 2 == 0 { 4.0 } else { -4.0 };
            last = filter.update(&Change { departure_ms: 33.0, delay_ms });
        }
        assert!(last.abs() < 12.5, "{last}");
        for _ in 0..60 {
            last = filter.update(&Change { departure_ms: 33.0, delay_ms: 3.0 });
        }
        assert!(last > 12.5, "{last}");
    }
}
