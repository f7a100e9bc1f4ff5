//! The kernel's queues against those of `gentle-aqm`, decision by decision.
//!
//! One [`Schedule`] of arrivals and departures, drawn at random ([`generate`]) or made of a capture ([`Captured`]), goes
//! through both: through the qdisc that `tc` set up on a device in the machine, fed by the module `gentle_replay`, and
//! through the queue that [`gentle_aqm::registry`] builds. Every packet sent, marked or dropped and every length in
//! between has to be the same.
//!
//! Random decisions are compared one by one, too. The module answers the qdisc's questions for random numbers from the
//! seed that ours gets, and flows are hashed alike.

mod captured;
mod case;
mod clock;
mod compare;
mod generate;
mod link;
mod ours;
mod outcome;
mod record;
mod run;
mod schedule;
mod task;

pub use captured::{Arrival, Captured};
pub use case::{Case, CaseError, Replay};
pub(crate) use case::{DEVICE, Files};
pub use compare::{Difference, Tally};
pub use generate::{Pattern, Traffic, generate};
pub use record::EventError;
pub use run::{DecideError, Decided, decide};
pub use schedule::{Call, Headers, Ip, Offer, Schedule, Step, Tag, Transport};
pub use task::{Decisions, Replayed};
