//! The testbed as a backend of experiments: each run in a machine of its own, or on this computer's kernel.

use crate::conduct::{Observed, Point};
use crate::experiment::{ExperimentError, Names, Planned, Rexmit, plan};
use crate::machine::{Machine, MachineError};
use crate::native::{self, NativeError};
use crate::results::{ResultsError, Run as Measured, measure, split};
use gentle_aqm::Spec;
use gentle_deploy::{Backing, PlanError};
use gentle_experiment::{Aborted, Backend, RunRecord, RunSpec, Scenario, Settings, Watch};
use std::path::{Path, PathBuf};
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

impl Kernel {
    /// The name for records of runs.
    fn name(&self) -> String {
        match self {
            Kernel::Machine(machine) => {
                format!("Linux {} in virtual time", machine.kernel.version)
            }
            Kernel::Native => {
                let version = native::kernel_version();
                format!("this computer's Linux {version} in real time")
            }
        }
    }
}

/// Where runs are made.
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

impl Backend for Testbed {
    type Error = RunsError;

    /// Schemes that only a module could be are left out where there are none, with a sentence among the scenario's choices.
    fn prepare(
        &self,
        scenario: &mut Scenario,
        schemes: &[Spec],
        settings: &Settings,
    ) -> Result<Vec<Spec>, RunsError> {
        possible(scenario, schemes, settings, self)
    }

    /// In real time, runs would disturb each other.
    fn is_sequential(&self) -> bool {
        matches!(self.kernel, Kernel::Native)
    }

    fn run(&self, run: &RunSpec<'_>, watch: &Watch<'_>) -> Result<RunRecord, Aborted<RunsError>> {
        one(run, self, watch)
    }
}

/// Schemes that the kernel can run; adds the differences from the scenario to its assumptions.
fn possible(
    scenario: &mut Scenario,
    schemes: &[Spec],
    settings: &Settings,
    testbed: &Testbed,
) -> Result<Vec<Spec>, RunsError> {
    let mut choices = vec![format!(
        "Measured on {}, not simulated.",
        testbed.kernel.name()
    )];
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
                        PlanError::NeedsModule { .. }
                            | PlanError::NotInLinux { .. }
                            | PlanError::NotOnLinux { .. }
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
    scenario.assumptions.extend(choices);
    Ok(possible)
}

/// Says from which parts the schemes that Linux does not have are built; `None`: Linux has all of them.
fn parts<'a>(queues: impl Iterator<Item = &'a Spec>, backing: Backing) -> Option<String> {
    let mut own: Vec<&str> = queues
        .filter(|spec| spec.module().is_some())
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

/// One run.
fn one(
    run: &RunSpec<'_>,
    testbed: &Testbed,
    watch: &Watch<'_>,
) -> Result<RunRecord, Aborted<RunsError>> {
    let RunSpec {
        scenario,
        scheme,
        seed,
        ..
    } = *run;
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
    let (stop, progress) = (watch.stop, watch.progress);
    let observed: Observed = match &testbed.kernel {
        Kernel::Machine(machine) => {
            let machine = Machine {
                files: Some(folder.path().to_owned()),
                ..Machine::clone(machine)
            };
            match machine.run(experiment.clone(), stop, &progress) {
                Ok(outcome) => outcome.answer,
                Err(MachineError::Stopped) => return Err(Aborted::Stopped),
                Err(problem) => {
                    return Err(Aborted::Failed(RunsError::Machine {
                        scheme: label,
                        seed,
                        problem,
                    }));
                }
            }
        }
        Kernel::Native => {
            native::run(experiment, &packets, stop, &progress).map_err(|problem| {
                RunsError::Native {
                    scheme: label.clone(),
                    seed,
                    problem,
                }
            })?
        }
    };
    if observed.interrupted {
        return Err(Aborted::Stopped);
    }
    let record = measure(&Measured {
        run: *run,
        backend: &testbed.kernel.name(),
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
    Ok(record)
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
