//! Fuzz target for lists of flows to replay.

#![no_main]

use gentle_experiment::{Scenario, Traffic};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match Scenario::from_flows("fuzz.csv", text) {
        Ok(scenario) => {
            for workload in &scenario.workloads {
                if let Traffic::Replay(list) = &workload.traffic {
                    assert!(list.flows.len() <= text.lines().count());
                }
            }
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
