//! Runs in the background: seed after seed of two schemes, until their difference is certain.

use crate::grade::{Added, Idle, grade};
use crate::session::parse_scheme;
use crate::setup::{Setup, SetupError};
use gentle_aqm::Spec;
use gentle_experiment::results::{Comparison, HEADLINE, Paired, SchemeResult, Verdict};
use gentle_experiment::{Backend, DEFAULT_BINS, RunRecord, RunSpec, Scenario, Watch, assemble};
use gentle_report::compare::noticed_by_users;
use gentle_sim::Simulator;
use gentle_units::text::{count, factor, percent, plural, time};
use serde::Serialize;
use std::sync::atomic::AtomicBool;

/// Seeds after which a trial ends, certain or not.
const MOST_SEEDS: u64 = 30;
/// Fewest seeds of a verdict.
const FEWEST_SEEDS: u64 = 4;
/// Half-width of the interval, as a fraction of the difference, at which the difference is known well enough.
const NARROW: f64 = 0.2;

/// A comparison of two schemes that grows by one seed at a time.
pub struct Trial {
    scenario: Scenario,
    schemes: Vec<Spec>,
    first_seed: u64,
    /// Runs so far, by scheme and seed.
    runs: [Vec<Option<RunRecord>>; 2],
    added: [Added; 2],
}

/// Results of a trial over the seeds run so far.
#[derive(Debug, Clone, Serialize)]
pub struct Standing {
    /// Seeds run.
    pub seeds: u64,
    /// Whether more seeds would not change the verdict, or the most have been run.
    pub done: bool,
    /// Mean response time of the shortest connections under each scheme, seconds.
    pub means_s: Vec<Option<f64>>,
    /// Fraction of SYNs and SYN/ACKs lost in the queue under test, by scheme.
    pub handshake_loss: Vec<Option<f64>>,
    /// Mean sojourn time in the queue under test, by scheme, seconds.
    pub queue_delay_s: Vec<Option<f64>>,
    /// Mean over seeds of the difference of the response times, second scheme minus first, seconds.
    pub difference_s: Option<f64>,
    /// Half-width of its 95 % confidence interval, seconds.
    pub ci95_s: Option<f64>,
    /// Label of the better scheme; `None`: no significant difference.
    pub better: Option<String>,
    /// Mean time that the others on the link add to a connection of at most
    /// [`SHORT_SEGMENTS`](crate::SHORT_SEGMENTS) segments, by scheme, seconds.
    pub added_s: Vec<Option<f64>>,
    /// [`grade()`] of that time.
    pub grades: Vec<Option<&'static str>>,
    /// The verdict in words, with its caveats.
    pub words: Vec<String>,
}

impl Trial {
    /// A trial of `schemes`, the first of which is the reference, with seeds from `first_seed` on.
    ///
    /// # Errors
    /// The setup or a scheme is malformed, or the schemes are the same.
    pub fn new(setup: &Setup, schemes: [&str; 2], first_seed: u64) -> Result<Trial, SetupError> {
        let schemes = schemes.map(parse_scheme);
        let schemes = schemes.into_iter().collect::<Result<Vec<Spec>, SetupError>>()?;
        if schemes[0] == schemes[1] {
            return Err(SetupError {
                place: "scheme".to_owned(),
                problem: format!("both sides are {}; choose another on one", schemes[0]),
            });
        }
        Ok(Trial {
            scenario: setup.scenario()?,
            schemes,
            first_seed,
            runs: [Vec::new(), Vec::new()],
            added: [Added::default(); 2],
        })
    }

    /// Makes the runs of the next seed.
    pub fn run_seed(&mut self) {
        let seed = self.first_seed.wrapping_add(self.seeds());
        let idle = run(&Idle::scenario(&self.scenario), &Idle::scheme(), seed, true);
        let idle = Idle::new(&self.scenario, &idle.connections);
        for ((scheme, added), runs) in self.schemes.iter().zip(&mut self.added).zip(&mut self.runs) {
            let mut run = run(&self.scenario, scheme, seed, true);
            // Counted, and then left out: thirty seeds of them take memory, and a comparison needs none.
            added.count(&self.scenario, &idle, &std::mem::take(&mut run.connections));
            runs.push(Some(run));
        }
    }

    /// Number of seeds run so far.
    fn seeds(&self) -> u64 {
        self.runs[0].len() as u64
    }

    /// The comparison of all seeds run so far.
    pub fn comparison(&self) -> Comparison {
        let seeds: Vec<u64> = (0..self.seeds()).map(|n| self.first_seed.wrapping_add(n)).collect();
        assemble(&self.scenario, &self.schemes, &seeds, self.runs.to_vec())
    }

