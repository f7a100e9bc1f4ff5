//! Statistics of closed connections, and their conversion to results.

mod cost;
pub(crate) mod directions;
mod extras;
mod failures;
mod filters;
mod flood;
mod moments;
mod outcomes;
mod parties;
mod sample;
mod undecided;

pub(crate) use filters::Filters;
pub(crate) use outcomes::Outcomes;
