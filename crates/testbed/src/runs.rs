//! Many runs: every scheme under every seed, each in a machine of its own, and the results of a comparison.

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

/// The file of packets, in the directory that a run may write to.
pub(crate) const PACKETS: &str = "packets.pcapng";

/// The kernel of a run.
#[derive(Debug, Clone)]
pub enum Kernel {
    /// That of a machine which boots for each run.
    Machine(Box<Machine>),
    /// This computer's own; takes root, and one run at a time.
    Native,
}

/// Where runs are made.
#[derive(Debug, Clone)]
pub struct Testbed {
    /// What each run is made on.
    pub kernel: Kernel,
    /// From which parts schemes are made that Linux does not have.
    pub backing: Backing,
    /// What sends lost SYNs of the hosts again.
    pub rexmit: Option<Rexmit>,
    /// Below it, everything that was observed is kept, a folder for each run.
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

/// Why there are no results.
#[derive(Debug, Error)]
pub enum RunsError {
    /// A run cannot be made of what the kernel has.
    #[error("{scheme}: {problem}")]
    Plan {
        /// The scheme.
        scheme: String,
        /// Why.
        problem: ExperimentError,
    },
    /// The machine of a run failed.
    #[error("{scheme}, seed {seed}")]
    Machine {
        /// The scheme.
        scheme: String,
        /// The seed.
        seed: u64,
        /// What happened.
        #[source]
        problem: MachineError,
    },
    /// The run on this computer's own kernel failed.
    #[error("{scheme}, seed {seed}")]
    Native {
        /// The scheme.
        scheme: String,
        /// The seed.
        seed: u64,
        /// What happened.
        #[source]
        problem: NativeError,
    },
    /// What a run observed is of no use.
    #[error("{scheme}, seed {seed}")]
    Results {
        /// The scheme.
        scheme: String,
        /// The seed.
        seed: u64,
        /// What is wrong.
        #[source]
        problem: ResultsError,
    },
    /// A file or directory of the host is not as needed.
    #[error("{path}: {problem}")]
    File {
        /// Where.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
}

/// Runs `scenario` under each scheme with each seed on the kernel, as many at a time as the current rayon pool has threads.
///
/// Schemes that only a module could be are left out where there are none, with a sentence among the results' choices. When `stop` becomes true,
/// what has finished by then is returned, marked `interrupted`.
///
/// # Errors
/// The first run that failed, or what cannot be had of a kernel.
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

/// The schemes that the kernel can have; what differs from the scenario is added to its choices.
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
    // The queue that a scenario names for the link under test is not the one that is run.
    let queues = queues.skip(1).chain(&possible);
    choices.extend(parts(queues, testbed.backing));
    scenario.choices.extend(choices);
    Ok(possible)
}

/// What the schemes are made of that Linux does not have; `None`: it has all of them.
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

/// One run; `None`: it was stopped.
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

/// `codel target=20ms` as the name of a folder.
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
