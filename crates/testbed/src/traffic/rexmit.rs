//! `gentle rexmit` on both hosts, for the connections that each of them opens.

use super::{TrafficError, namespace};
use crate::experiment::{Experiment, Rexmit, RexmitEngine};
use gentle_rexmit::kernel_engine::Settings;
use gentle_rexmit::wire::{Confinement, Engine, Observer};
use gentle_rexmit::{Answered, Config, Event, Selection, Status, Timing};
use gentle_units::Instant;
use tempfile::TempDir;

/// Network device of each host.
const DEVICES: [&str; 2] = ["c0", "s0"];

/// Settings of the kernel engine; `None` if `rexmit` uses another engine or none.
pub(super) fn settings(rexmit: Option<Rexmit>) -> Option<Settings> {
    let rexmit = rexmit.filter(|rexmit| rexmit.engine == RexmitEngine::Kernel)?;
    let delay = rexmit.delay.unwrap_or(Timing::LEARNED.initial);
    Some(Settings {
        syn_ack: false,
        extend_retries: true,
        ..Settings::everything(std::time::Duration::from_nanos(delay.0))
    })
}

/// Wire engines, one on each host; empty if `rexmit` uses another engine or none.
pub(super) struct Engines {
    pub(super) engines: Vec<Engine>,
    /// Directories of the engines' status sockets.
    _directories: Vec<TempDir>,
}

/// Starts the wire engines of the experiment.
pub(super) fn open(experiment: &Experiment) -> Result<Engines, TrafficError> {
    let mut engines = Engines { engines: Vec::new(), _directories: Vec::new() };
    let Some(rexmit) = experiment.rexmit else {
        return Ok(engines);
    };
    if rexmit.engine == RexmitEngine::Kernel {
        return Ok(engines);
    }
    let selection = Selection { client: true, ..Selection::default() };
    let config = Config { timing: rexmit.delay.map_or(Timing::LEARNED, Timing::fixed), ..Config::new(selection) };
    let hosts = [&experiment.namespaces.client, &experiment.namespaces.server];
    for (seed, (host, device)) in (0..).zip(hosts.into_iter().zip(DEVICES)) {
        let directory = tempfile::tempdir().map_err(|source| TrafficError::RexmitDirectory { source })?;
        let engine = namespace::within(host, || {
            let confinement = Confinement::default();
            let path = directory.path();
            Engine::open(device, config.clone(), path, seed, confinement)
        })?;
        engines.engines.push(engine.map_err(TrafficError::Rexmit)?);
        engines._directories.push(directory);
    }
    Ok(engines)
}

/// Observer that ignores all events; the packet capture shows what the engines do.
pub(super) struct NoopObserver;

impl Observer for NoopObserver {
    fn event(&mut self, _: Instant, _: &Event<'_>, _: bool) {}
    fn answered(&mut self, _: Instant, _: &Answered) {}
    fn report(&mut self, _: &Status) {}
}
