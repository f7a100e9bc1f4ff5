//! What is drawn of an analysis.

mod fixture;
mod page;
mod text;
