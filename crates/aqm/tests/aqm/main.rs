//! Every scheme: invariants, specifications that parse back, and recorded decisions of the kernel's qdiscs.

mod invariants;
mod kernel_decisions;
mod kernel_red;
mod specification;

#[path = "../../src/testing.rs"]
#[allow(dead_code, reason = "the tests use a part of it")]
mod testing;
