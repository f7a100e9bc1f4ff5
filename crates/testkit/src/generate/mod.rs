//! Captures that a benchmark or a test can order: so many packets, so many connections, such losses, and beside the
//! capture the truth about it.
//!
//! The connections are run by the end points of `gentle-tcp` (so backoff, delayed ACKs, slow start, SACK and recovery
//! are those of its profiles) over a path that loses packets at random, and recorded in its middle. Without a queue
//! there is no congestion: what is lost is what the options ask for.

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

pub use connection::{Answer, CLIENT, Connection, Opening, Plan, SERVER, Side, Way};
pub use file::Capture;
pub use flood::write as write_flood;
pub use generator::Generator;
pub use options::{Format, Options, Vantage};
pub use path::Host;
pub use truth::{Copies, Truth};
