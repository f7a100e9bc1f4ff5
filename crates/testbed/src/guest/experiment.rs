//! Runs an experiment in the machine.

use super::Place;
use crate::conduct::{self, Observed, Surroundings};
use crate::experiment::Experiment;
use crate::runs::PACKETS;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Start of the traffic. Longer than the network setup takes, so that every run starts at the same time; waiting costs
/// nothing in virtual time.
const START: Duration = Duration::from_secs(100);

pub(super) fn run(experiment: &Experiment, place: &Place) -> Result<Observed, String> {
    let files = place
        .files()
        .ok_or("an experiment needs a directory to write its packets to")?;
    conduct::run(
        experiment,
        &files.join(PACKETS),
        Surroundings {
            cgroup: Path::new("/sys/fs/cgroup"),
            start: START,
        },
        // To stop a run, the host kills the machine.
        &AtomicBool::new(false),
        &|fraction| place.progress(fraction),
    )
}
