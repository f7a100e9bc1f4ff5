//! Statistics of the router's queues.

use super::clock::RunClock;
use super::observations::Sample;
use super::{StatisticsError, TrafficError};
use crate::experiment::Experiment;
use serde_json::Value;
use std::process::{Command, Stdio};

/// Takes a sample with `tc`.
pub(super) fn take(experiment: &Experiment, clock: RunClock) -> Result<Sample, TrafficError> {
    let at_ns = clock.elapsed_ns()?;
    let qdiscs = qdiscs(&experiment.namespaces.router).map_err(TrafficError::Statistics)?;
    Ok(Sample { at_ns, qdiscs })
}

fn qdiscs(router: &str) -> Result<Vec<Value>, StatisticsError> {
    let output = Command::new("tc").args(["-n", router, "-s", "-j", "qdisc", "show"]).stdin(Stdio::null()).output()?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        return Err(StatisticsError::Exit(stderr.trim().to_owned()));
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}
