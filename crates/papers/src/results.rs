//! Results of a comparison by role.

use crate::estimate::Estimate;
use gentle_experiment::results::{Comparison, SchemeResult};

/// Results of a [`Setup`](crate::Setup), by the roles of its schemes.
#[derive(Debug, Clone)]
pub struct Results {
    comparison: Comparison,
    /// Roles in the order of `comparison.results`.
    roles: Vec<&'static str>,
}

/// Metrics of one seed.
#[derive(Debug, Clone, Copy)]
pub struct Values<'a> {
    results: &'a Results,
    seed: usize,
}

impl<'a> Values<'a> {
    /// The results that the seed belongs to.
    pub fn results(&self) -> &'a Results {
        self.results
    }

    /// A metric of the scheme with the name `role`: a name of [`SchemeResult::by_seed`], such as `loss.syn`. `None`
    /// without an observation.
    ///
    /// # Panics
    /// No scheme has this role, or no metric this name.
    pub fn get(&self, role: &str, metric: &str) -> Option<f64> {
        self.results.series(role, metric)[self.seed]
    }
}

impl Results {
    pub(crate) fn new(comparison: Comparison, schemes: &[(&'static str, String)]) -> Results {
        // A backend may leave out schemes that it cannot run, but keeps their order; two roles may have the same scheme.
        let mut asked = schemes.iter();
        let role = |result: &SchemeResult| {
            let found = asked.find(|(_, label)| *label == result.label);
            found.map_or("", |(role, _)| *role)
        };
        Results { roles: comparison.results.iter().map(role).collect(), comparison }
    }

    /// The comparison, with all results.
    pub fn comparison(&self) -> &Comparison {
        &self.comparison
    }

    /// Roles in the requested order.
    pub fn roles(&self) -> &[&'static str] {
        &self.roles
    }

    /// True if the results have a scheme with the name `role`.
    pub fn has(&self, role: &str) -> bool {
        self.roles.contains(&role)
    }

    /// Result of the scheme with the name `role`.
    ///
    /// # Panics
    /// No scheme has this role.
    pub fn of(&self, role: &str) -> &SchemeResult {
        let index = self.roles.iter().position(|known| *known == role);
        let index = index.unwrap_or_else(|| panic!("no scheme '{role}' in {:?}", self.roles));
        &self.comparison.results[index]
    }

    /// Mean of a metric over seeds.
    ///
    /// # Panics
    /// No scheme has this role, or no metric this name.
    pub fn mean(&self, role: &str, metric: &str) -> Estimate {
        Estimate::over(self.series(role, metric).iter().copied())
    }

    /// A number from the metrics of each seed, such as the ratio of two schemes: its mean over seeds.
    pub fn per_seed(&self, number: impl Fn(&Values<'_>) -> Option<f64>) -> Estimate {
        let seeds = 0..self.comparison.seeds.len();
        Estimate::over(seeds.map(|seed| number(&Values { results: self, seed })))
    }

    /// A number from the metrics of each seed of two results with the same seeds: its mean over seeds.
    pub fn per_seed_with(&self, other: &Results, number: impl Fn(&Values<'_>, &Values<'_>) -> Option<f64>) -> Estimate {
        let seeds = self.comparison.seeds.len().min(other.comparison.seeds.len());
        Estimate::over((0..seeds).map(|seed| {
            let values = |results| Values { results, seed };
            number(&values(self), &values(other))
        }))
    }

    fn series(&self, role: &str, metric: &str) -> &[Option<f64>] {
        let result = self.of(role);
        let found = result.by_seed.iter().find(|series| series.name == metric);
        let series = found.unwrap_or_else(|| panic!("no metric '{metric}'"));
        &series.values
    }
}
