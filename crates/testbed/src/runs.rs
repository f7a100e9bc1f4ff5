//! The testbed as a backend of experiments: each run in a separate machine, or on the host's kernel.

use crate::experiment::{ExperimentError, Namespaces, Planned, Rexmit, plan};
use crate::machine::{Machine, MachineError};
use crate::native::{self, NativeError};
use crate::protocol::PACKETS;
use crate::results::{Inputs, ResultsError, evaluate, split};
use crate::traffic::{CapturePoint, Observations};
use gentle_aqm::Spec;
use gentle_deploy::{Backing, PlanError};
use gentle_experiment::{Aborted, Backend, RunRecord, RunSpec, Scenario, Settings, Watch};
use sha2::{Digest, Sha256};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Kernel that runs are made on.
#[derive(Debug, Clone)]
pub enum Kernel {
    /// A machine that boots for each run.
    Machine(Box<Machine>),
    /// The host's kernel; takes root, and one run at a time.
    Native,
}

impl Kernel {
    /// Name in records of runs.
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

/// Backend that runs experiments on a Linux kernel.
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
    fn namespaces(&self) -> Namespaces {
        match self.kernel {
            Kernel::Machine(_) => Namespaces::plain(),
            Kernel::Native => native::namespaces(),
        }
    }
}

/// Errors of a set of runs.
#[derive(Debug, Error)]
pub enum RunsError {
    /// The kernel cannot provide what a run needs.
    #[error("{scheme}: {source}")]
    Plan {
        /// Scheme of the run.
        scheme: String,
        /// Cause.
        source: ExperimentError,
    },
    /// The machine of a run failed.
    #[error("{scheme}, seed {seed}: {source}")]
    Machine {
        /// Scheme of the run.
        scheme: String,
        /// Seed of the run.
        seed: u64,
        /// Cause.
        source: MachineError,
    },
    /// The run on the host's kernel failed.
    #[error("{scheme}, seed {seed}: {source}")]
    Native {
        /// Scheme of the run.
        scheme: String,
        /// Seed of the run.
        seed: u64,
        /// Cause.
        source: NativeError,
    },
    /// The observations of a run cannot be evaluated.
    #[error("{scheme}, seed {seed}: {source}")]
    Results {
        /// Scheme of the run.
        scheme: String,
        /// Seed of the run.
        seed: u64,
        /// Cause.
        source: ResultsError,
    },
    /// A file or directory of the host cannot be used.
    #[error("{}: {source}", path.display())]
    File {
        /// Path of the file or directory.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The packets of a run cannot be copied to the directory of kept runs.
    #[error("{}: {source}", path.display())]
    Packets {
        /// Path of the copy.
        path: PathBuf,
        /// Cause.
        source: ResultsError,
    },
}

impl RunsError {
    fn file(path: &Path) -> impl FnOnce(io::Error) -> RunsError {
        let path = path.to_owned();
        |source| RunsError::File { path, source }
    }
}

/// Time to boot a machine and to evaluate its observations, on one core of a machine of 2020, seconds.
const BOOT: f64 = 2.0;
/// Bits that a machine carries in a second of computing.
const BITS_PER_SECOND: f64 = 1e8;

impl Backend for Testbed {
    type Error = RunsError;

    fn name(&self) -> String {
        let parts = match self.backing {
            Backing::Native => "with gentle's modules",
            Backing::Stock => "with stock parts",
        };
        let mut name = format!("{} {parts}", self.kernel.name());
        if let Some(rexmit) = self.rexmit {
            name += &format!(", gentle rexmit {rexmit}");
        }
        name
    }

    /// Digest of the program's sources and, in virtual time, of the kernel's and its modules' sources.
    fn engine(&self) -> String {
        let mut parts = vec![env!("GENTLE_ENGINE").to_owned()];
        if let Kernel::Machine(machine) = &self.kernel {
            // The names of these folders in the cache have digests of what they are made from.
            let modules = machine.modules.iter().filter_map(|module| module.parent());
            let folders = std::iter::once(machine.kernel.tree.as_path()).chain(modules);
            parts.extend(folders.map(|folder| {
                let name = folder.file_name().unwrap_or_default();
                name.to_string_lossy().into_owned()
            }));
        }
        let digest = Sha256::digest(parts.join("\n"));
        let digits = digest.iter().take(16).map(|byte| format!("{byte:02x}"));
        digits.collect()
    }

    /// Booting a machine, and carrying the packets.
    fn cost(scenario: &Scenario) -> f64 {
        BOOT + scenario.expected_bits() / BITS_PER_SECOND
    }

    /// Leaves out schemes that need a kernel module if there are none; the assumptions of the scenario say so.
    fn prepare(&self, scenario: &mut Scenario, schemes: &[Spec], settings: &Settings) -> Result<Vec<Spec>, RunsError> {
        runnable(scenario, schemes, settings, self)
    }

    /// True on the host's kernel: in real time, runs would disturb each other.
    fn is_sequential(&self) -> bool {
        matches!(self.kernel, Kernel::Native)
    }

