//! Scenario files that are refused, and records of runs.

mod records;
mod scenario_errors;
