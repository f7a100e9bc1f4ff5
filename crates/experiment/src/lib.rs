//! Network experiments independent of the backend: scenarios, workloads, metrics, run records and paired comparisons.
//!
//! A [`Scenario`] describes links, hosts and traffic. A [`Backend`] runs it under one queue scheme with one seed and
//! returns a [`RunRecord`]; the event simulator (`gentle-sim`) and Linux in virtual time (`gentle-testbed`) are
//! backends. [`compare`] executes the runs of all schemes and seeds on a backend and returns a [`results::Comparison`].
//! Workloads draw from random streams that do not depend on the queues, so every scheme sees the same connections, and
//! comparisons are paired by seed.
//!
//! [`assemble`] makes a comparison from records of runs, of any origin; `gentle-runs` stores records between calls.

pub mod application;
mod backend;
mod comparison;
mod direction;
pub mod draw;
mod error;
mod harm;
mod initiator;
pub mod measure;
mod metrics;
mod paired;
pub mod results;
mod run;
mod scenario;
pub mod section;
mod sizes;
mod traffic;
mod workload;

pub use backend::{Aborted, Backend, Observer, Run, Settings, Watch, compare};
pub use comparison::assemble;
pub use direction::Direction;
pub use error::ScenarioError;
pub use harm::Part;
pub use initiator::{Initiator, REQUEST_BYTES};
pub use metrics::application::ApplicationRecord;
pub use metrics::bins::DEFAULT_BINS;
pub use metrics::class::{Class, LOSS};
pub use metrics::connection::ConnectionRecord;
pub use metrics::record::{RECORD_VERSION, RunRecord};
pub use metrics::recorder::Recorder;
pub use metrics::tally::Ending;
pub use paired::{MATTERS, only_best};
pub use run::RunSpec;
pub use scenario::{
    Access, Application, BUILTIN, GilbertElliott, LinkChange, LinkConfig, LoadError, OPPORTUNITY, RateTrace, Scenario,
    TraceError,
};
pub use sizes::Sizes;
pub use traffic::{
    Consists, ConstantRate, Datagrams, Flow, Long, PacketTimes, Poisson, Regular, Replay, Span, SynFlood, Traffic, Udp,
    Web,
};
pub use workload::{Arrival, IP_HEADER, Schedule, TcpChanges, Workload};
