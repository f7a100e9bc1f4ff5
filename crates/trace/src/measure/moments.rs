//! Mean of times with its confidence interval, in constant memory.

use crate::results::MeanOf;
use gentle_units::Nanos;

/// Number, sum (seconds) and sum of squares.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Moments {
    n: u64,
    sum: f64,
    squares: f64,
}

/// Half-width of a 95 % confidence interval, standard errors.
const Z95: f64 = 1.959_964;

impl Moments {
    /// Adds a time.
    pub(super) fn record(&mut self, delay: Nanos) {
        self.n += 1;
        // Most connections have no delay.
        if delay > Nanos::ZERO {
            let value = delay.as_secs_f64();
            self.sum += value;
            self.squares += value * value;
        }
    }

    /// Moments of both together.
    pub(super) fn plus(self, other: Moments) -> Moments {
        Moments {
            n: self.n + other.n,
            sum: self.sum + other.sum,
            squares: self.squares + other.squares,
        }
    }

    /// Mean with its confidence interval.
    pub(super) fn mean(self) -> MeanOf {
        let n = self.n as f64;
        let mean = (self.n > 0).then(|| self.sum / n);
        let ci95 = (self.n > 1).then(|| {
            let variance = (self.squares - self.sum * self.sum / n).max(0.0) / (n - 1.0);
            Z95 * (variance / n).sqrt()
        });
        MeanOf {
            n: self.n,
            mean,
            ci95,
        }
    }
}