    fn run(&self, run: &RunSpec<'_>, watch: &Watch<'_>) -> Result<RunRecord, Aborted<RunsError>> {
        run_one(run, self, watch)
    }
}

/// Schemes that the kernel can run; adds the differences from the scenario to the assumptions of the scenario.
fn runnable(
    scenario: &mut Scenario,
    schemes: &[Spec],
    settings: &Settings,
    testbed: &Testbed,
) -> Result<Vec<Spec>, RunsError> {
    let mut assumptions = vec![format!("Measured on {}, not simulated.", testbed.kernel.name())];
    if let Some(rexmit) = testbed.rexmit {
        assumptions.push(format!("Both hosts retransmit lost SYNs with gentle rexmit: {rexmit}."));
    }
    let seed = settings.seeds.first().copied().unwrap_or_default();
    let mut runnable = Vec::new();
    let mut refused = None;
    for scheme in schemes {
        match plan(scenario, scheme, seed, testbed.backing, &testbed.namespaces()) {
            Ok(planned) => {
                runnable.push(scheme.clone());
                for deviation in planned.deviations {
                    if !assumptions.contains(&deviation) {
                        assumptions.push(deviation);
                    }
                }
            }
            Err(source) => {
                let missing = matches!(
                    &source,
                    ExperimentError::Queue(
                        PlanError::NeedsModule { .. } | PlanError::NotInLinux { .. } | PlanError::NotOnLinux { .. }
                    )
                );
                let error = RunsError::Plan { scheme: scheme.to_string(), source };
                if !missing {
                    return Err(error);
                }
                assumptions.push(format!("Not run: {error}."));
                refused = Some(error);
            }
        }
    }
    match refused {
        Some(error) if runnable.is_empty() => return Err(error),
        _ => {}
    }
    let queues = scenario.links.iter().map(|link| &link.qdisc);
    // The scheme under test replaces the queue that the scenario names for the first link.
    let queues = queues.skip(1).chain(&runnable);
    assumptions.extend(backing_note(queues, testbed.backing));
    scenario.assumptions.extend(assumptions);
    Ok(runnable)
}

/// Sentence about the parts from which the schemes that Linux does not have are built; `None`: Linux has all of them.
fn backing_note<'a>(queues: impl Iterator<Item = &'a Spec>, backing: Backing) -> Option<String> {
    let mut own: Vec<&str> = queues.filter(|spec| spec.module().is_some()).map(|spec| spec.scheme().name).collect();
    own.sort_unstable();
    own.dedup();
    let parts = match backing {
        Backing::Native => "from gentle's own kernel modules",
        Backing::Stock => "from stock parts of Linux",
    };
    (!own.is_empty()).then(|| format!("Made {parts}: {}.", own.join(", ")))
}

/// Makes one run and evaluates it.
fn run_one(run: &RunSpec<'_>, testbed: &Testbed, watch: &Watch<'_>) -> Result<RunRecord, Aborted<RunsError>> {
    let RunSpec { scenario, scheme, seed, .. } = *run;
    let label = scheme.to_string();
    let mut planned = plan(scenario, scheme, seed, testbed.backing, &testbed.namespaces())
        .map_err(|source| RunsError::Plan { scheme: label.clone(), source })?;
    planned.experiment.rexmit = testbed.rexmit;
    let folder =
        tempfile::Builder::new().prefix("gentle-run-").tempdir().map_err(RunsError::file(&std::env::temp_dir()))?;
    let packets = folder.path().join(PACKETS);
    let experiment = &planned.experiment;
    let (stop, progress) = (watch.stop, watch.progress);
    let observations =
        match &testbed.kernel {
            Kernel::Machine(machine) => {
                let machine = Machine {
                    files: Some(folder.path().to_owned()),
                    seed: Some(scenario.streams(seed).kernel()),
                    ..Machine::clone(machine)
                };
                match machine.run(experiment.clone(), stop, &progress) {
                    Ok(outcome) => outcome.answer,
                    Err(MachineError::Stopped) => return Err(Aborted::Stopped),
                    Err(source) => {
                        return Err(Aborted::Failed(RunsError::Machine { scheme: label, seed, source }));
                    }
                }
            }
            Kernel::Native => native::run(experiment, &packets, stop, &progress)
                .map_err(|source| RunsError::Native { scheme: label.clone(), seed, source })?,
        };
    if observations.interrupted {
        return Err(Aborted::Stopped);
    }
    let record = evaluate(&Inputs {
        spec: *run,
        backend: &testbed.name(),
        engine: &testbed.engine(),
        planned: &planned,
        observations: &observations,
        packets: &packets,
    })
    .map_err(|source| RunsError::Results { scheme: label, seed, source })?;
    if let Some(keep) = &testbed.keep {
        let name = format!("{}-seed-{seed}", file_name(scheme));
        keep_run(&keep.join(name), &planned, &observations, &packets)?;
    }
    Ok(record)
}

/// Folder name for a scheme such as `codel target=20ms`.
fn file_name(scheme: &Spec) -> String {
    let text = scheme.to_string();
    text.replace(|c: char| !c.is_ascii_alphanumeric() && !"_.=".contains(c), "-")
}

/// Writes plan, packets and observations of a run to `folder`.
fn keep_run(folder: &Path, planned: &Planned, observations: &Observations, packets: &Path) -> Result<(), RunsError> {
    fs::create_dir_all(folder).map_err(RunsError::file(folder))?;
    for (name, points) in [
        ("entry.pcapng", [CapturePoint::DownEntry, CapturePoint::UpEntry]),
        ("exit.pcapng", [CapturePoint::DownExit, CapturePoint::UpExit]),
    ] {
        let path = folder.join(name);
        split(packets, &path, &points).map_err(|source| RunsError::Packets { path, source })?;
    }
    let mut commands = String::new();
    for step in &planned.experiment.setup {
        commands.push_str(&format!("{step}\n"));
    }
    for (name, text) in [
        ("commands.sh", Ok(commands)),
        ("connections.json", serde_json::to_string(&observations.connections)),
        ("queues.json", serde_json::to_string(&observations.samples)),
    ] {
        let path = folder.join(name);
        text.map_err(io::Error::from).and_then(|text| fs::write(&path, text)).map_err(RunsError::file(&path))?;
    }
    Ok(())
}
