//! Progress bars on stderr; none if stderr is not a terminal.

use gentle_experiment::{Observer, Part, Run};
use gentle_runs::Plan;
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
#[cfg(target_os = "linux")]
use std::time::Duration;

/// Resolution of a bar, steps per run.
const STEPS: u64 = 1000;

fn target(quiet: bool) -> ProgressDrawTarget {
    match quiet {
        true => ProgressDrawTarget::hidden(),
        false => ProgressDrawTarget::stderr(),
    }
}

/// One bar for all runs, with one bar per active run below it.
pub(crate) struct Progress {
    bars: MultiProgress,
    all: ProgressBar,
}

impl Progress {
    pub(crate) fn new(runs: usize, quiet: bool) -> Progress {
        let bars = MultiProgress::with_draw_target(target(quiet));
        let all = bars.add(ProgressBar::new(runs as u64 * STEPS));
        all.set_style(style("{bar:30} {percent:>3} %  {elapsed} elapsed, {eta} left"));
        Progress { bars, all }
    }

    /// Starts the bar of a run.
    pub(crate) fn begin(&self, label: String) -> ProgressBar {
        let bar = self.bars.add(ProgressBar::new(STEPS));
        bar.set_style(style("{bar:30.dim} {percent:>3} %  {msg}"));
        bar.set_message(label);
        bar
    }

    /// Sets the progress of a run, 0 to 1.
    pub(crate) fn reached(&self, bar: &ProgressBar, fraction: f64) {
        let position = (fraction * STEPS as f64) as u64;
        let before = bar.position();
        // Called far more often than there are steps.
        if position > before {
            bar.set_position(position);
            self.all.inc(position - before);
        }
    }

    /// Ends the bar of a run.
    pub(crate) fn end(&self, bar: &ProgressBar) {
        self.all.inc(STEPS.saturating_sub(bar.position()));
        bar.finish_and_clear();
        self.bars.remove(bar);
    }

    /// Removes the bars from the screen.
    pub(crate) fn clear(&self) {
        self.all.finish_and_clear();
    }

    /// Hides the bars while `f` writes to the screen.
    pub(crate) fn suspend(&self, f: impl FnOnce()) {
        self.bars.suspend(f);
    }
}

/// Progress of `gentle reproduce`: the figure being measured, and the runs requested so far.
pub(crate) struct Parts(ProgressBar);

impl Parts {
    pub(crate) fn new(quiet: bool) -> Parts {
        let bar = ProgressBar::with_draw_target(Some(0), target(quiet));
        bar.set_style(style("{bar:30} {pos} of {len} runs, {elapsed} elapsed  {msg}"));
        Parts(bar)
    }

    /// Hides the bar while `f` writes to the screen.
    pub(crate) fn suspend<T>(&self, f: impl FnOnce() -> T) -> T {
        self.0.suspend(f)
    }

    /// Removes the bar from the screen.
    pub(crate) fn clear(&self) {
        self.0.finish_and_clear();
    }
}

impl gentle_papers::Progress for Parts {
    fn part(&self, paper: &str, part: &str) {
        self.0.set_message(format!("{paper} {part}"));
    }

    fn planned(&self, runs: usize) {
        self.0.inc_length(runs as u64);
    }

    fn finished(&self) {
        self.0.inc(1);
    }
}

/// Progress of `gentle sweep`: the runs that the store has.
pub(crate) struct Sweeping(ProgressBar);

impl Sweeping {
    pub(crate) fn new(quiet: bool) -> Sweeping {
        let bar = ProgressBar::with_draw_target(Some(0), target(quiet));
        bar.set_style(style("{bar:30} {pos} of {len} runs, {elapsed} elapsed, {eta} left"));
        Sweeping(bar)
    }

    /// Removes the bar from the screen.
    pub(crate) fn clear(&self) {
        self.0.finish_and_clear();
    }
}

