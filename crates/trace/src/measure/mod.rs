//! Statistics of closed connections, and their conversion to results.

pub(crate) mod directions;
mod failures;
mod filters;
mod flood;
mod outcomes;
mod parties;
mod undecided;

pub(crate) use filters::Filters;
pub(crate) use outcomes::Outcomes;
