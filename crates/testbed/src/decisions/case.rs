//! One schedule through both implementations of one scheme.

use super::captured::Arrival;
use super::clock;
use super::compare::{Difference, Tally, compare};
use super::link;
use super::ours::replay;
use super::record::{self, EventError};
use super::schedule::Schedule;
use gentle_aqm::Spec;
use gentle_deploy::{Backing, Device, Link, Parent, PlanError, QueuePlace, plan_at};
use gentle_units::Rate;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The device that the module feeds (`kernel/testing/replay/replay.c`).
pub(crate) const DEVICE: &str = "replay0";

/// A schedule, and the two queues that it goes through.
#[derive(Debug, Clone)]
pub struct Case {
    /// What `tc` sets up.
    pub kernel: Spec,
    /// What has to decide the same.
    pub ours: Spec,
    /// Of the random numbers and of the hash.
    pub seed: u64,
    /// What happens to both.
    pub schedule: Schedule,
    /// Half-way through, `tc` sets the same options again, which must change nothing.
    pub set_again: bool,
}

impl Case {
    /// The same scheme on both sides, with what `tc` and the kernel's timers make of its options on ours.
    pub fn new(spec: &Spec, seed: u64, schedule: Schedule) -> Case {
        Case {
            kernel: spec.clone(),
            ours: ours(spec),
            seed,
            schedule,
            set_again: false,
        }
    }

    /// The same as [`Case::new`] has it, at a link of `rate` that `arrivals` come to.
    ///
    /// The link asks its queue for a packet whenever it has sent the one before, and when it is idle and a packet arrives,
    /// until the queue is empty. When that is depends on what the queue does. The one that decides it is ours; the kernel's
    /// is then asked at the same times.
    pub fn over_link(spec: &Spec, seed: u64, arrivals: &[Arrival], rate: Rate) -> Case {
        let schedule = link::schedule(arrivals, rate, &ours(spec), seed);
        Case::new(spec, seed, schedule)
    }

    /// Writes what the machine needs into `folder`, in files named after `number`.
    pub(super) fn prepare(&self, folder: &Path, number: usize) -> Result<Replay, CaseError> {
        let files = Files::of(folder, number);
        let write = |path: &Path, bytes: &[u8]| fs::write(path, bytes).map_err(at(path));
        write(&files.preamble, &record::preamble(&self.ours, self.seed))?;
        let requests = record::requests(&self.ours, self.seed, &self.schedule);
        let half = if self.set_again {
            self.schedule.steps.len() / 2 * record::REQUEST
        } else {
            requests.len()
        };
        write(&files.requests[0], &requests[..half])?;
        write(&files.requests[1], &requests[half..])?;
        Ok(Replay {
            number,
            commands: self.commands()?,
        })
    }

    /// Compares what the machine left in `folder` with what ours does.
    pub(super) fn check(&self, folder: &Path, number: usize) -> Result<Tally, CaseError> {
        let path = Files::of(folder, number).events;
        let events = fs::read(&path).map_err(at(&path))?;
        let record = record::read(&self.schedule, &events)?;
        let ours = replay(&self.ours, self.seed, &self.schedule, |step| {
            clock::ours(&self.ours, record.begun, record.times[step])
        });
        Ok(compare(&self.schedule, &record.outcomes, &ours)?)
    }

    fn commands(&self) -> Result<Vec<Vec<String>>, PlanError> {
        let under = QueuePlace {
            dev: DEVICE.parse::<Device>().expect("a name of a device"),
            parent: Parent::Root,
            handle: 1,
            link: Link::ETHERNET,
            rate: None,
            link_rate: None,
        };
        let plan = plan_at(&under, &self.kernel, Backing::Native)?;
        Ok(plan
            .commands
            .into_iter()
            .map(|command| {
                let mut argv = vec![command.program.name().to_owned()];
                argv.extend(command.args);
                argv
            })
            .collect())
    }
}

/// What the machine is told of one case.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Replay {
    pub(crate) number: usize,
    /// Those that set the qdisc up, programs and arguments; run again where the requests are in two parts.
    pub(crate) commands: Vec<Vec<String>>,
}

/// Where a case has its files.
pub(crate) struct Files {
    pub(crate) preamble: PathBuf,
    /// The second part may be empty.
    pub(crate) requests: [PathBuf; 2],
    pub(crate) events: PathBuf,
}

impl Files {
    pub(crate) fn of(folder: &Path, number: usize) -> Files {
        let file = |kind: &str| folder.join(format!("{number}.{kind}"));
        Files {
            preamble: file("preamble"),
            requests: [file("requests"), file("more-requests")],
            events: file("events"),
        }
    }
}

/// Why two queues could not be found equal.
#[derive(Debug, Error)]
pub enum CaseError {
    /// A file of the case.
    #[error("{}: {problem}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        problem: io::Error,
    },
    /// `tc` has no words for it.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The kernel did something that it must not do with any scheme.
    #[error(transparent)]
    Event(#[from] EventError),
    /// They are not equal.
    #[error(transparent)]
    Difference(#[from] Box<Difference>),
}

/// The specification with which ours does what the kernel does once `tc` has set up `spec`.
fn ours(spec: &Spec) -> Spec {
    clock::as_timed(&spec.in_kernel())
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> CaseError {
    let path = path.to_owned();
    |problem| CaseError::File { path, problem }
}
