//! Reports of results: tables for the terminal, CSV and Parquet for notebooks, self-contained pages for a browser.
//!
//! The input is a complete [`Comparison`](gentle_sim::results::Comparison) or
//! [`Analysis`](gentle_trace::results::Analysis); this crate only selects, formats and draws. Nothing reads a clock, so
//! equal results give identical bytes.

pub mod analyze;
pub mod compare;
pub mod connections;
mod failure;
pub mod flows;
mod format;
mod page;
mod terminal;

pub use page::Origin;
