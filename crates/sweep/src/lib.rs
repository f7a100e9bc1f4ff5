//! Sweeps: the same comparison at many points of a grid, in batches that any machine can run, with results in Parquet.
//!
//! A [`Grid`] describes points: a base scenario with lists and ranges for its keys, for knobs of TCP, for the options of
//! `gentle compare`, and for options of schemes. Each point, scheme and seed is a run, identified by a [`RunId`](gentle_runs::RunId) that
//! depends only on what decides its result. A [`Sweep`] compares the grid with the rows of a store and packs the runs
//! that are missing into batches; [`run_batch`] makes the runs of a batch on a [`Backend`](gentle_experiment::Backend):
//! from bytes to a Parquet file with a row per run, and one with a row per connection if the grid requests it.
//! [`run()`] executes a sweep on the threads of this machine over a [`Folder`](gentle_runs::Folder); the Python package
//! does so on other executors. [`Sweep::rows`] reads the complete table in the order of the grid: its bytes depend
//! neither on the machines of the runs nor on the order in which the runs ended.

mod axis;
mod base;
mod batch;
mod connection;
mod design;
mod error;
mod grid;
mod index;
mod metrics;
mod quantity;
mod read;
mod row;
mod run;
mod seal;
mod store;
mod summary;
mod sweep;
mod table;
mod write;

pub use axis::Coordinate;
pub use base::{Base, Inputs};
pub use batch::{Batch, BatchError, Results, run_batch};
pub use error::{PointError, SweepError};
pub use grid::{Files, Grid, UntilCi};
pub use run::{Outcome, Progress, run};
pub use store::{Stores, connections_in, runs_in};
pub use summary::{Extent, SchemeSummary, Summary};
pub use sweep::{Batches, Survey, Sweep};
pub use table::{Column, Table, Values, csv, whole};
pub use write::parquet;
