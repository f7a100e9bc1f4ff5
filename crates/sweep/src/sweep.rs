//! A sweep: a grid, its runs in a store, the missing batches, and the complete table.

use crate::base::{Inputs, Resolver};
use crate::batch::{Batch, BatchPoint, BatchScheme};
use crate::error::SweepError;
use crate::grid::{Grid, Point, SchemeAt, UntilCi};
use crate::index::{Added, Cache, Index, Read};
use crate::metrics::Metrics;
use crate::row::{self, Common, Row};
use crate::table::Table;
use bytes::Bytes;
use gentle_aqm::Spec;
use gentle_experiment::results::Mean;
use gentle_experiment::{Backend, Scenario, ScenarioError, Settings};
use gentle_runs::{Origin, RunId};
use std::collections::{BTreeSet, HashSet, VecDeque};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

/// Costs of a batch, seconds: scheduling, transfer and a file cost some milliseconds.
const MOST: f64 = 1.5;
const LEAST: f64 = 0.25;
/// Number of batches that a short sweep is split into at least, and for each worker, so that all have some.
const BATCHES: usize = 32;
const BATCHES_PER_WORKER: usize = 4;
/// Number of workers up to which batches cost [`MOST`]; with more they cost more, so that one scheduler keeps up.
const MANY_WORKERS: f64 = 150.0;
/// Maximum number of runs in a batch.
const MOST_RUNS: usize = 2_000;
/// Rows of a part of the complete table.
const CHUNK: usize = 4_096;

/// A grid and the index of a store. All methods can be called while other threads add results.
#[derive(Debug)]
pub struct Sweep {
    grid: Grid,
    origin: Origin,
    /// Name of the backend.
    backend: String,
    /// Estimates the seconds of a run.
    cost: fn(&Scenario) -> f64,
    /// Schemes that the backend cannot run.
    left_out: BTreeSet<String>,
    /// Differences of the backend from the scenarios.
    assumptions: Vec<String>,
    /// Columns of the scalar results.
    metrics: Metrics,
    index: RwLock<Index>,
}

/// Extent of a sweep.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Survey {
    /// Points of the grid.
    pub points: usize,
    /// Runs of the grid; with [`UntilCi`], as many as are known to be needed.
    pub runs: u64,
    /// Runs that the store does not have.
    pub missing: u64,
    /// Estimated cost of the missing runs, seconds on one core.
    pub seconds: f64,
}

impl Sweep {
    /// A sweep over a grid on a backend, without results. Schemes that the backend cannot run are left out, and listed
    /// in [`Sweep::assumptions`]. Resolves every point, so that a mistake is found before the first run.
    ///
    /// # Errors
    /// A point is not a valid scenario, or the backend can run it under none of its schemes.
    pub fn new<B: Backend>(grid: Grid, backend: &B) -> Result<Sweep, SweepError>
    where
        B::Error: std::fmt::Display,
    {
        let mut sweep = Sweep {
            origin: Origin::of(backend),
            backend: backend.name(),
            cost: B::cost,
            left_out: BTreeSet::new(),
            assumptions: Vec::new(),
            metrics: Metrics::default(),
            index: RwLock::default(),
            grid,
        };
        let settings = Settings { seeds: sweep.grid.seeds.clone(), bins: sweep.grid.bins.clone() };
        let mut metrics = Metrics::default();
        let (mut left_out, mut assumptions) = (BTreeSet::new(), Vec::new());
        let mut resolver = Resolver::default();
        for index in 0..sweep.grid.len() {
            let mut point = sweep.point(index, &mut resolver)?;
            metrics.add(&point.scenario.metric_names(settings.bins.len() + 1));
            let before = point.scenario.assumptions.len();
            let specs: Vec<Spec> = point.schemes.into_iter().map(|scheme| scheme.spec).collect();
            let runnable = backend
                .prepare(&mut point.scenario, &specs, &settings)
                .map_err(|error| SweepError::Backend(error.to_string()))?;
            let others = specs.iter().filter(|spec| !runnable.contains(spec));
            left_out.extend(others.map(Spec::to_string));
            for assumption in point.scenario.assumptions.split_off(before) {
                if !assumptions.contains(&assumption) {
                    assumptions.push(assumption);
                }
            }
        }
        sweep.left_out = left_out;
        sweep.assumptions = assumptions;
        if let Some(rule) = &sweep.grid.until_ci {
            metrics.check(&rule.metric)?;
        }
        sweep.metrics = metrics;
        Ok(sweep)
    }

