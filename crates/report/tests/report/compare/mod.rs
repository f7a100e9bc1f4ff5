//! Reports of a comparison.

pub(crate) mod fixture;
mod page;
mod text;
