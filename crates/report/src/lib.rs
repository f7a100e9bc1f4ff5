//! Reports of results: tables for the terminal, CSV and Parquet for notebooks, self-contained pages for a browser.
//!
//! Everything here starts from results that come ready, [`Comparison`](gentle_experiment::results::Comparison),
//! [`Analysis`](gentle_trace::results::Analysis), [`Prediction`](gentle_model::Prediction) and
//! [`Reproduction`](gentle_papers::Reproduction), and only selects, formats and draws. Nothing reads a clock, so the same
//! results give the same bytes.

// Some of what the reports share is of use to those that are missing.
#![cfg_attr(not(feature = "full"), allow(dead_code, unused_imports))]

pub mod analyze;
mod columns;
pub mod compare;
#[cfg(feature = "full")]
pub mod connections;
mod failure;
#[cfg(feature = "full")]
pub mod figure;
pub mod flows;
mod format;
#[cfg(feature = "full")]
pub mod model;
#[cfg(feature = "full")]
mod page;
#[cfg(feature = "full")]
pub mod palette;
#[cfg(feature = "full")]
pub mod reproduce;
mod terminal;
#[cfg(feature = "full")]
mod terms;

pub use columns::Column;
#[cfg(feature = "full")]
pub use page::Origin;