    /// Differences of runs on the backend from the scenarios, in sentences.
    pub fn assumptions(&self) -> &[String] {
        &self.assumptions
    }

    /// A point of the grid, with the schemes that the backend can run.
    fn point(&self, index: usize, resolver: &mut Resolver) -> Result<Point<'_>, ScenarioError> {
        let mut point = self.grid.point(index, resolver)?;
        point.schemes.retain(|scheme| !self.left_out.contains(&scheme.spec.to_string()));
        Ok(point)
    }

    /// The grid.
    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    /// Texts that batches refer to.
    pub fn inputs(&self) -> &Inputs {
        self.grid.inputs()
    }

    /// Adds the results in a file of the store, given its name and content; returns the number of rows. A file that was
    /// added before is skipped.
    ///
    /// # Errors
    /// The file is not one of results.
    pub fn add(&self, file: &str, bytes: impl Into<Bytes>) -> Result<usize, SweepError> {
        let metric = self.grid.until_ci.as_ref().map(|rule| rule.metric.as_str());
        let mut index = self.index.write().unwrap_or_else(PoisonError::into_inner);
        let origin = (self.backend.as_str(), self.origin.engine.as_str());
        index.add(file, bytes.into(), metric, origin)
    }

    /// Number of runs in the files added so far that other code made on the same backend; they are ignored.
    pub fn foreign(&self) -> u64 {
        self.index().foreign
    }

    fn index(&self) -> RwLockReadGuard<'_, Index> {
        self.index.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts the missing runs.
    ///
    /// # Errors
    /// A point is no valid scenario.
    pub fn survey(&self) -> Result<Survey, SweepError> {
        let mut survey = Survey { points: self.grid.len(), ..Survey::default() };
        let mut resolver = Resolver::default();
        let mut counted = HashSet::new();
        for index in 0..self.grid.len() {
            let point = self.point(index, &mut resolver)?;
            let fingerprint = point.scenario.fingerprint();
            let cost = (self.cost)(&point.scenario);
            for scheme in &point.schemes {
                let label = scheme.spec.to_string();
                for seed in self.wanted(&fingerprint, &label) {
                    let key = self.key(&fingerprint, &label, seed);
                    survey.runs += 1;
                    if !self.index().has(&key) && counted.insert(key) {
                        survey.missing += 1;
                        survey.seconds += cost;
                    }
                }
            }
        }
        Ok(survey)
    }

    /// Batches of the missing runs, given their estimated cost in seconds and the number of workers. With [`UntilCi`],
    /// further runs may be missing when these have been added: request batches until none is left.
    pub fn batches(&self, seconds: f64, workers: usize) -> Batches {
        let share = seconds / workers.saturating_mul(BATCHES_PER_WORKER).max(BATCHES) as f64;
        let most = MOST * (workers as f64 / MANY_WORKERS).max(1.0);
        Batches {
            target: share.clamp(LEAST, most),
            next: 0,
            resolver: Resolver::default(),
            asked: HashSet::new(),
            waiting: VecDeque::new(),
        }
    }

    /// The complete table in the order of the grid, in parts; runs that are not in the store are left out. `read`
    /// returns the content of a file that was added.
    pub fn rows<'a>(&'a self, read: Read<'a>) -> impl Iterator<Item = Result<Table, SweepError>> + 'a {
        let metrics = self.metrics.names().to_vec();
        Rows {
            axes: self.grid.axes(),
            rows: Vec::new(),
            next: 0,
            any: false,
            resolver: Resolver::default(),
            metrics,
            files: Vec::new(),
            read,
            sweep: self,
        }
        .parts()
    }

    fn key(&self, fingerprint: &str, scheme: &str, seed: u64) -> RunId {
        RunId::new(&self.origin, &self.backend, fingerprint, scheme, seed, &self.grid.bins)
    }

    /// Seeds that a scheme needs at a point, according to the results so far.
    fn wanted(&self, fingerprint: &str, scheme: &str) -> Vec<u64> {
        let mut seeds = self.grid.seeds.clone();
        let Some(rule) = &self.grid.until_ci else {
            return seeds;
        };
        let index = self.index();
        loop {
            let values = seeds.iter().map(|seed| index.value(&self.key(fingerprint, scheme, *seed)));
            let values: Option<Vec<Option<f64>>> = values.collect();
            match values {
                Some(values) if !rule.is_met(&values) => rule.add_seeds(&mut seeds),
                _ => return seeds,
            }
        }
    }
}

