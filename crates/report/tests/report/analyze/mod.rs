//! Reports of an analysis.

mod docs;
pub(crate) mod fixture;
mod page;
mod text;
mod words;
