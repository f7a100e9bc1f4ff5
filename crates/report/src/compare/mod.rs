//! Reports of queue scheme comparisons: a table for the terminal, CSV for notebooks, a page for a browser.

mod applications;
mod columns;
mod conclusions;
mod csv;
mod experiment;
mod groups;
mod html;
mod metric;
mod noticed;
mod single;
mod table;

pub use self::columns::columns;
pub use self::csv::csv;
pub use self::html::html;
pub use self::single::single;
pub use self::table::{table, table_with_assumptions};
