#![doc = include_str!("../README.md")]

mod analysis;
mod anonymize;
mod connections;
mod decode;
pub mod flows;
mod fragments;
mod measure;
mod options;
mod other;
mod pipeline;
pub mod results;
pub mod row;
mod rows;
mod segment;
mod table_size;
mod times;
mod trust;
mod verdict;
mod words;

pub use analysis::{AnalysisError, RowSink, Watch, analyze};
pub use anonymize::Anonymizer;
pub use options::{Options, Side};
