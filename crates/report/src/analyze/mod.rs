//! Draws what an analysis of captures found: text for the terminal, a page for a browser.
//!
//! Both take the same [`sections`]: numbers and words are made once, and then laid out twice.

mod histogram;
mod html;
mod section;
mod sections;
mod text;

pub use self::html::html;
pub use self::text::text;
