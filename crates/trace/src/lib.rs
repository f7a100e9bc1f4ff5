//! Capture files to connections to handshake-loss statistics.

mod options;
pub mod results;
pub mod row;

pub use options::{Options, Side};
