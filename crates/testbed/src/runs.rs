//! Runs of every scheme under every seed, each in its own machine, and their results as a comparison.

use crate::conduct::{Observed, Point};
use crate::experiment::{ExperimentError, Names, Planned, Rexmit, plan};
use crate::machine::{Machine, MachineError};
use crate::native::{self, NativeError};
use crate::results::{ResultsError, Run as Measured, measure, split};
use gentle_aqm::Spec;
use gentle_deploy::{Backing, Module, PlanError};
use gentle_sim::measured::{Measurement, comparison};
use gentle_sim::results::Comparison;
use gentle_sim::{Observer, Scenario, Settings, in_order};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use thiserror::Error;

/// Name of the packet capture in the directory that a run may write to.
pub(crate) const PACKETS: &str = "packets.pcapng";

/// Kernel that runs are made on.
#[derive(Debug, Clone)]
pub enum Kernel {
    /// A machine that boots for each run.
    Machine(Box<Machine>),
    /// The host's kernel; takes root, and one run at a time.
    Native,
}

/// Configuration of a testbed.
#[derive(Debug, Clone)]
pub struct Testbed {
    /// Kernel of each run.
    pub kernel: Kernel,
    /// Parts from which schemes are built that Linux does not have.
    pub backing: Backing,
    /// Engine that retransmits lost SYNs of the hosts; `None`: none.
    pub rexmit: Option<Rexmit>,
    /// Directory in which to keep the observations of each run, one folder per run; `None`: nothing is kept.
    pub keep: Option<PathBuf>,
}

impl Testbed {
    fn names(&self) -> Names {
        match self.kernel {
            Kernel::Machine(_) => Names::plain(),
            Kernel::Native => native::names(),
        }
    }
}

/// Errors of a set of runs.
#[derive(Debug, Error)]
pub enum RunsError {
    /// The kernel cannot provide what a run needs.
    #[error("{scheme}: {problem}")]
    Plan {
        /// Scheme of the run.
        scheme: String,
        /// Reason.
        problem: ExperimentError,
    },
    /// The machine of a run failed.
    #[error("{scheme}, seed {seed}")]
    Machine {
        /// Scheme of the run.
        scheme: String,
        /// Seed of the run.
        seed: u64,
        /// Cause.
        #[source]
        problem: MachineError,
    },
    /// The run on the host's kernel failed.
    #[error("{scheme}, seed {seed}")]
    Native {
        /// Scheme of the run.
        scheme: String,
        /// Seed of the run.
        seed: u64,
        /// Cause.
        #[source]
        problem: NativeError,
    },
    /// The observations of a run cannot be evaluated.
    #[error("{scheme}, seed {seed}")]
    Results {
        /// Scheme of the run.
        scheme: String,
        /// Seed of the run.
        seed: u64,
        /// Cause.
        #[source]
        problem: ResultsError,
    },
    /// A file or directory of the host cannot be used.
    #[error("{path}: {problem}")]
    File {
        /// Path of the file or directory.
        path: PathBuf,
        /// Reason.
        problem: String,
    },
}

/// Runs `scenario` under each scheme with each seed on the kernel, as many at a time as the current rayon pool has
/// threads.
///
/// Schemes that neither Linux nor the testbed's backing has are left out; the assumptions of the results then say so.
/// When `stop` becomes true, returns the runs that have finished by then, marked `interrupted`.
///
/// # Errors
/// A run failed, the kernel cannot provide what the scenario needs, or every scheme is left out.
pub fn compare(
    scenario: &Scenario,
    schemes: &[Spec],
    settings: &Settings,
    testbed: &Testbed,
    observer: &dyn Observer,
    stop: &AtomicBool,
) -> Result<Comparison, RunsError> {
    let mut scenario = scenario.clone();
    let schemes = possible(&mut scenario, schemes, settings, testbed)?;
    let failed = AtomicBool::new(false);
    let outcomes = in_order(schemes.len(), settings, |run| {
        if failed.load(Ordering::Relaxed) || stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        observer.started(run);
        let (scheme, seed) = (&schemes[run.scheme], settings.seeds[run.seed]);
        let progress = |fraction| observer.reached(run, fraction);
        let outcome = one(
            &scenario,
            scheme,
            seed,
            &settings.bins,
            testbed,
            stop,
            &progress,
        );
        observer.finished(run);
        failed.fetch_or(outcome.is_err(), Ordering::Relaxed);
        outcome
    });
    let by_scheme: Result<Vec<Vec<Option<Measurement>>>, RunsError> = outcomes
        .into_iter()
        .map(|runs| runs.into_iter().collect())
        .collect();
    Ok(comparison(&scenario, &schemes, settings, by_scheme?))
}

