//! Measurements: counting during a run ([`recorder`]), the record of a run ([`record`]), and statistics over seeds
//! ([`statistics`]).

pub(crate) mod application;
pub(crate) mod bins;
pub(crate) mod class;
pub(crate) mod connection;
#[cfg(test)]
mod coverage;
pub(crate) mod histogram;
pub(crate) mod record;
pub(crate) mod recorder;
pub(crate) mod serial;
pub(crate) mod statistics;
mod students_t;
pub(crate) mod tally;
pub(crate) mod timeline;
