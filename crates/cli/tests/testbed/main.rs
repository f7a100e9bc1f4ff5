//! Machines: real kernels, booted by the command as its users would.
//!
//! The tests share one kernel, which is built if the cache has none; that takes minutes. If none can be built, the
//! tests say why and pass, unless GENTLE_TESTBED=required (`make test` sets it).
#![cfg(target_os = "linux")]

mod applications;
mod build;
mod causes;
mod clock;
mod decisions;
mod dialogues;
mod directions;
mod end;
mod exec;
mod harm;
mod kernel;
mod library;
mod lookups;
mod modules;
mod native;
mod rexmit;
mod rivals;
mod run;
mod scenarios;
mod schemes;
mod tunnels;
mod user;
mod watch;
