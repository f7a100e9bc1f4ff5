//! Measurements: counting during a run ([`recorder`]), the record of a run ([`record`]), and aggregation over seeds
//! ([`aggregate`]).

pub(crate) mod aggregate;
pub(crate) mod application;
pub(crate) mod bins;
pub(crate) mod class;
pub(crate) mod connection;
#[cfg(test)]
mod coverage;
mod histogram;
pub(crate) mod record;
pub(crate) mod recorder;
mod scalar;
pub(crate) mod serial;
pub(crate) mod statistics;
mod students_t;
pub(crate) mod tally;
pub(crate) mod timeline;
