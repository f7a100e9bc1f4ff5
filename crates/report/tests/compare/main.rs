//! What is drawn of a comparison.

mod fixture;
mod page;
mod text;
