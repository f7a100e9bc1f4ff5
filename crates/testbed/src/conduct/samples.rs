//! Statistics of the router's queues.

use super::clock::Start;
use super::observed::Sample;
use crate::experiment::Experiment;
use std::process::{Command, Stdio};

/// Takes a sample with `tc`.
pub(super) fn take(experiment: &Experiment, start: Start) -> Result<Sample, String> {
    let at_ns = start.elapsed_ns()?;
    let router = &experiment.names.router;
    let output = Command::new("tc")
        .args(["-n", router, "-s", "-j", "qdisc", "show"])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("tc: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("tc -s -j qdisc show: {}", said.trim()));
    }
    let qdiscs = serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("tc -s -j qdisc show: {error}"))?;
    Ok(Sample { at_ns, qdiscs })
}
