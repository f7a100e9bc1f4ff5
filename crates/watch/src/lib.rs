//! TCP handshakes as they pass a network device: which are slow or fail, and why.
//!
//! A [`Watch`] receives the packets that a filter in the kernel selects (all SYNs, FINs and RSTs, and the data of a sample of
//! connections), analyses them with [`gentle_trace::live`], and reports to an [`Observer`]. Its memory is bounded.
//!
//! The crate is empty on systems other than Linux.

#![cfg(target_os = "linux")]

mod error;
mod filter;
mod limits;
mod listing;
mod metrics;
mod ring;
mod sampling;
mod summary;
mod watch;

pub use error::WatchError;
pub use metrics::Metrics;
pub use ring::LEAST_RING;
pub use summary::{Counts, Summary, VERSION, WatchLine};
pub use watch::{Config, Observer, Watch};
