#![doc = include_str!("../README.md")]

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
