//! What is drawn of an analysis.

mod docs;
mod fixture;
mod page;
mod text;
