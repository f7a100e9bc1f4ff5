//! Reports of reproduced papers.

mod figure;
pub(crate) mod fixture;
mod page;
mod text;