impl gentle_sweep::Progress for Sweeping {
    fn planned(&self, survey: &gentle_sweep::Survey) {
        self.0.set_length(survey.runs);
        self.0.set_position(survey.runs - survey.missing);
        self.0.reset_eta();
    }

    fn finished(&self, runs: usize) {
        self.0.inc(runs as u64);
    }
}

/// Bar for bytes read; a plain counter if the total is unknown.
pub(crate) struct Reading(ProgressBar);

impl Reading {
    pub(crate) fn new(bytes: Option<u64>, quiet: bool) -> Reading {
        let bar = ProgressBar::with_draw_target(bytes, target(quiet));
        bar.set_style(style(match bytes {
            Some(_) => "{bar:30} {percent:>3} %  {binary_bytes_per_sec}, {eta} left",
            None => "{spinner} {binary_bytes} read, {binary_bytes_per_sec}",
        }));
        Reading(bar)
    }

    /// Sets the number of bytes read.
    pub(crate) fn reached(&self, bytes: u64) {
        self.0.set_position(bytes);
    }

    /// Removes the bar from the screen.
    pub(crate) fn clear(&self) {
        self.0.finish_and_clear();
    }
}

/// Progress of a kernel build: its stage, with a bar if the stage reports its progress.
#[cfg(target_os = "linux")]
pub(crate) struct Building(ProgressBar);

#[cfg(target_os = "linux")]
impl Building {
    pub(crate) fn new(quiet: bool) -> Building {
        let bar = ProgressBar::with_draw_target(Some(STEPS), target(quiet));
        bar.set_style(style("{bar:30} {percent:>3} %  {msg}, {elapsed} elapsed"));
        bar.enable_steady_tick(Duration::from_secs(1));
        Building(bar)
    }

    /// Removes the line from the screen.
    pub(crate) fn clear(&self) {
        self.0.finish_and_clear();
    }
}

#[cfg(target_os = "linux")]
impl gentle_testbed::build::Observer for Building {
    fn began(&self, stage: gentle_testbed::build::Stage) {
        self.0.set_position(0);
        self.0.set_message(stage.to_string());
    }

    fn reached(&self, fraction: f64) {
        self.0.set_position((fraction * STEPS as f64) as u64);
    }

    fn note(&self, text: &str) {
        self.0.suspend(|| crate::output::warn(text));
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("a valid template")
}

/// Observer of the runs of a comparison, whose bars disappear with it.
pub(crate) struct Runs {
    progress: Progress,
    labels: Vec<String>,
    under_way: Mutex<BTreeMap<(usize, usize), ProgressBar>>,
}

impl Runs {
    /// Bars for the runs of a plan with the whole traffic, or with one part of it alone.
    pub(crate) fn new(plan: &Plan, part: Option<&Part>, quiet: bool) -> Runs {
        let labels = plan.schemes.iter().map(|scheme| match part {
            Some(part) => format!("{} alone, {scheme}", part.name),
            None => scheme.to_string(),
        });
        Runs {
            labels: labels.collect(),
            progress: Progress::new(plan.schemes.len() * plan.settings.seeds.len(), quiet),
            under_way: Mutex::default(),
        }
    }

    fn under_way(&self) -> MutexGuard<'_, BTreeMap<(usize, usize), ProgressBar>> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Runs {
    fn drop(&mut self) {
        self.progress.clear();
    }
}

impl Observer for Runs {
    fn started(&self, run: Run) {
        let label = format!("{}, run {}", self.labels[run.scheme], run.seed + 1);
        let bar = self.progress.begin(label);
        self.under_way().insert((run.scheme, run.seed), bar);
    }

    fn reached(&self, run: Run, fraction: f64) {
        if let Some(bar) = self.under_way().get(&(run.scheme, run.seed)) {
            self.progress.reached(bar, fraction);
        }
    }

    fn finished(&self, run: Run) {
        if let Some(bar) = self.under_way().remove(&(run.scheme, run.seed)) {
            self.progress.end(&bar);
        }
    }
}
