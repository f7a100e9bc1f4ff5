//! The interval of adaptive GSP, computed from the arrivals of a run as the scheme computes it, and as it would be without
//! the scheme's remedy after an overflow (section III.B).

use gentle_aqm::{Spec, Threshold};
use gentle_units::{Instant, Nanos};

/// Distance of the intervals that are kept.
const STEP: Nanos = Nanos::from_millis(10);

/// The interval over a run. It depends only on the arrivals and on the queue, so no scheme has to report it.
#[derive(Debug, Clone)]
pub(super) struct Intervals {
    /// Threshold, bytes.
    threshold: u64,
    /// The interval without a cumulated time.
    preset: Nanos,
    alpha: u64,
    tau: Nanos,
    max_time: Nanos,
    /// Time of the last arrival.
    last: Instant,
    cumul: Nanos,
    /// The cumulated time without the remedy, since the last overflow from which the queue had recovered before.
    without: Nanos,
    phase: Phase,
    /// Time and cumulated time at the begin of the recovery in progress.
    began: (Instant, Nanos),
    recoveries: Vec<Recovery>,
    /// Times and cumulated times.
    kept: Vec<(Instant, Nanos)>,
}

/// Recovery from an overflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// No overflow so far, or recovery is complete.
    Normal,
    /// The queue has not been empty since the overflow.
    Full,
    /// The queue has not been above the threshold since it was empty.
    Drained,
}

/// A recovery from an overflow that is complete: the queue has been empty and then above the threshold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Recovery {
    /// Time of the overflow.
    pub(super) began: Instant,
    /// The interval at its end without the remedy, divided by the interval at the overflow.
    pub(super) without: f64,
}

impl Intervals {
    /// The intervals of a run under `scheme`; `None`: it is not adaptive GSP with a threshold in bytes.
    pub(super) fn of(scheme: &Spec) -> Option<Intervals> {
        let options = scheme.options();
        if scheme.scheme().name != "gsp" || options.choice("mode") != "adaptive" {
            return None;
        }
        let Threshold::Bytes(threshold) = options.threshold("threshold") else {
            return None;
        };
        let preset = options.time("interval");
        let tau = options.given_time("tau").unwrap_or(preset * 5);
        Some(Intervals {
            threshold,
            preset,
            alpha: options.count("alpha"),
            tau,
            max_time: options.given_time("maxtime").unwrap_or(tau * 99),
            last: Instant::ZERO,
            cumul: Nanos::ZERO,
            without: Nanos::ZERO,
            phase: Phase::Normal,
            began: (Instant::ZERO, Nanos::ZERO),
            recoveries: Vec::new(),
            kept: Vec::new(),
        })
    }

    /// A packet arrives at a queue of `backlog` bytes.
    pub(super) fn arrives(&mut self, now: Instant, backlog: u64) {
        let span = now.saturating_since(self.last);
        self.last = now;
        let above = backlog > self.threshold;
        match self.phase {
            Phase::Full if backlog == 0 => self.phase = Phase::Drained,
            Phase::Drained if above => {
                self.phase = Phase::Normal;
                let (began, cumul) = self.began;
                self.recoveries.push(Recovery { began, without: self.interval(self.without) / self.interval(cumul) });
            }
            _ => {}
        }
        if above {
            self.cumul = (self.cumul + span * self.alpha).min(self.max_time);
            self.without = (self.without + span * self.alpha).min(self.max_time);
        } else {
            if self.phase == Phase::Normal {
                self.cumul = self.cumul.saturating_sub(span);
            }
            self.without = self.without.saturating_sub(span);
        }
        if (self.kept.last()).is_none_or(|(at, _)| now >= *at + STEP) {
            self.kept.push((now, self.cumul));
        }
    }

    /// The buffer overflows.
    pub(super) fn overflows(&mut self) {
        if self.phase == Phase::Normal {
            self.began = (self.last, self.cumul);
            self.without = self.cumul;
        }
        self.phase = Phase::Full;
    }

    /// The interval with a cumulated time, seconds.
    fn interval(&self, cumul: Nanos) -> f64 {
        let tau = self.tau.as_secs_f64();
        self.preset.as_secs_f64() * tau / (tau + cumul.as_secs_f64())
    }

    /// The intervals from `from` to `to` seconds, seconds.
    pub(super) fn between(&self, from: f64, to: f64) -> Vec<f64> {
        let inside = |at: Instant| (from..to).contains(&at.as_secs_f64());
        let kept = self.kept.iter().filter(|(at, _)| inside(*at));
        kept.map(|(_, cumul)| self.interval(*cumul)).collect()
    }

    /// Recoveries that began at `from` seconds or later.
    pub(super) fn recoveries(&self, from: f64) -> impl Iterator<Item = &Recovery> {
        let recoveries = self.recoveries.iter();
        recoveries.filter(move |recovery| recovery.began.as_secs_f64() >= from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn intervals() -> Intervals {
        let spec: Spec = "gsp threshold=1000b".parse().unwrap();
        Intervals::of(&spec).unwrap()
    }

    fn ms(n: u64) -> Instant {
        Instant::from_millis(n)
    }

    #[test]
    fn only_adaptive_gsp_with_a_threshold_in_bytes_has_intervals() {
        for spec in ["gsp threshold=5ms", "gsp mode=basic threshold=9b", "codel"] {
            assert!(Intervals::of(&spec.parse().unwrap()).is_none(), "{spec}");
        }
    }

    #[test]
    fn the_interval_follows_the_formula() {
        let mut intervals = intervals();
        // 500 ms above the threshold count twice: the cumulated time is tau, 1 s.
        intervals.arrives(ms(500), 2000);
        let found = intervals.between(0.0, 1.0);
        assert!((found[0] - 0.1).abs() < 1e-12, "{found:?}");
    }

    #[test]
    fn without_the_remedy_the_interval_grows_after_an_overflow() {
        let mut intervals = intervals();
        intervals.arrives(ms(500), 2000);
        intervals.overflows();
        // Empty for a second: without the remedy nothing is cumulated any more.
        intervals.arrives(ms(1500), 0);
        intervals.arrives(ms(1500), 2000);
        let found: Vec<&Recovery> = intervals.recoveries(0.0).collect();
        let expected = Recovery { began: ms(500), without: 2.0 };
        assert_eq!(found, [&expected]);
        let seen = intervals.between(1.0, 2.0);
        assert!((seen[0] - 0.1).abs() < 1e-12, "{seen:?}");
    }
}
