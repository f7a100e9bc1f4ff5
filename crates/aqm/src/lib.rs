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

mod arena;
mod codel_law;
mod drr;
mod error;
pub mod fifo;
mod flow_hash;
mod linux;
mod options;
mod packet;
mod periodic;
mod pie_law;
mod qdisc;
mod red_law;
mod red_params;
pub mod registry;
mod sfq_depths;
mod share;
mod spec;
mod store;
#[cfg(test)]
mod testing;

pub mod ared;
pub mod bfifo;
pub mod choke;
pub mod codel;
pub mod fq_codel;
pub mod fq_pie;
pub mod gsp;
pub mod handshake;
pub mod pfifo;
pub mod pie;
pub mod red;
pub mod redfavor;
pub mod sfq;
pub mod spa;
pub mod syn_fin_prio;
pub mod syn_prio;

pub use error::SpecError;
pub use flow_hash::FlowHash;
pub use linux::truesize;
pub use options::{Kind, OptionSpec, Options, Threshold, Value};
pub use packet::{Ecn, Handshake, Packet};
pub use qdisc::{DropReason, Drops, Qdisc};
pub use registry::Scheme;
pub use spec::Spec;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;
