#![doc = include_str!("../README.md")]
#![cfg(target_os = "linux")]

mod conntrack;
mod counters;
mod finding;
mod growth;
mod host;
mod kind;
mod ledger;
mod listeners;
mod missing;
mod proc_file;
mod qdiscs;
mod reasons;
mod tcp_counters;
mod wording;
mod worst;

pub use finding::Finding;
pub use host::Host;
pub use kind::FindingKind;
pub use listeners::MAX_SOCKETS;
pub use missing::{Missing, Source};
pub use qdiscs::MAX_QDISCS;
pub use worst::MAX_PLACES;
