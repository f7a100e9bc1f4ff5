//! Reports of a comparison.

mod fixture;
#[path = "../html/mod.rs"]
mod html;
mod page;
mod text;