impl UntilCi {
    /// True if runs with these values suffice.
    fn is_met(&self, values: &[Option<f64>]) -> bool {
        if values.len() as u64 >= self.max_seeds {
            return true;
        }
        let Mean { mean, ci95 } = Mean::over(values.iter().copied().flatten());
        match (mean, ci95) {
            // Without any observation more of the same will not help.
            (None, _) => true,
            (Some(_), None) => false,
            (Some(mean), Some(ci95)) => ci95 <= self.relative * mean.abs(),
        }
    }

    /// Adds half as many seeds as there are, the next ones after the last.
    fn add_seeds(&self, seeds: &mut Vec<u64>) {
        let more = (seeds.len() as u64 / 2).max(1);
        let more = more.min(self.max_seeds - seeds.len() as u64);
        let last = seeds.last().copied().unwrap_or_default();
        seeds.extend((1..=more).map(|n| last.wrapping_add(n)));
    }
}

/// Runs of a scheme at a point that are to be made.
struct Task {
    seconds: f64,
    point: BatchPoint,
    base: crate::base::Base,
}

/// The batches of a sweep, one after the other.
pub struct Batches {
    target: f64,
    next: usize,
    resolver: Resolver,
    /// Runs that are in a batch already: several points may have the same.
    asked: HashSet<RunId>,
    waiting: VecDeque<Task>,
}

impl Batches {
    /// The next batch; `None` if no run is missing that is not in an earlier batch.
    ///
    /// # Errors
    /// A point is no valid scenario.
    pub fn next(&mut self, sweep: &Sweep) -> Result<Option<Batch>, ScenarioError> {
        let mut batch = Batch {
            origin: sweep.origin.clone(),
            backend: sweep.backend.clone(),
            bins: sweep.grid.bins.clone(),
            connections: sweep.grid.connections,
            bases: Vec::new(),
            points: Vec::new(),
        };
        let (mut seconds, mut runs) = (0.0, 0);
        while seconds < self.target && runs < MOST_RUNS {
            let Some(task) = self.task(sweep)? else {
                break;
            };
            seconds += task.seconds;
            runs += 1;
            push(&mut batch, task);
        }
        Ok((runs > 0).then_some(batch))
    }

    fn task(&mut self, sweep: &Sweep) -> Result<Option<Task>, ScenarioError> {
        while self.waiting.is_empty() && self.next < sweep.grid.len() {
            let point = sweep.point(self.next, &mut self.resolver)?;
            self.next += 1;
            self.wait(sweep, &point);
        }
        Ok(self.waiting.pop_front())
    }

