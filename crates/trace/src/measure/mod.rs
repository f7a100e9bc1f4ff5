//! Statistics of segments and connections, and their conversion to results.

pub(crate) mod backoff;
pub(crate) mod directions;
mod failures;
mod filters;
mod flood;
mod intervals;
mod order;
mod outcomes;
mod parties;
pub(crate) mod rate;
mod remembered;
mod spread;
mod tally;
pub(crate) mod timeline;
mod vantage;

pub(crate) use filters::Filters;
pub(crate) use order::OrderCounts;
pub(crate) use outcomes::Outcomes;
pub(crate) use spread::Spread;
pub(crate) use tally::Tally;
