//! The command from outside: what goes in, what comes out, how it ends.

mod analyze;
mod command;
mod experiment;
mod files;
mod generated;
#[cfg(unix)]
mod interrupt;
mod json;
mod merge;
mod outputs;
mod replay;
mod schema;
mod tunnel;
mod usage;
