//! A schedule through both implementations of a scheme.

use super::capture::Arrival;
use super::clock::{self, Expiries};
use super::compare::{Difference, Tally, compare};
use super::link;
use super::model::replay;
use super::record::{self, EventError};
use super::schedule::Schedule;
use crate::job::{DEVICE, Replay, ReplayFiles};
use gentle_aqm::Spec;
use gentle_deploy::{Backing, Device, Link, Parent, PlanError, QueuePlace, plan_at};
use gentle_units::Rate;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// A schedule, and the two queues that it goes through.
#[derive(Debug, Clone)]
pub struct Case {
    /// Scheme that `tc` sets up on the kernel.
    pub kernel: Spec,
    /// Scheme that `gentle-aqm` builds.
    pub model: Spec,
    /// Seed of the random numbers and of the flow hash of both queues.
    pub seed: u64,
    /// Arrivals and departures.
    pub schedule: Schedule,
    /// Whether `tc` sets the same options again after half of the schedule, which must change nothing.
    pub set_again: bool,
}

impl Case {
    /// Case with `spec` on the kernel, and a model of what `tc` and the kernel's timers make of its options.
    pub fn new(spec: &Spec, seed: u64, schedule: Schedule) -> Case {
        Case { kernel: spec.clone(), model: model_of(spec), seed, schedule, set_again: false }
    }

    /// Case of `arrivals` at a link of `rate`.
    ///
    /// The link dequeues a packet whenever it has sent the previous one, and when it is idle and a packet arrives,
    /// until the queue is empty. These times depend on the queue; they come from the model, and the kernel's queue is
    /// asked at the same times.
    pub fn over_link(spec: &Spec, seed: u64, arrivals: &[Arrival], rate: Rate) -> Case {
        let schedule = link::schedule(arrivals, rate, &model_of(spec), seed);
        Case::new(spec, seed, schedule)
    }

    /// Writes the requests to `folder`, in files named after `number`.
    pub(super) fn prepare(&self, folder: &Path, number: usize) -> Result<Replay, CaseError> {
        let files = ReplayFiles::of(folder, number);
        let write = |path: &Path, bytes: &[u8]| fs::write(path, bytes).map_err(file_error(path));
        write(&files.preamble, &record::preamble(&self.model, self.seed))?;
        let requests = record::requests(&self.model, self.seed, &self.schedule);
        let half = if self.set_again { self.schedule.steps.len() / 2 * record::REQUEST } else { requests.len() };
        write(&files.requests[0], &requests[..half])?;
        write(&files.requests[1], &requests[half..])?;
        Ok(Replay { number, commands: self.commands()? })
    }

    /// Compares the events that the machine left in `folder` with the decisions of the model.
    pub(super) fn check(&self, folder: &Path, number: usize) -> Result<Tally, CaseError> {
        let path = ReplayFiles::of(folder, number).events;
        let events = fs::read(&path).map_err(file_error(&path))?;
        let record = record::read(&self.schedule, &events)?;
        let model = replay(&self.model, self.seed, &self.schedule, |step| {
            let timer = record.timers.get(step).map(|&next| Expiries { first: record.timers[0], next });
            clock::model_time(&self.model, record.begun, record.times[step], timer)
        });
        Ok(compare(&self.schedule, &record.outcomes, &model)?)
    }

    /// Commands that set up the qdisc.
    fn commands(&self) -> Result<Vec<Vec<String>>, PlanError> {
        let place = QueuePlace {
            dev: DEVICE.parse::<Device>().expect("a name of a device"),
            parent: Parent::Root,
            handle: 1,
            link: Link::ETHERNET,
            rate: None,
            link_rate: None,
        };
        let plan = plan_at(&place, &self.kernel, Backing::Native)?;
        let argv = plan.commands.into_iter().map(|command| {
            let mut argv = vec![command.program.name().to_owned()];
            argv.extend(command.args);
            argv
        });
        Ok(argv.collect())
    }
}

/// Reasons why two queues were not found equal.
#[derive(Debug, Error)]
pub enum CaseError {
    /// A file of the case cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The scheme cannot be set up with `tc`.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The kernel did what no scheme may do, or the module's events are malformed.
    #[error(transparent)]
    Event(#[from] EventError),
    /// The queues decided differently.
    #[error(transparent)]
    Difference(#[from] Box<Difference>),
}

/// Specification with which the model does what the kernel does after `tc` has set up `spec`.
fn model_of(spec: &Spec) -> Spec {
    clock::with_late_timers(&spec.in_kernel())
}

fn file_error(path: &Path) -> impl FnOnce(io::Error) -> CaseError {
    let path = path.to_owned();
    |source| CaseError::File { path, source }
}
