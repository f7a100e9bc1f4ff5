//! Reports of reproduced papers: tables for the terminal, and pages with the figures.

mod coverage;
mod list;
mod page;
mod table;
mod words;

pub use coverage::coverage;
pub use list::list;
pub use page::{html, index};
pub use table::table;
