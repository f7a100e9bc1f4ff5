//! Linux in virtual time: a kernel that runs as an ordinary process, and jobs that run in it.
//!
//! User-mode Linux is Linux built as a program. With its "time travel" it has a clock of its own, which jumps over idle
//! time and stands still while code runs: real TCP and real queue disciplines, without root, unaffected by what else the
//! computer does.
//!
//! - [`build`] makes the kernel, and modules for it, and keeps them in a cache.
//! - [`machine`] boots a kernel, has a [`Task`] done in it and collects what came of it.
//! - [`guest`] is the side within. There the same program runs that started the machine: the host's files are the
//!   machine's, read-only.
//! - [`decisions`] puts the same packets through the kernel's queues and those of `gentle-aqm`, and compares.
//! - [`experiment`] plans the run of a simulator's scenario down to each command, [`conduct`] carries it out where the
//!   kernel is, [`results`] makes of what was seen what the simulator reports, and [`runs`] does all of that for many
//!   schemes and seeds.

pub mod build;
pub mod check;
pub mod conduct;
pub mod decisions;
pub mod experiment;
pub mod guest;
pub mod machine;
pub mod native;
pub mod results;
pub mod runs;

mod job;

pub use job::{Command, Finished, Job, Task};
