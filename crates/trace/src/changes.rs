//! Changes from one analysis to another, as before and after a repair, with confidence intervals.

use crate::results::{Analysis, CauseKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Two analyses and what changed; the schema of `gentle analyze --against --json`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Against {
    /// Version of the JSON schema, [`SCHEMA`](crate::results::SCHEMA).
    pub version: u32,
    /// Analysis of the first captures.
    pub before: Analysis,
    /// Analysis of the capture of `--against`.
    pub after: Analysis,
    /// Changes of shares and times.
    pub changes: Vec<Change>,
}

/// Change of a share of attempts, or of a time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// Quantity that changed.
    pub quantity: Changed,
    /// Value before; `None` without an observation.
    pub before: Option<f64>,
    /// Value after.
    pub after: Option<f64>,
    /// 95 % confidence interval of the difference, after minus before. It treats attempts as independent, so that it is too
    /// narrow for losses that come together. `None` without enough observations, and for the median.
    pub interval: Option<[f64; 2]>,
}

impl Change {
    /// Difference, after minus before.
    pub fn difference(&self) -> Option<f64> {
        Some(self.after? - self.before?)
    }

    /// Whether the interval excludes zero.
    pub fn is_clear(&self) -> bool {
        self.interval.is_some_and(|[low, high]| low > 0.0 || high < 0.0)
    }
}

/// Quantities that are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "of", content = "cause")]
pub enum Changed {
    /// Attempts with a handshake loss, as a fraction of answered attempts.
    HandshakeLoss,
    /// Attempts that were not completed, as a fraction of all attempts.
    NotCompleted,
    /// Attempts slow or failed by this cause, as a fraction of all attempts.
    Cause(CauseKind),
    /// Mean time that completed attempts waited because of handshake loss, seconds.
    Wait,
    /// Median round-trip time of handshakes, seconds.
    RoundTrip,
}

/// Two-sided 95 % quantile of the normal distribution.
const Z: f64 = 1.959_964;

/// Count of `of`.
#[derive(Clone, Copy)]
struct Part {
    count: u64,
    of: u64,
}

impl Part {
    fn share(self) -> Option<f64> {
        (self.of > 0).then(|| self.count as f64 / self.of as f64)
    }

    /// 95 % interval of the share (Wilson, "Probable inference, the law of succession, and statistical inference", 1927).
    fn wilson(self) -> [f64; 2] {
        let (n, p) = (self.of as f64, self.count as f64 / self.of as f64);
        let square = Z * Z;
        let middle = p + square / (2.0 * n);
        let spread = Z * (p * (1.0 - p) / n + square / (4.0 * n * n)).sqrt();
        [middle - spread, middle + spread].map(|end| (end / (1.0 + square / n)).clamp(0.0, 1.0))
    }
}

/// Changes from `before` to `after`.
pub fn changes(before: &Analysis, after: &Analysis) -> Vec<Change> {
    let both = [before, after];
    let part = |quantity, of: &dyn Fn(&Analysis) -> Part| share(quantity, both.map(of));
    let mut changes = vec![
        part(Changed::HandshakeLoss, &|it| Part { count: it.outcomes.with_loss, of: it.outcomes.answered }),
        part(Changed::NotCompleted, &|it| {
            let of = it.handshakes.attempts.saturating_sub(it.outcomes.seen_twice);
            Part { count: of.saturating_sub(it.outcomes.completed), of }
        }),
    ];
    let kinds = both.iter().flat_map(|it| &it.causes).map(|cause| cause.kind);
    for kind in kinds.collect::<BTreeSet<CauseKind>>() {
        let of_kind = |it: &Analysis| {
            let mut causes = it.causes.iter().filter(|cause| cause.kind == kind);
            Part { count: causes.next().map_or(0, |cause| cause.group.attempts), of: it.handshakes.attempts }
        };
        changes.push(part(Changed::Cause(kind), &of_kind));
    }
    changes.push(wait(both));
    let [before, after] = both.map(|it| it.handshakes.rtt_s.both.p50);
    changes.push(Change { quantity: Changed::RoundTrip, before, after, interval: None });
    changes
}

/// Change of a share, with Newcombe's interval ("Interval estimation for the difference between independent proportions",
/// 1998, method 10).
fn share(quantity: Changed, [before, after]: [Part; 2]) -> Change {
    let interval = before.share().zip(after.share()).map(|(p, q)| {
        let ([p_low, p_high], [q_low, q_high]) = (before.wilson(), after.wilson());
        let root = |a: f64, b: f64| (a * a + b * b).sqrt();
        [q - p - root(q - q_low, p_high - p), q - p + root(q_high - q, p - p_low)]
    });
    Change { quantity, before: before.share(), after: after.share(), interval }
}

/// Change of the mean wait for handshake loss.
fn wait(both: [&Analysis; 2]) -> Change {
    let of = |it: &Analysis| {
        let measured = it.expected_cost.as_ref().map(|cost| (cost.measured_wait_s.mean, cost.measured_wait_s.ci95));
        match (measured, it.outcomes.completed) {
            (Some(measured), _) => measured,
            // Nobody waited.
            (None, 1..) => (Some(0.0), Some(0.0)),
            (None, 0) => (None, None),
        }
    };
    let [(before, of_before), (after, of_after)] = both.map(of);
    let ends = before.zip(after).zip(of_before.zip(of_after));
    let interval = ends.map(|((before, after), (a, b))| {
        let half = (a * a + b * b).sqrt();
        [after - before - half, after - before + half]
    });
    Change { quantity: Changed::Wait, before, after, interval: interval.filter(|[low, high]| low < high) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn intervals_are_those_of_newcombe() {
        // Table II of the paper: 56/70 and 48/80 (difference 0.2, 0.0524 to 0.3339), 9/10 and 3/10, 0/10 and 0/10.
        let of = |a, m, b, n| {
            let parts = [Part { count: b, of: n }, Part { count: a, of: m }];
            share(Changed::NotCompleted, parts).interval.unwrap().map(|end| (end * 1e4).round() / 1e4)
        };
        assert_eq!(of(56, 70, 48, 80), [0.0524, 0.3339]);
        assert_eq!(of(9, 10, 3, 10), [0.1705, 0.8090]);
        assert_eq!(of(0, 10, 0, 10), [-0.2775, 0.2775]);
    }

    proptest! {
        #[test]
        fn the_interval_contains_the_difference_and_changes_its_sign_with_the_order(
            m in 1_u64..5_000, n in 1_u64..5_000, a in 0.0..=1.0_f64, b in 0.0..=1.0_f64,
        ) {
            let before = Part { count: (m as f64 * a) as u64, of: m };
            let after = Part { count: (n as f64 * b) as u64, of: n };
            let change = share(Changed::HandshakeLoss, [before, after]);
            let [low, high] = change.interval.unwrap();
            let difference = change.difference().unwrap();
            prop_assert!(low <= difference + 1e-12 && difference <= high + 1e-12, "{change:?}");
            prop_assert!(low >= -1.0 - 1e-9 && high <= 1.0 + 1e-9);
            let [back_low, back_high] = share(Changed::HandshakeLoss, [after, before]).interval.unwrap();
            prop_assert!((back_low + high).abs() < 1e-9 && (back_high + low).abs() < 1e-9);
        }
    }
}
