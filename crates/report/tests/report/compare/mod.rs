//! Reports of a comparison.

mod calls;
pub(crate) mod fixture;
mod page;
mod text;
