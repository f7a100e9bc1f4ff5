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
    /// Number of seeds with an observation; 0 for a number without chance in it.
    #[serde(skip)]
    pub seeds: u32,
}

impl Estimate {
    /// A number without chance in it, such as the result of a formula.
    pub fn exact(value: f64) -> Estimate {
        Estimate { value: Some(value).filter(|value| value.is_finite()), ci95: None, seeds: 0 }
    }

    /// The mean of `values`, one per seed. Values that are missing or not finite are left out.
    pub fn over(values: impl IntoIterator<Item = Option<f64>>) -> Estimate {
        let values = values.into_iter().flatten();
        let values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
        let seeds = u32::try_from(values.len()).unwrap_or(u32::MAX);
        let Mean { mean, ci95 } = Mean::over(values.into_iter());
        Estimate { value: mean, ci95, seeds }
    }

    /// The estimate with the interval for one of `candidates` that was chosen for its value: wider, so that all of their
    /// intervals contain the truth with a probability of 95 % (Bonferroni).
    #[must_use]
    pub fn one_of(self, candidates: usize) -> Estimate {
        let wider = |ci95: f64| {
            let half_width = |confidence| Mean::half_width(self.seeds as usize, confidence);
            ci95 * half_width(1.0 - 0.05 / candidates as f64) / half_width(0.95)
        };
        match candidates {
            0 | 1 => self,
            _ => Estimate { ci95: self.ci95.map(wider), ..self },
        }
    }

    /// Half-width of the interval if there were `seeds`, at least two, that vary as these do; `None` without an interval.
    pub(crate) fn ci95_with(self, seeds: u32) -> Option<f64> {
        let half_width = |seeds| Mean::half_width(seeds as usize, 0.95);
        match self.seeds {
            0 | 1 => None,
            _ => Some(self.ci95? * half_width(seeds) / half_width(self.seeds)),
        }
    }

    /// The estimate in another unit: value and interval multiplied by `factor`.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Estimate {
        Estimate {
            value: self.value.map(|value| value * factor),
            ci95: self.ci95.map(|ci95| ci95 * factor.abs()),
            ..self
        }
    }
}
