//! What is counted during a run ([`record`]) and what becomes of it over the seeds ([`aggregate`]).

pub(crate) mod aggregate;
pub(crate) mod bins;
mod reading;
pub(crate) mod record;
mod spread;
pub(crate) mod statistics;
pub(crate) mod tally;
pub(crate) mod timeline;
