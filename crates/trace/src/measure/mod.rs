//! Statistics of closed connections, and their conversion to results.

mod causes;
mod cost;
mod data_counts;
pub(crate) mod directions;
mod failures;
mod filters;
mod flood;
mod group;
mod moments;
mod outcomes;
mod parties;
mod sample;
mod toward;
mod undecided;

pub(crate) use causes::cause_of;
pub(crate) use filters::Filters;
pub(crate) use group::Group;
pub(crate) use outcomes::Outcomes;
