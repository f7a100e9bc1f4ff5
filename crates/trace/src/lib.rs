#![doc = include_str!("../README.md")]

mod analysis;
mod anonymize;
mod codec;
mod connections;
pub mod continuing;
mod control;
mod decode;
mod findings;
mod flow_key;
pub mod flows;
mod fragments;
mod interfaces;
mod measure;
mod options;
mod other;
mod pipeline;
mod points;
pub mod record;
pub mod results;
pub mod row;
mod rows;
mod segment;
mod sum;
mod syn_extras;
mod table_size;
mod tally;
mod timestamps;
mod trust;
mod verdict;

pub use analysis::analyze;
pub use anonymize::Anonymizer;
pub use control::{AnalysisError, Control};
pub use options::{NotAPrefix, Options, VantagePoint, prefix};
pub use rows::RowSink;
