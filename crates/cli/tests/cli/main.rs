//! Tests of the command as a process: inputs, outputs, exit codes.

#![expect(clippy::disallowed_methods, reason = "what tests compute is no result")]

mod analyze;
mod command;
mod dns;
mod evaluation;
mod example;
mod experiment;
mod files;
mod generated;
#[cfg(unix)]
mod hostile;
#[cfg(unix)]
mod interrupt;
mod json;
#[cfg(unix)]
mod lab;
mod model;
mod names;
mod outputs;
mod pcap;
#[cfg(unix)]
mod records;
mod replay;
mod reproduce;
mod schema;
mod store;
mod sweep;
mod tunnel;
mod usage;
