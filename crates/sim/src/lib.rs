//! Discrete-event simulator of a congested link: what each queue discipline does to the same connections.
//!
//! A [`Scenario`] says what the link, the hosts and the traffic are; [`compare`] runs it under each scheme and seed and
//! returns a [`results::Comparison`]. The engine owns time: end points (`gentle-tcp`) and queues (`gentle-aqm`) are
//! told what time it is and have no clock of their own. Workloads draw from random streams that no queue can disturb,
//! so that every scheme sees exactly the same connections.
//!
//! ```
//! use gentle_sim::{Scenario, Settings, compare};
//! use gentle_units::Nanos;
//! use std::sync::atomic::AtomicBool;
//!
//! let mut scenario = Scenario::builtin("real").unwrap();
//! scenario.set_duration(Nanos::from_secs(20));
//! let schemes = ["pfifo limit=50".parse()?, "codel".parse()?];
//! let settings = Settings { seeds: vec![1], bins: gentle_sim::DEFAULT_BINS.to_vec() };
//! let comparison = compare(&scenario, &schemes, &settings, &(), &AtomicBool::new(false));
//! assert_eq!(comparison.results[0].connections, comparison.results[1].connections);
//! # Ok::<(), gentle_aqm::SpecError>(())
//! ```

mod capture;
mod compare;
mod direction;
mod engine;
mod error;
pub mod measured;
mod metrics;
mod paired;
pub mod results;
mod scenario;
mod workload;

pub use capture::{CaptureError, capture};
pub use compare::{Observer, Run, Settings, compare, in_order};
pub use direction::Direction;
pub use engine::REQUEST_BYTES;
pub use error::ScenarioError;
pub use metrics::bins::DEFAULT_BINS;
pub use scenario::{Access, BUILTIN, LinkChange, LinkConfig, LoadError, Scenario};
pub use workload::{
    Arrival, ConstantRate, Initiator, Schedule, Span, TcpChanges, Traffic, Workload, flows::Flow,
    sizes::Sizes,
};
