#![doc = include_str!("../README.md")]

mod bounded;
mod budget;
mod claims;
mod classify;
mod config;
mod copy;
mod counters;
mod credit;
mod due;
mod estimate;
mod frame;
#[cfg(target_os = "linux")]
pub mod kernel_engine;
mod memory;
mod metrics;
mod paths;
mod pending;
mod quoted;
mod recent;
mod retransmitter;
mod select;
mod silent;
mod status;
mod timing;
#[cfg(target_os = "linux")]
pub mod wire;

pub use budget::{Limits, SHARE_BURST};
pub use claims::Settled;
pub use config::Config;
pub use counters::Counters;
pub use due::{Answered, Copy, Due, Held};
pub use frame::{Connection, Direction, Frame, Kind, Vlan};
pub use memory::{MemoryError, recall, remember};
pub use metrics::metrics;
pub use paths::PathRecord;
pub use retransmitter::Retransmitter;
pub use select::{Ports, Selection};
pub use status::{STATUS_VERSION, Status};
pub use timing::Timing;
