//! Prints the record of a run of a scenario file under each scheme, a line each, as JSON: for comparing builds of the
//! simulator for different machines.

use gentle_aqm::{Spec, registry};
use gentle_experiment::{Backend, DEFAULT_BINS, RunSpec, Scenario, Watch};
use gentle_sim::Simulator;
use std::error::Error;
use std::sync::atomic::AtomicBool;

fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(1).ok_or("usage: records SCENARIO")?;
    let text = std::fs::read_to_string(&file)?;
    let scenario = Scenario::from_toml(&file, &text, &|path| std::fs::read_to_string(path))?;
    let stop = AtomicBool::new(false);
    let watch = Watch { stop: &stop, progress: &|_| {} };
    // Shapers need a rate, and have the queues of others.
    for scheme in registry::listed().filter(|scheme| scheme.shaper.is_none()) {
        let scheme: Spec = scheme.name.parse()?;
        let run =
            RunSpec { scenario: &scenario, scheme: &scheme, seed: 1, bins: &DEFAULT_BINS, keep_connections: false };
        let record = Simulator.run(&run, &watch).map_err(|_| "the run was stopped")?;
        println!("{}", serde_json::to_string(&record)?);
    }
    Ok(())
}
