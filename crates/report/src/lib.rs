//! Draws what a comparison found: a table for the terminal, CSV for notebooks, one self-contained page for a browser.
//!
//! Everything here starts from [`Comparison`](gentle_sim::results::Comparison) and only selects, formats and draws;
//! the statistics come ready. Nothing reads a clock, so the same results give the same bytes.

mod csv;
mod format;
mod html;
mod metric;
mod single;
mod table;
mod words;

pub use crate::csv::csv;
pub use crate::html::html;
pub use crate::single::single;
pub use crate::table::table;
