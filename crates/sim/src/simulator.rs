//! The simulator as a backend of experiments.

use crate::engine::{BACKEND, ENGINE, NoTap, Simulation, Stopped};
use gentle_aqm::Spec;
use gentle_experiment::results::Comparison;
use gentle_experiment::{Aborted, Backend, Observer, RunRecord, RunSpec, Scenario, Settings, Watch};
use std::convert::Infallible;
use std::sync::atomic::AtomicBool;

/// Simulated bits per second of computing, on one core of a machine of 2020.
const BITS_PER_SECOND: f64 = 1.3e10;
/// Cost of a run besides its traffic, seconds.
const RUN: f64 = 200e-6;

/// Runs experiments in the event simulator, which cannot fail.
#[derive(Debug, Clone, Copy, Default)]
pub struct Simulator;

impl Backend for Simulator {
    type Error = Infallible;

    fn name(&self) -> String {
        BACKEND.to_owned()
    }

    fn engine(&self) -> String {
        ENGINE.to_owned()
    }

    /// Proportional to the bits that the run simulates.
    fn cost(scenario: &Scenario) -> f64 {
        RUN + scenario.expected_bits() / BITS_PER_SECOND
    }

    fn run(&self, run: &RunSpec<'_>, watch: &Watch<'_>) -> Result<RunRecord, Aborted<Infallible>> {
        let end = run.scenario.ends_at().as_secs_f64();
        Simulation::new(run, NoTap)
            .run(|now| watch.reached(now.as_secs_f64() / end))
            .map_err(|Stopped| Aborted::Stopped)
    }
}

/// Compares schemes in the simulator: [`gentle_experiment::compare`] with a backend that cannot fail.
pub fn compare(
    scenario: &Scenario,
    schemes: &[Spec],
    settings: &Settings,
    observer: &dyn Observer,
    stop: &AtomicBool,
) -> Comparison {
    let Ok(comparison) = gentle_experiment::compare(&Simulator, scenario, schemes, settings, observer, stop);
    comparison
}
