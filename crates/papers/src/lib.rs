//! Published papers, recomputed: each figure, table and claim with the published value, ours, and a computed verdict.
//!
//! A [`Paper`] consists of its published values (`papers/<short name>/published.toml`), of functions that measure the
//! figures and tables ([`Part`]), and of the values that an assumption could also have ([`Variants`]). [`Lab`] runs the
//! experiments of these functions. [`reproduce`] puts both together into a [`Reproduction`].
//!
//! Statements of a paper, with the items that cover each, are in `papers/<short name>/sentences.toml` ([`Coverage`]).
//!
//! Verdicts follow from the numbers alone ([`published::Target`], [`Verdict`]); no verdict is hand-written.

mod captures;
mod chart;
mod estimate;
mod gsp_2015;
mod handshake_2009;
mod lab;
mod measured;
mod memo;
mod model;
mod open;
mod paper;
mod proportion;
pub mod published;
mod redfavor_2012;
mod reproduction;
mod results;
mod runs;
mod scale;
mod search;
mod selection;
mod sentences;
mod setup;
mod spa_2018;
mod table;
mod verdict;

pub use chart::{Axis, BarSeries, Bars, Chart, Curves, Draw, Line, Point, Scale};
pub use estimate::Estimate;
pub use lab::{Failure, Lab, Observation, Progress, Runner, Watched};
pub use measured::Measured;
pub use paper::{PAPERS, Paper, Part, Variant, Variants};
pub use reproduction::{Assumed, Item, Kind, Published, Reproduction, VERSION, Verdicts, reproduce};
pub use results::{Results, Values};
pub use selection::{Selection, UnknownItem};
pub use sentences::{COVERAGE_VERSION, Coverage, Sentence, SentenceKind};
pub use setup::Setup;
pub use table::{Cell, Table};
pub use verdict::Verdict;
