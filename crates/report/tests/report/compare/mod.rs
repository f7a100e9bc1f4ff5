//! Reports of a comparison.

mod best;
mod calls;
pub(crate) mod fixture;
mod page;
mod text;
