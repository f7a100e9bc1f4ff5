//! Execution of an experiment in the machine.

use super::JobContext;
use super::error::JobError;
use crate::experiment::Experiment;
use crate::protocol::PACKETS;
use crate::traffic::{self, Environment, Observations};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Start of the traffic. Longer than the network setup takes, so that every run starts at the same time; waiting costs
/// nothing in virtual time.
const START: Duration = Duration::from_secs(100);

/// Runs an experiment; the packet capture goes to the machine's directory.
pub(super) fn run(experiment: &Experiment, context: &JobContext) -> Result<Observations, JobError> {
    let files = context.files().ok_or(JobError::NoFiles("the packets of the experiment"))?;
    let environment = Environment { cgroup: Path::new("/sys/fs/cgroup"), start: START };
    // To stop a run, the host kills the machine.
    let stop = AtomicBool::new(false);
    let progress = |fraction| context.progress(fraction);
    Ok(traffic::run(experiment, &files.join(PACKETS), environment, &stop, &progress)?)
}