    /// Results over the seeds run so far; `None` before both schemes have run one.
    pub fn standing(&self) -> Option<Standing> {
        let comparison = self.comparison();
        let [first, second] = &comparison.results[..] else {
            return None;
        };
        let both = [first, second];
        let of = |value: fn(&SchemeResult) -> Option<f64>| both.map(value).to_vec();
        let means_s = of(|r| r.response_time_by_size.first()?.mean_s);
        let handshake_loss = of(|r| r.links.down.loss.handshake);
        let paired = second.paired.get(HEADLINE).copied().unwrap_or_default();
        let (difference, ci95) = (paired.difference, paired.ci95);
        let enough = self.seeds() >= FEWEST_SEEDS;
        let narrow = match (difference, ci95) {
            (Some(difference), Some(ci95)) => ci95 <= NARROW * difference.abs(),
            // All seeds are alike, or there is nothing to compare.
            (Some(_), None) => self.scenario.replays(),
            // Without short connections there is nothing that could become narrow.
            (None, _) => true,
        };
        let better = match paired.verdict {
            Some(Verdict::Better) => Some(second.label.clone()),
            Some(Verdict::Worse) => Some(first.label.clone()),
            None => None,
        };
        let added_s = self.added.map(|added| added.mean_s()).to_vec();
        Some(Standing {
            grades: added_s.iter().map(|added| added.map(grade)).collect(),
            added_s,
            seeds: self.seeds(),
            done: (enough && narrow) || self.seeds() >= MOST_SEEDS,
            words: self.words(&comparison, &means_s, &handshake_loss, better.as_deref()),
            means_s,
            handshake_loss,
            queue_delay_s: of(|r| r.queue_delay_s.mean),
            difference_s: difference,
            ci95_s: ci95,
            better,
        })
    }

    fn words(
        &self,
        comparison: &Comparison,
        means: &[Option<f64>],
        loss: &[Option<f64>],
        better: Option<&str>,
    ) -> Vec<String> {
        let [first, second] = &comparison.results[..] else {
            return Vec::new();
        };
        let labels = [&first.label, &second.label];
        let seeds = plural(self.seeds(), "seed", "seeds");
        let mut words = Vec::new();
        let noticed = noticed_by_users(comparison);
        if !noticed.is_empty() {
            words.push(noticed.join(" "));
        }
        let bin = first.response_time_by_size.first();
        let sizes = bin.and_then(|bin| bin.max_segments).unwrap_or_default();
        let paired = second.paired.get(HEADLINE).copied().unwrap_or_default();
        if let [Some(a), Some(b)] = means {
            let (a, b) = (time(*a), time(*b));
            let means = format!(
                "Connections of up to {sizes} segments take {a} on average with {} and {b} with {}",
                labels[0], labels[1]
            );
            let times = times_as_fast(paired);
            words.push(match (better, paired.difference, paired.ci95) {
                (Some(better), Some(_), Some(_)) if times.is_some() => format!(
                    "{means}: {better} is {} times as fast (95 % confidence, paired over {seeds}).",
                    times.unwrap_or_default()
                ),
                (Some(better), Some(difference), Some(ci95)) => format!(
                    "{means}: {better} is faster by {} ± {} (95 % confidence, paired over {seeds}).",
                    time(difference.abs()),
                    time(ci95)
                ),
                (None, Some(_), Some(ci95)) => {
                    format!("{means}: no significant difference over {seeds} (the interval is ± {}).", time(ci95))
                }
                _ => format!("{means}, over {seeds}."),
            });
        } else if first.connections > 0 {
            words.push(format!("No connection of up to {sizes} segments completed under both schemes over {seeds}."));
        }
        if let [Some(a), Some(b)] = loss {
            words.push(format!(
                "Of the SYNs and SYN/ACKs, {} drops {} and {} drops {}.",
                labels[0],
                percent(*a),
                labels[1],
                percent(*b)
            ));
        }
        if let [Some(a), Some(b)] = [first, second].map(|r| r.queue_delay_s.mean) {
            words.push(format!(
                "On average a packet waits {} in the queue of {} and {} in the queue of {}.",
                time(a),
                labels[0],
                time(b),
                labels[1]
            ));
        }
        if comparison.scenario.down.long_flows > 0
            && let [Some(a), Some(b)] = [first, second].map(|r| r.utilization)
        {
            words.push(format!("Link utilisation: {} ({}), {} ({}).", percent(a), labels[0], percent(b), labels[1]));
        }
        let open = [first, second].map(|result| result.unfinished + result.failed);
        for (label, open) in labels.iter().zip(open) {
            if open > 0 {
                let connections = plural(open, "connection", "connections");
                words.push(format!(
                    "With {label}, {connections} of {} did not finish; means omit them.",
                    count(first.connections)
                ));
            }
        }
        words
    }
}

/// How many times as fast the faster of two schemes is, with the interval; `None` if that is no result.
fn times_as_fast(paired: Paired) -> Option<String> {
    let (ratio, ci95) = (paired.factor?, paired.factor_ci95);
    match ratio < 1.0 {
        false => factor(ratio, ci95),
        true => factor(1.0 / ratio, ci95.map(|ci95| ci95 / (ratio * ratio))),
    }
}

/// The record of one run, with the bytes of the command's.
///
/// # Errors
/// The setup or the scheme is malformed.
pub fn record(setup: &Setup, scheme: &str, seed: u64) -> Result<String, SetupError> {
    let scheme = parse_scheme(scheme)?;
    let record = run(&setup.scenario()?, &scheme, seed, false);
    Ok(serde_json::to_string(&record).expect("records have text keys"))
}

fn run(scenario: &Scenario, scheme: &Spec, seed: u64, keep_connections: bool) -> RunRecord {
    let stop = AtomicBool::new(false);
    let watch = Watch { stop: &stop, progress: &|_| {} };
    let run = RunSpec { scenario: &scenario.under(scheme), scheme, seed, bins: &DEFAULT_BINS, keep_connections };
    Simulator.run(&run, &watch).expect("nothing stops it")
}
