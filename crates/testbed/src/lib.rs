//! Linux in virtual time: runs a Linux kernel as an ordinary process, and jobs inside it.
//!
//! User-mode Linux is Linux built as a program. In its time-travel mode, its clock jumps over idle time and stands
//! still while code runs. This gives real TCP and real queue disciplines, without root, unaffected by the load of the
//! host.
//!
//! - [`build`] builds the kernel and modules for it, and caches them.
//! - [`machine`] boots a kernel, runs a [`Task`] in it and collects the results.
//! - [`guest`] is the code that runs inside the machine. The guest runs the program that started the machine: the files
//!   of the host are its root file system, read-only.
//! - [`conformance`] sends the same packets through the qdiscs of the kernel and the qdiscs of `gentle-aqm`, and
//!   compares their decisions.
//! - [`experiment`] plans a run of a simulator scenario down to each command, [`traffic`] executes the plan on the
//!   kernel, [`results`] computes the metrics that the simulator reports, and [`runs`] does all of this for many
//!   schemes and seeds.
//! - [`native`] runs an experiment on the host's own kernel instead of a machine's.
//! - [`check`] compares simulated and measured results.
//!
//! # Errors
//! The [`Display`](std::fmt::Display) of every error of this crate includes its cause.

pub mod build;
pub mod check;
pub mod conformance;
pub mod experiment;
pub mod guest;
pub mod machine;
pub mod native;
pub mod results;
pub mod runs;
pub mod traffic;

mod job;
mod protocol;

pub use job::{Command, Finished, Job, Replay, ReplayJob, Replayed, Task};
