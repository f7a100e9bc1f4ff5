//! Scenario files. What stands behind a line of `---` is the file that the scenario names.

#![no_main]

use gentle_sim::{Direction, Scenario};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let (scenario, file) = text.split_once("\n---\n").unwrap_or((text, ""));
    match Scenario::from_toml("fuzz.toml", scenario, &|_| Ok(file.to_owned())) {
        Ok(mut scenario) => {
            assert!(!scenario.workloads.is_empty());
            assert!(scenario.groups().len() <= scenario.workloads.len());
            for workload in &scenario.workloads {
                let [initiator, responder] = scenario.profiles(workload);
                assert!(!workload.initiator_tcp.is_empty() || initiator == responder);
            }
            let duration = scenario.duration;
            scenario.set_duration(duration);
            for direction in [Direction::Down, Direction::Up] {
                let link = scenario.link(direction);
                assert!((0.0..=1.0).contains(&link.loss));
                let rate = link.rate;
                scenario.set_rate(direction, rate);
            }
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
