//! Reports of queue scheme comparisons: a table for the terminal, CSV for notebooks, a page for a browser.

mod applications;
mod columns;
mod conclusions;
#[cfg(feature = "full")]
mod csv;
mod experiment;
mod groups;
#[cfg(feature = "full")]
mod html;
mod metric;
mod noticed;
#[cfg(feature = "full")]
mod single;
#[cfg(feature = "full")]
mod table;

pub use self::columns::columns;
#[cfg(feature = "full")]
pub use self::csv::csv;
#[cfg(feature = "full")]
pub use self::html::html;
pub use self::noticed::sentences as noticed_by_users;
#[cfg(feature = "full")]
pub use self::single::single;
#[cfg(feature = "full")]
pub use self::table::{table, table_with_assumptions};
