//! The command from outside: what goes in, what comes out, how it ends.

mod analyze;
mod command;
mod files;
mod generated;
#[cfg(unix)]
mod interrupt;
mod json;
mod replay;
mod tunnel;
mod usage;