/// Schemes that the kernel can run; adds the differences from the scenario to its assumptions.
fn possible(
    scenario: &mut Scenario,
    schemes: &[Spec],
    settings: &Settings,
    testbed: &Testbed,
) -> Result<Vec<Spec>, RunsError> {
    let mut choices = vec![match &testbed.kernel {
        Kernel::Machine(machine) => format!(
            "Measured on Linux {} in virtual time, not simulated.",
            machine.kernel.version
        ),
        Kernel::Native => format!(
            "Measured on this computer's Linux {} in real time, not simulated.",
            native::kernel_version()
        ),
    }];
    if let Some(rexmit) = testbed.rexmit {
        choices.push(format!(
            "Both hosts send lost SYNs again by gentle rexmit: {rexmit}."
        ));
    }
    let seed = settings.seeds.first().copied().unwrap_or_default();
    let mut possible = Vec::new();
    let mut refused = None;
    for scheme in schemes {
        match plan(scenario, scheme, seed, testbed.backing, &testbed.names()) {
            Ok(planned) => {
                possible.push(scheme.clone());
                for deviation in planned.deviations {
                    if !choices.contains(&deviation) {
                        choices.push(deviation);
                    }
                }
            }
            Err(problem) => {
                let missing = matches!(
                    &problem,
                    ExperimentError::Queue(
                        PlanError::NeedsModule { .. } | PlanError::NotInLinux { .. }
                    )
                );
                let problem = RunsError::Plan {
                    scheme: scheme.to_string(),
                    problem,
                };
                if !missing {
                    return Err(problem);
                }
                choices.push(format!("Not run: {problem}."));
                refused = Some(problem);
            }
        }
    }
    match refused {
        Some(problem) if possible.is_empty() => return Err(problem),
        _ => {}
    }
    let queues = scenario.links.iter().map(|link| &link.qdisc);
    // The scheme under test replaces the queue that the scenario names for the first link.
    let queues = queues.skip(1).chain(&possible);
    choices.extend(parts(queues, testbed.backing));
    scenario.choices.extend(choices);
    Ok(possible)
}

/// Says from which parts the schemes that Linux does not have are built; `None`: Linux has all of them.
fn parts<'a>(queues: impl Iterator<Item = &'a Spec>, backing: Backing) -> Option<String> {
    let mut own: Vec<&str> = queues
        .filter(|spec| Module::of(spec).is_some())
        .map(|spec| spec.scheme().name)
        .collect();
    own.sort_unstable();
    own.dedup();
    let what = match backing {
        Backing::Native => "from gentle's own kernel modules",
        Backing::Stock => "from stock parts of Linux (prio, its children and filters)",
    };
    (!own.is_empty()).then(|| format!("Made {what}: {}.", own.join(", ")))
}

/// Makes one run; `None`: stopped.
fn one(
    scenario: &Scenario,
    scheme: &Spec,
    seed: u64,
    bins: &[u64],
    testbed: &Testbed,
    stop: &AtomicBool,
    progress: &dyn Fn(f64),
) -> Result<Option<Measurement>, RunsError> {
    let label = scheme.to_string();
    let mut planned =
        plan(scenario, scheme, seed, testbed.backing, &testbed.names()).map_err(|problem| {
            RunsError::Plan {
                scheme: label.clone(),
                problem,
            }
        })?;
    planned.experiment.rexmit = testbed.rexmit;
    let folder = tempfile::Builder::new()
        .prefix("gentle-run-")
        .tempdir()
        .map_err(|error| trouble(&std::env::temp_dir(), error))?;
    let packets = folder.path().join(PACKETS);
    let experiment = &planned.experiment;
    let observed: Observed = match &testbed.kernel {
        Kernel::Machine(machine) => {
            let machine = Machine {
                files: Some(folder.path().to_owned()),
                ..Machine::clone(machine)
            };
            match machine.run(experiment.clone(), stop, progress) {
                Ok(outcome) => outcome.answer,
                Err(MachineError::Stopped) => return Ok(None),
                Err(problem) => {
                    return Err(RunsError::Machine {
                        scheme: label,
                        seed,
                        problem,
                    });
                }
            }
        }
        Kernel::Native => native::run(experiment, &packets, stop, progress).map_err(|problem| {
            RunsError::Native {
                scheme: label.clone(),
                seed,
                problem,
            }
        })?,
    };
    if observed.interrupted {
        return Ok(None);
    }
    let measurement = measure(&Measured {
        scenario,
        scheme,
        bins,
        planned: &planned,
        observed: &observed,
        packets: &packets,
    })
    .map_err(|problem| RunsError::Results {
        scheme: label,
        seed,
        problem,
    })?;
    if let Some(keep) = &testbed.keep {
        let name = format!("{}-seed-{seed}", file_name(scheme));
        keep_run(&keep.join(name), &planned, &observed, &packets)?;
    }
    Ok(Some(measurement))
}

/// Folder name for a scheme such as `codel target=20ms`.
fn file_name(scheme: &Spec) -> String {
    let text = scheme.to_string();
    text.replace(
        |c: char| !c.is_ascii_alphanumeric() && !"_.=".contains(c),
        "-",
    )
}

fn keep_run(
    folder: &Path,
    planned: &Planned,
    observed: &Observed,
    packets: &Path,
) -> Result<(), RunsError> {
    std::fs::create_dir_all(folder).map_err(|error| trouble(folder, error))?;
    for (name, points) in [
        ("entry.pcapng", [Point::DownEntry, Point::UpEntry]),
        ("exit.pcapng", [Point::DownExit, Point::UpExit]),
    ] {
        let path = folder.join(name);
        split(packets, &path, &points).map_err(|error| trouble(&path, error))?;
    }
    let mut commands = String::new();
    for step in &planned.experiment.setup {
        commands.push_str(&format!("{step}\n"));
    }
    for (name, text) in [
        ("commands.sh", Ok(commands)),
        (
            "connections.json",
            serde_json::to_string(&observed.connections),
        ),
        ("queues.json", serde_json::to_string(&observed.samples)),
    ] {
        let path = folder.join(name);
        let text = text.map_err(|error| trouble(&path, error))?;
        std::fs::write(&path, text).map_err(|error| trouble(&path, error))?;
    }
    Ok(())
}

fn trouble(path: &Path, error: impl ToString) -> RunsError {
    RunsError::File {
        path: path.to_owned(),
        problem: error.to_string(),
    }
}
