//! Mean of times with its confidence interval, in constant memory.

use crate::results::MeanOf;
use crate::sum::sum;
use gentle_units::Nanos;
use serde::{Deserialize, Serialize};

/// Number, sum (nanoseconds) and sum of squares. Integers, so that sums do not depend on the order of their terms.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Moments {
    n: u64,
    sum_ns: u128,
    squares_ns2: u128,
}

/// Half-width of a 95 % confidence interval, standard errors.
const Z95: f64 = 1.959_964;

sum! { Moments { n, sum_ns, squares_ns2 } }

impl Moments {
    /// Adds a time.
    pub(super) fn record(&mut self, delay: Nanos) {
        self.n += 1;
        // Most connections have no delay.
        if delay > Nanos::ZERO {
            let value = u128::from(delay.0);
            self.sum_ns += value;
            self.squares_ns2 = self.squares_ns2.saturating_add(value * value);
        }
    }

    /// Mean with its confidence interval.
    pub(super) fn mean(self) -> MeanOf {
        let n = self.n as f64;
        let sum = self.sum_ns as f64 / 1e9;
        let mean = (self.n > 0).then(|| sum / n);
        let ci95 = (self.n > 1).then(|| {
            let squares = self.squares_ns2 as f64 / 1e18;
            let variance = (squares - sum * sum / n).max(0.0) / (n - 1.0);
            Z95 * (variance / n).sqrt()
        });
        MeanOf { n: self.n, mean, ci95 }
    }
}
