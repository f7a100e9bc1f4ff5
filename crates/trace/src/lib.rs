//! Capture files to connections to handshake-loss statistics.

pub mod capture;
mod options;
pub mod results;
pub mod row;

pub use options::{Options, Side};
