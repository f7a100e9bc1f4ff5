//! Reports of capture analyses: text for a terminal, a page for a browser.
//!
//! Both use the same sections, so that numbers and sentences are formatted once. The sentences are made by
//! [`put_into_words`], which comes first.

mod against;
mod columns;
mod display_filter;
mod histogram;
#[cfg(feature = "full")]
mod html;
mod section;
mod sections;
mod text;
mod words;

pub use self::against::against;
pub use self::columns::columns;
#[cfg(feature = "full")]
pub use self::html::html;
pub use self::text::{Detail, text};
pub use self::words::{Known, assumptions, cause_name, describe_causes, named, put_into_words};
