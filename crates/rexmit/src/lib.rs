#![doc = include_str!("../README.md")]

mod bounded;
mod budget;
mod classify;
mod config;
mod copy;
mod counters;
mod estimate;
mod event;
mod frame;
#[cfg(target_os = "linux")]
pub mod kernel_engine;
mod learned;
mod metrics;
mod paths;
mod pending;
mod quoted;
mod recent;
mod retransmitter;
mod select;
mod spurious_budget;
mod status;
mod timing;
mod undecided;
mod unresponsive;
#[cfg(target_os = "linux")]
pub mod wire;

pub use budget::{Limits, SHARE_BURST};
pub use config::Config;
pub use counters::Counters;
pub use event::{Answered, Event, FrameCopy, SuppressReason};
pub use frame::{Connection, Direction, Frame, Kind, Vlan};
pub use learned::{LearnedError, format_learned, parse_learned};
pub use metrics::metrics;
pub use paths::PathRecord;
pub use retransmitter::Retransmitter;
pub use select::{Ports, Selection};
pub use status::{STATUS_VERSION, Status};
pub use timing::Timing;
pub use undecided::CopyOutcome;
