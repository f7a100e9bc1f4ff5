//! Comparison of the kernel's queues with `gentle-aqm`'s, decision by decision.
//!
//! One [`Schedule`] of arrivals and departures, drawn at random ([`generate`]) or made of a capture
//! ([`CaptureArrivals`]), goes through both: through the qdisc that `tc` set up on a device in the machine, fed by the
//! module `gentle_replay`, and through the model, the queue that [`gentle_aqm::registry`] builds. Every packet sent,
//! marked or dropped and every queue length in between has to be the same.
//!
//! Random decisions are compared one by one, too: the module gives the qdisc the random numbers and the flow hashes of
//! the model.

mod capture;
mod case;
mod clock;
mod compare;
mod generate;
mod link;
mod model;
mod outcome;
mod record;
mod run;
mod schedule;

pub use capture::{Arrival, CaptureArrivals};
pub use case::{Case, CaseError};
pub use compare::{Difference, Tally};
pub use generate::{Pattern, Traffic, generate};
pub use record::EventError;
pub use run::{CaseResults, ConformanceError, run_cases};
pub use schedule::{Acknowledgment, Call, Headers, Ip, Offer, Schedule, Step, Tag, Transport};
