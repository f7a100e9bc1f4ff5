//! Reports of results: tables for the terminal, CSV and Parquet for notebooks, self-contained pages for a browser.
//!
//! Everything here starts from results that come ready, [`Comparison`](gentle_experiment::results::Comparison),
//! [`Analysis`](gentle_trace::results::Analysis), [`Prediction`](gentle_model::Prediction) and
//! [`Reproduction`](gentle_papers::Reproduction), and only selects, formats and draws. Nothing reads a clock, so the same
//! results give the same bytes.

pub mod analyze;
pub mod compare;
pub mod connections;
mod failure;
pub mod figure;
pub mod flows;
mod format;
pub mod model;
mod page;
pub mod reproduce;
mod terminal;

pub use page::Origin;
