//! Reports of an analysis.

pub(crate) mod fixture;
mod page;
mod text;
mod words;
