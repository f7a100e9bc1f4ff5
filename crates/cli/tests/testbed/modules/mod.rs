//! Our queue disciplines as operators and attackers meet them.
//!
//! What talks to the kernel runs within the machine: tests of this same program, which are ignored elsewhere, and which a
//! test outside starts there by name. Whatever the kernel complains about fails the test. The
//! kernel is the plain one, or with GENTLE_TESTBED_KERNEL=debug the one that watches memory and locks.

mod bands;
mod beside;
mod classes;
mod deployed;
mod faults;
mod guest;
mod laboratory;
mod load;
mod malformed;
mod options;
mod packets;
mod page;
mod selftests;
mod smp;
mod table;

pub(crate) use laboratory::{RUNS_ON, kernel_folder};
