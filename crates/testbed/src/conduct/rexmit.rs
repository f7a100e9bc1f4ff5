//! `gentle rexmit` on both hosts, for the connections that each opens.

use super::namespace;
use crate::experiment::{Experiment, Rexmit, RexmitEngine};
use gentle_rexmit::kernel_engine::Settings;
use gentle_rexmit::wire::{Confinement, Engine, Observer};
use gentle_rexmit::{Answered, Config, Due, Selection, Status, Timing};
use gentle_units::Nanos;
use tempfile::TempDir;

/// The device of each host.
const DEVICES: [&str; 2] = ["c0", "s0"];

/// What the kernel engine is told, where that is the one.
pub(super) fn settings(rexmit: Option<Rexmit>) -> Option<Settings> {
    let rexmit = rexmit.filter(|rexmit| rexmit.engine == RexmitEngine::Kernel)?;
    let delay = rexmit.delay.unwrap_or(Timing::LEARNED.initial);
    Some(Settings {
        syn_ack: false,
        patient: true,
        ..Settings::everything(std::time::Duration::from_nanos(delay.0))
    })
}

/// Wire engines that listen, one on each host, where that is the one.
pub(super) struct Engines {
    pub(super) engines: Vec<Engine>,
    /// Where they could be asked for their status.
    _directories: Vec<TempDir>,
}

pub(super) fn open(experiment: &Experiment) -> Result<Engines, String> {
    let mut engines = Engines {
        engines: Vec::new(),
        _directories: Vec::new(),
    };
    let Some(rexmit) = experiment.rexmit else {
        return Ok(engines);
    };
    if rexmit.engine == RexmitEngine::Kernel {
        return Ok(engines);
    }
    let selection = Selection {
        client: true,
        ..Selection::default()
    };
    let config = Config {
        timing: rexmit.delay.map_or(Timing::LEARNED, Timing::fixed),
        ..Config::new(selection)
    };
    let hosts = [&experiment.names.client, &experiment.names.server];
    for (seed, (host, device)) in (0..).zip(hosts.into_iter().zip(DEVICES)) {
        let directory = tempfile::tempdir().map_err(|error| format!("gentle rexmit: {error}"))?;
        let engine = namespace::within(host, || {
            let confinement = Confinement::default();
            let path = directory.path();
            Engine::open(device, config.clone(), path, seed, Vec::new(), confinement)
        })?;
        engines
            .engines
            .push(engine.map_err(|error| format!("gentle rexmit: {error}"))?);
        engines._directories.push(directory);
    }
    Ok(engines)
}

/// What they do is seen in the packets.
pub(super) struct Unheard;

impl Observer for Unheard {
    fn due(&mut self, _: Nanos, _: &Due<'_>, _: bool) {}
    fn answered(&mut self, _: Nanos, _: &Answered) {}
    fn report(&mut self, _: &Status) {}
}
