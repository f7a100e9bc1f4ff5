//! Gentle's queue disciplines as operators and attackers encounter them.
//!
//! Tests that talk to the kernel run within the machine: they are tests of this program, ignored elsewhere, and started
//! there by name by a test outside. Any warning of the kernel fails the test. The kernel is the plain one, or with
//! GENTLE_TESTBED_KERNEL=debug the one that checks memory and locks.

mod bands;
mod beside;
mod classes;
mod deployed;
mod far;
mod faults;
mod flows;
mod foreign;
mod gentle;
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
mod trees;

pub(crate) use laboratory::{NOT_STOPPED, kernel_folder};
