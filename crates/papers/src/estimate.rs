//! Measured numbers with their uncertainty.

use gentle_experiment::results::Mean;
use schemars::JsonSchema;
use serde::Serialize;

/// A number with the half-width of its 95 % confidence interval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct Estimate {
    /// The number; `None`: nothing was observed.
    pub value: Option<f64>,
    /// Half-width of the 95 % confidence interval over seeds (Student's t); `None` with fewer than two seeds, or for a
    /// number without chance in it.
    pub ci95: Option<f64>,
}

impl Estimate {
    /// A number without chance in it, such as the result of a formula.
    pub fn exact(value: f64) -> Estimate {
        Estimate {
            value: Some(value).filter(|value| value.is_finite()),
            ci95: None,
        }
    }

    /// The mean of `values`, one per seed. Values that are missing or not finite are left out.
    pub fn over(values: impl IntoIterator<Item = Option<f64>>) -> Estimate {
        Mean::over(
            values
                .into_iter()
                .flatten()
                .filter(|value| value.is_finite()),
        )
        .into()
    }

    /// The estimate in another unit: value and interval multiplied by `factor`.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Estimate {
        Estimate {
            value: self.value.map(|value| value * factor),
            ci95: self.ci95.map(|ci95| ci95 * factor.abs()),
        }
    }
}

impl From<Mean> for Estimate {
    fn from(mean: Mean) -> Estimate {
        Estimate {
            value: mean.mean,
            ci95: mean.ci95,
        }
    }
}
