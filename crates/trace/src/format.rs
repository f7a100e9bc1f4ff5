//! Numbers in sentences, in the same notation as in the tables of gentle-report.

pub(crate) use gentle_units::text::{count, percent, plural as of, time};
