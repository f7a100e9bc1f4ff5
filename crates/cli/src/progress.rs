//! Bars on stderr while the runs go on; none where stderr is no terminal.

use gentle_sim::{Observer, Run};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Steps that a bar has for each run.
const STEPS: u64 = 1000;

/// One bar for all runs, one below it for each run under way.
pub(crate) struct Progress {
    labels: Vec<String>,
    bars: MultiProgress,
    all: ProgressBar,
    under_way: Mutex<BTreeMap<(usize, usize), ProgressBar>>,
}

impl Progress {
    pub(crate) fn new(labels: Vec<String>, seeds: usize, quiet: bool) -> Progress {
        let target = if quiet {
            ProgressDrawTarget::hidden()
        } else {
            ProgressDrawTarget::stderr()
        };
        let bars = MultiProgress::with_draw_target(target);
        let all = bars.add(ProgressBar::new((labels.len() * seeds) as u64 * STEPS));
        all.set_style(style(
            "{bar:40} {percent:>3} %  {elapsed} so far, {eta} to go",
        ));
        Progress {
            labels,
            bars,
            all,
            under_way: Mutex::default(),
        }
    }

    /// Takes the bars off the screen.
    pub(crate) fn clear(&self) {
        // Only the screen is at stake.
        let _ = self.bars.clear();
    }

    fn with_bar(&self, run: Run, f: impl FnOnce(&ProgressBar)) {
        let under_way = self
            .under_way
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(bar) = under_way.get(&(run.scheme, run.seed)) {
            f(bar);
        }
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("a valid template")
}

impl Observer for Progress {
    fn started(&self, run: Run) {
        let bar = self.bars.add(ProgressBar::new(STEPS));
        bar.set_style(style("{bar:40.dim} {percent:>3} %  {msg}"));
        bar.set_message(format!(
            "{}, seed {}",
            self.labels[run.scheme],
            run.seed + 1
        ));
        let mut under_way = self
            .under_way
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        under_way.insert((run.scheme, run.seed), bar);
    }

    fn reached(&self, run: Run, fraction: f64) {
        self.with_bar(run, |bar| {
            let position = (fraction * STEPS as f64) as u64;
            self.all.inc(position.saturating_sub(bar.position()));
            bar.set_position(position);
        });
    }

    fn finished(&self, run: Run) {
        self.with_bar(run, |bar| {
            self.all.inc(STEPS.saturating_sub(bar.position()));
            bar.finish_and_clear();
        });
        let mut under_way = self
            .under_way
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(bar) = under_way.remove(&(run.scheme, run.seed)) {
            self.bars.remove(&bar);
        }
    }
}
