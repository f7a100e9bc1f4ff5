//! What is run and what is measured, whoever runs it.
//!
//! A [`Scenario`] describes links, hosts and traffic. A [`Backend`] runs it under one queue scheme with one seed and returns
//! a [`RunRecord`]; the event simulator (`gentle-sim`) and Linux in virtual time (`gentle-testbed`) are backends.
//! [`compare`] has a backend make the runs of all schemes and seeds and returns a [`results::Comparison`]. Workloads draw
//! from random streams that no queue can disturb, so every scheme sees the same connections, and comparisons are paired
//! by seed.
//!
//! Run records made by several calls or on several machines are put together by [`merge`], to the same bytes as one call
//! would have given.

mod backend;
mod comparison;
mod direction;
mod error;
mod merge;
mod metrics;
mod paired;
pub mod results;
mod scenario;
mod workload;

pub use backend::{Aborted, Backend, Observer, Run, RunSpec, Settings, Watch, compare};
pub use direction::Direction;
pub use error::ScenarioError;
pub use merge::{Experiment, MergeError, Merged, Record, RecordError, merge};
pub use metrics::bins::DEFAULT_BINS;
pub use metrics::class::Class;
pub use metrics::record::{LOSS, RECORD_VERSION, RunRecord};
pub use metrics::recorder::Recorder;
pub use metrics::tally::Ending;
pub use scenario::{Access, BUILTIN, LinkChange, LinkConfig, LoadError, Scenario};
pub use workload::{
    Arrival, ConstantRate, IP_HEADER, Initiator, REQUEST_BYTES, Schedule, Span, TcpChanges,
    Traffic, Workload, flows::Flow, sizes::Sizes,
};
