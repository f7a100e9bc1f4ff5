//! Discrete-event simulator of a congested link.

pub mod results;
