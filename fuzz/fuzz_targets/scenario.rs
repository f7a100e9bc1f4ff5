//! Fuzz target for scenario files. Text after a line `---` is the content of the file that the scenario names.

#![no_main]

use gentle_experiment::{Direction, LinkChange, Scenario};
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
                assert!(scenario.load(direction).is_finite());
            }
            let change = LinkChange { load: Some(0.5), ..LinkChange::default() };
            // An impossible change of the load is rejected, and the load stays the same.
            let before = scenario.load(Direction::Down);
            if scenario.change_links(&change).is_err() {
                assert_eq!(scenario.load(Direction::Down), before);
            }
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
