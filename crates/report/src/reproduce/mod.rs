//! Reports of reproduced papers: table for the terminal, and pages with the figures.

mod list;
mod page;
mod table;
mod words;

pub use list::list;
pub use page::{html, index};
pub use table::table;
