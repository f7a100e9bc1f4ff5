//! TCP handshakes as they pass a network device: which are slow or fail, and why.
//!
//! The crate is empty on systems other than Linux.

#![cfg(target_os = "linux")]

#[cfg_attr(not(test), expect(dead_code))]
mod filter;
mod summary;

pub use summary::{Summary, VERSION, WatchLine};
