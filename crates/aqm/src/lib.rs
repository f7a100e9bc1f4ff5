//! Queue disciplines as values: `enqueue(now, packet)`, `dequeue(now)`, and every drop returned with its reason.
//!
//! This crate stands on the ground: no I/O, no clock, no global random generator, no allocation per packet once the
//! queues have grown. Time comes in as an argument, randomness as a seed. Where Linux has a scheme, Linux is the
//! reference: the same fixed-point arithmetic, the same defaults, the option names of `tc`. Each scheme is one file,
//! named as `tc` names it; [`registry`] lists them all.
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

pub mod laws;
mod plumbing;
pub mod schemes;

pub use plumbing::error::SpecError;
pub use plumbing::flow_hash::FlowHash;
pub use plumbing::linux::truesize;
pub use plumbing::options::{Kind, OptionSpec, Options, Threshold, Value};
pub use plumbing::packet::{Ecn, Handshake, Hosts, Packet};
pub use plumbing::qdisc::{Dequeue, DropReason, Mark, MarkReason, Qdisc, Signals};
pub use plumbing::registry;
pub use plumbing::scheme::{
    Conformance, Field, Hashing, KernelQdisc, Order, Origin, Preset, Priority, RoundedTimes,
    Scheme, Statistics, TcSyntax, TimeAttribute,
};
pub use plumbing::spec::Spec;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;
