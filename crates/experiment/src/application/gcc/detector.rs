//! Over-use detector with an adaptive threshold (section 5.4).

use super::Usage;
use gentle_units::{Instant, Nanos};

/// Initial threshold del_var_th(0) and its range, ms (table 1, and the text of the section).
const FIRST_THRESHOLD: f64 = 12.5;
const THRESHOLDS: std::ops::RangeInclusive<f64> = 6.0..=600.0;
/// Coefficients of the threshold (table 1: K_u, K_d).
const UP: f64 = 0.01;
const DOWN: f64 = 0.00018;
/// Distance beyond which a trend does not move the threshold, ms.
const LARGEST_STEP: f64 = 15.0;
/// Longest time for which one update moves the threshold, ms, as in WebRTC (`kMaxTimeDeltaMs`).
const LONGEST_UPDATE: f64 = 100.0;
/// Time for which a trend above the threshold lasts before it is over-use (table 1: overuse_time_th).
const OVERUSE_TIME: Nanos = Nanos::from_millis(10);

#[derive(Debug)]
pub(super) struct Detector {
    threshold: f64,
    last_trend: f64,
    last_update: Option<Instant>,
    over_since: Option<Instant>,
}

impl Default for Detector {
    fn default() -> Detector {
        Detector { threshold: FIRST_THRESHOLD, last_trend: 0.0, last_update: None, over_since: None }
    }
}

impl Detector {
    /// Judges the trend of the queueing delay, ms, after a group of packets.
    pub(super) fn update(&mut self, now: Instant, trend: f64) -> Usage {
        let usage = if trend > self.threshold {
            let since = *self.over_since.get_or_insert(now);
            let lasts = now.saturating_since(since) >= OVERUSE_TIME;
            match lasts && trend >= self.last_trend {
                true => Usage::Over,
                false => Usage::Normal,
            }
        } else {
            self.over_since = None;
            match trend < -self.threshold {
                true => Usage::Under,
                false => Usage::Normal,
            }
        };
        self.last_trend = trend;
        self.adapt(now, trend.abs());
        usage
    }

    fn adapt(&mut self, now: Instant, trend: f64) {
        let since = now.saturating_since(self.last_update.replace(now).unwrap_or(now));
        if trend - self.threshold > LARGEST_STEP {
            return;
        }
        let gain = if trend < self.threshold { DOWN } else { UP };
        let span = (since.as_secs_f64() * 1e3).min(LONGEST_UPDATE);
        let moved = self.threshold + span * gain * (trend - self.threshold);
        self.threshold = moved.clamp(*THRESHOLDS.start(), *THRESHOLDS.end());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn over_use_lasts_and_does_not_shrink() {
        let mut detector = Detector::default();
        let at = Instant::from_millis;
        assert_eq!(detector.update(at(0), 5.0), Usage::Normal);
        assert_eq!(detector.update(at(33), 20.0), Usage::Normal);
        assert_eq!(detector.update(at(66), 21.0), Usage::Over);
        assert_eq!(detector.update(at(99), 20.5), Usage::Normal);
        assert_eq!(detector.update(at(132), 0.0), Usage::Normal);
        assert_eq!(detector.update(at(165), -40.0), Usage::Under);
    }

    #[test]
    fn the_threshold_follows_moderate_trends_within_its_range() {
        let mut detector = Detector::default();
        for n in 0..1_000 {
            detector.update(Instant::from_millis(33 * n), detector.threshold + 10.0);
        }
        assert_eq!(detector.threshold, 600.0);
        for n in 1_000..200_000 {
            detector.update(Instant::from_millis(33 * n), 0.0);
        }
        assert_eq!(detector.threshold, 6.0);
        detector.update(Instant::from_secs(10_000), 100.0);
        assert_eq!(detector.threshold, 6.0);
    }
}
