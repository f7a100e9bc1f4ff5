//! Scenario files that are refused, and comparisons merged from records.

mod merge;
mod scenario_errors;
