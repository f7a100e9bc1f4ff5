//! What is counted during a run ([`recorder`]), what is left of it ([`record`]) and what becomes of that over the seeds
//! ([`aggregate`]).

pub(crate) mod aggregate;
pub(crate) mod bins;
pub(crate) mod class;
mod reading;
pub(crate) mod record;
pub(crate) mod recorder;
mod serial;
mod spread;
pub(crate) mod statistics;
pub(crate) mod tally;
pub(crate) mod timeline;
