//! Captures for benchmarks and tests, with a given number of packets and connections and given losses, and the ground
//! truth about each capture.
//!
//! The connections are run by the end points of `gentle-tcp` (so backoff, delayed ACKs, slow start, SACK and recovery
//! are those of its profiles) on [`event_loop`](crate::event_loop), over a path that loses packets at random, and
//! recorded in its middle. Without a queue there is no congestion: packets are lost only as the options ask.

mod connection;
mod file;
mod flood;
mod frame;
mod generator;
mod options;
mod path;
mod sizes;
mod truth;
mod vantage;

pub use connection::{Answer, CLIENT, Connection, Opening, PathPart, Peer, Plan, SERVER};
pub use file::Capture;
pub use flood::write as write_flood;
pub use generator::Generator;
pub use options::{Format, Options, Vantage};
pub use path::Host;
pub use truth::{Copies, Truth};
