//! Reports of an analysis.

mod docs;
mod fixture;
#[path = "../html/mod.rs"]
mod html;
mod page;
mod text;
