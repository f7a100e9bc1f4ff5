//! SHA-256 of the records of runs. Built with `GENTLE_EXPECTED`, the program panics, in WebAssembly a trap, unless it finds
//! that digest; built without, it prints the digest. `tests/bytes.rs` builds it natively and for `wasm32-unknown-unknown`.

use gentle_experiment::{Backend, DEFAULT_BINS, RunSpec, Scenario, Watch};
use gentle_sim::Simulator;
use gentle_units::Nanos;
use sha2::{Digest, Sha256};
use std::sync::atomic::AtomicBool;

fn main() {
    let digest = digest();
    match option_env!("GENTLE_EXPECTED") {
        Some(expected) => assert_eq!(digest, expected),
        None => println!("{digest}"),
    }
}

/// Digest of the records of runs under the schemes of the paper, with random loss.
///
/// Records, not the results of a comparison: the probabilities of its tests come from logarithms and exponentials of the
/// platform's mathematical library, which differ in the last bit.
fn digest() -> String {
    let mut sha = Sha256::new();
    let stop = AtomicBool::new(false);
    let watch = Watch {
        stop: &stop,
        progress: &|_| {},
    };
    for name in ["real", "real-reverse"] {
        let mut scenario = Scenario::builtin(name).expect("it is built in");
        scenario.set_duration(Nanos::from_secs(20));
        scenario.links[0].loss = 0.01;
        for scheme in &scenario.schemes_to_compare() {
            let run = RunSpec {
                scenario: &scenario,
                scheme,
                seed: 1,
                bins: &DEFAULT_BINS,
                keep_connections: false,
            };
            let record = Simulator.run(&run, &watch).expect("nothing stops it");
            sha.update(serde_json::to_vec(&record).expect("records have text keys"));
        }
    }
    let digest = sha.finalize();
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
