//! Queue disciplines as values: `enqueue(now, packet)`, `dequeue(now)`, and every drop returned with its reason.
//!
//! The crate does no I/O, reads no clock, has no global random generator and allocates nothing per packet once the
//! queues have grown. Time is an argument and randomness a seed. Where Linux has a scheme, Linux is the reference for
//! fixed-point arithmetic and defaults, and `tc` for option names. Each scheme is one file, named as in `tc`;
//! [`registry`] lists them.
//!
//! ```
//! use gentle_aqm::{Spec, registry};
//!
//! let spec: Spec = "pfifo limit=50".parse()?;
//! assert_eq!(spec.scheme().name, "pfifo");
//! let error = "pfifo limit=0".parse::<Spec>().unwrap_err();
//! assert!(error.to_string().contains("expected 1 to 1000000"));
//! # Ok::<(), gentle_aqm::SpecError>(())
//! ```
//!
//! Modules depend on each other in one direction: [`registry`] on [`schemes`], these on [`laws`], and all on the
//! infrastructure whose items are exported here.

// `testing.rs` is also part of the integration tests, which know this crate by its name.
#[cfg(test)]
extern crate self as gentle_aqm;

pub mod laws;
mod plumbing;
pub mod registry;
pub mod schemes;
#[cfg(test)]
mod testing;

pub use plumbing::error::SpecError;
pub use plumbing::flow_hash::FlowHash;
pub use plumbing::linux::truesize;
pub use plumbing::options::{Kind, List, OptionSpec, Options, Threshold, Value};
pub use plumbing::packet::{Ecn, Handshake, Hosts, Packet, TcpHeader, priority_of};
pub use plumbing::qdisc::{Dequeue, DropReason, Head, Mark, MarkReason, Qdisc, Signals};
pub use plumbing::scheme::{
    Conformance, Field, Hashing, KernelQdisc, Order, Origin, Preset, Priority, RoundedTimes, Scheme, Shaper,
    Statistics, StockParts, TcSyntax, TimeAttribute,
};
pub use plumbing::spec::Spec;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;
