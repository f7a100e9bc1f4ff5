//! TCP connections opened at a fixed rate, with lost SYNs and lost SYN/ACKs counted separately.
//!
//! A [`Prober`] opens connections to its [`Target`]s with connect(2), without privileges, closes each as soon as the
//! handshake has completed, and reports a [`Connect`] for each. Servers see connections that send nothing.
//!
//! The kernel's TCP_INFO (tcp(7)) shows how often a SYN was retransmitted, and the age of the SYN that the server
//! answered. [`verdict`] derives from them which packets were lost:
//!
//! - `connect time - age` is the time at which the answered SYN was sent. The SYNs sent before it did not arrive, or the
//!   server ignored them.
//! - The SYNs sent after it were needed because the answer, a SYN/ACK, was lost or late.
//!
//! The age is known if both ends use TCP timestamps: Linux then measures the round-trip time of a retransmitted SYN from
//! the timestamp that the SYN/ACK echoes (`tcp_ack_update_rtt`, net/ipv4/tcp_input.c), and a Linux server echoes the
//! timestamp of the first SYN that arrived (`tcp_check_req`, net/ipv4/tcp_minisocks.c).
//!
//! The crate is empty on systems other than Linux.

#![cfg(target_os = "linux")]

mod connect;
mod lane;
mod metrics;
mod prober;
mod recent;
mod resolve;
mod schedule;
mod socket;
mod summary;
mod target;
mod tcp_info;
pub mod verdict;

pub use connect::{Connect, Event, Outcome, VERSION};
pub use metrics::Metrics;
pub use prober::{Config, MAX_TARGETS, MAX_TOTAL_RATE, MAX_UNDER_WAY, ProbeError, Prober};
pub use recent::Recent;
pub use schedule::Schedule;
pub use summary::{ConnectTimes, ProbeLine, SummaryLine, TargetSummary};
pub use target::{Families, ParseTargetError, Target};
