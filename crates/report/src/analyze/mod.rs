//! Draws what an analysis of captures found: text for the terminal, a page for a browser.
//!
//! Both lay out the same sections: numbers and words are made once.

mod display_filter;
mod histogram;
mod html;
mod section;
mod sections;
mod text;

pub use self::html::html;
pub use self::text::{Detail, text};
