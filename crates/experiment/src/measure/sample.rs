//! Pooling over seeds: counts are added, means are means of the seeds' means, percentiles are over all seeds together.

use super::table::Entry;
use crate::direction::Direction;
use crate::metrics::histogram::TimeHistogram;
use crate::metrics::record::RunRecord;
use crate::metrics::statistics;
use crate::results::{Distribution, Mean};

/// Run and link of a part that is measured.
#[derive(Clone, Copy)]
pub(crate) struct At<'a> {
    pub(crate) run: &'a RunRecord,
    pub(crate) direction: Direction,
}

/// A part of each run of a scheme: all of it, its connections, a link, an application.
pub(crate) struct Sample<'a, T: ?Sized> {
    parts: Vec<(&'a T, At<'a>)>,
    /// True if all runs have equal results, so that there are no confidence intervals.
    alike: bool,
    /// Whether unlisted numbers are included.
    unlisted: bool,
}

impl<'a> Sample<'a, RunRecord> {
    pub(crate) fn of(runs: &'a [RunRecord], alike: bool, unlisted: bool) -> Self {
        let parts = runs.iter().map(|run| (run, At { run, direction: Direction::Down }));
        Sample { parts: parts.collect(), alike, unlisted }
    }
}

impl<'a, T: ?Sized> Sample<'a, T> {
    /// Sum of a count.
    pub(crate) fn count(&self, of: impl Fn(&'a T) -> u64) -> u64 {
        self.parts.iter().map(|(part, _)| of(part)).sum()
    }

    /// Mean of a number over the runs that have a value.
    pub(crate) fn mean(&self, of: impl Fn(&'a T) -> Option<f64>) -> Mean {
        self.mean_at(|part, _| of(part))
    }

    /// Mean of a number that depends on the run or on the link.
    pub(crate) fn mean_at(&self, of: impl Fn(&'a T, At<'a>) -> Option<f64>) -> Mean {
        let mean = statistics::mean_of(self.parts.iter().filter_map(|(part, at)| of(part, *at)));
        Mean { ci95: mean.ci95.filter(|_| !self.alike), ..mean }
    }

    /// Mean and percentiles of times.
    pub(crate) fn times(&self, of: impl Fn(&'a T) -> &'a TimeHistogram) -> Distribution {
        let Mean { mean, ci95 } = self.mean(|part| of(part).mean_s());
        let all = self.all_times(of);
        Distribution { mean, ci95, p50: all.quantile_s(0.50), p95: all.quantile_s(0.95), p99: all.quantile_s(0.99) }
    }

    /// Times of all runs together.
    pub(crate) fn all_times(&self, of: impl Fn(&'a T) -> &'a TimeHistogram) -> TimeHistogram {
        TimeHistogram::pooled(self.parts.iter().map(|(part, _)| of(part)))
    }

    /// Part of each part.
    pub(crate) fn part<U: ?Sized>(&self, of: impl Fn(&'a T) -> &'a U) -> Sample<'a, U> {
        let parts = self.parts.iter().map(|(part, at)| (of(part), *at));
        Sample { parts: parts.collect(), alike: self.alike, unlisted: self.unlisted }
    }

    /// Part of each part, on the link of `direction`.
    pub(crate) fn on<U: ?Sized>(&self, direction: Direction, of: impl Fn(&'a T) -> &'a U) -> Sample<'a, U> {
        let mut sample = self.part(of);
        sample.parts.iter_mut().for_each(|(_, at)| at.direction = direction);
        sample
    }

    /// The part of the first run.
    pub(crate) fn first(&self) -> Option<&'a T> {
        self.parts.first().map(|(part, _)| *part)
    }

    /// Whether `field` is among the results: unless its numbers are unlisted, or if these are included.
    pub(crate) fn has(&self, entries: &[Entry], field: &str) -> bool {
        let hidden = |entry: &Entry| match entry {
            Entry::Number(number) => !number.listed && super::table::split(number.path).0 == field,
            Entry::All(..) => false,
        };
        self.unlisted || !entries.iter().any(hidden)
    }
}

/// Results over seeds that come from `From`, and the half-widths of the confidence intervals of bare numbers in them.
pub(crate) trait Pooled<From>: Sized {
    fn pooled(from: From) -> (Self, Self);
}

impl Pooled<u64> for u64 {
    fn pooled(count: u64) -> (u64, u64) {
        (count, 0)
    }
}

impl Pooled<Mean> for Mean {
    fn pooled(mean: Mean) -> (Mean, Mean) {
        (mean, Mean::default())
    }
}

impl Pooled<Mean> for Option<f64> {
    fn pooled(mean: Mean) -> (Option<f64>, Option<f64>) {
        (mean.mean, mean.ci95)
    }
}

impl Pooled<Distribution> for Distribution {
    fn pooled(times: Distribution) -> (Distribution, Distribution) {
        (times, Distribution::default())
    }
}