    /// Lines up the missing runs of a point.
    fn wait(&mut self, sweep: &Sweep, point: &Point<'_>) {
        let fingerprint = point.scenario.fingerprint();
        let cost = (sweep.cost)(&point.scenario);
        for SchemeAt { spec, coordinates } in &point.schemes {
            let scheme = spec.to_string();
            for seed in sweep.wanted(&fingerprint, &scheme) {
                let key = sweep.key(&fingerprint, &scheme, seed);
                if sweep.index().has(&key) || !self.asked.insert(key) {
                    continue;
                }
                self.waiting.push_back(Task {
                    seconds: cost,
                    base: point.base.clone(),
                    point: BatchPoint {
                        base: 0,
                        settings: point.settings.clone(),
                        coordinates: point.coordinates.clone(),
                        fingerprint: fingerprint.clone(),
                        schemes: vec![BatchScheme {
                            scheme: scheme.clone(),
                            coordinates: coordinates.clone(),
                            seeds: vec![seed],
                        }],
                    },
                });
            }
        }
    }
}

/// Adds a run to a batch, next to the runs of the same point and scheme.
fn push(batch: &mut Batch, task: Task) {
    let Task { base, mut point, .. } = task;
    point.base = match batch.bases.iter().rposition(|known| *known == base) {
        Some(index) => index,
        None => {
            batch.bases.push(base);
            batch.bases.len() - 1
        }
    };
    let Some(last) = batch.points.last_mut() else {
        batch.points.push(point);
        return;
    };
    let is_same = last.base == point.base && last.settings == point.settings && last.coordinates == point.coordinates;
    if !is_same {
        batch.points.push(point);
        return;
    }
    for scheme in point.schemes {
        match last.schemes.last_mut() {
            Some(known) if known.scheme == scheme.scheme => known.seeds.extend(scheme.seeds),
            _ => last.schemes.push(scheme),
        }
    }
}

/// Reader of the complete table.
struct Rows<'a> {
    sweep: &'a Sweep,
    read: Read<'a>,
    axes: Vec<(String, bool)>,
    metrics: Vec<String>,
    resolver: Resolver,
    next: usize,
    any: bool,
    rows: Vec<Row>,
    files: Vec<(Arc<Added>, usize)>,
}

impl<'a> Rows<'a> {
    fn parts(mut self) -> impl Iterator<Item = Result<Table, SweepError>> + 'a {
        std::iter::from_fn(move || {
            while self.rows.len() < CHUNK && self.next < self.sweep.grid.len() {
                if let Err(error) = self.point() {
                    self.next = self.sweep.grid.len();
                    self.any = true;
                    return Some(Err(error));
                }
            }
            if self.rows.is_empty() && self.any {
                return None;
            }
            self.any = true;
            Some(self.part())
        })
    }

    fn point(&mut self) -> Result<(), SweepError> {
        let sweep = self.sweep;
        let point = sweep.point(self.next, &mut self.resolver)?;
        self.next += 1;
        let fingerprint = point.scenario.fingerprint();
        let bins = &sweep.grid.bins;
        let common = Common::new(&point.scenario, fingerprint, sweep.origin.clone(), &sweep.backend, bins);
        let common = Arc::new(common);
        for SchemeAt { spec, coordinates } in point.schemes {
            let scheme = spec.to_string();
            let mut at = point.coordinates.clone();
            at.extend(coordinates);
            for seed in sweep.wanted(&common.fingerprint, &scheme) {
                let key = sweep.key(&common.fingerprint, &scheme, seed);
                let Some(place) = sweep.index().place(&key) else {
                    continue;
                };
                self.files.push(place);
                self.rows.push(Row {
                    key,
                    common: Arc::clone(&common),
                    scheme: scheme.clone(),
                    scheme_name: spec.scheme().name,
                    seed,
                    coordinates: at.clone(),
                    metrics: Vec::new(),
                });
            }
        }
        Ok(())
    }

    fn part(&mut self) -> Result<Table, SweepError> {
        let mut cache = Cache::new(self.read, &self.metrics);
        for (row, (file, place)) in self.rows.iter_mut().zip(self.files.drain(..)) {
            row.metrics = cache.row(&file, place)?;
        }
        let part = row::table(&self.rows, &self.axes, &self.metrics);
        self.rows.clear();
        Ok(part)
    }
}
