//! The simulator for a page in a browser.
//!
//! A [`Session`] is one run under way, that is stepped to a time, changed while it runs, taken back to a moment, and
//! watched: packets as numbers that cross to JavaScript without a copy of each ([`event`]), sums and curves as JSON
//! ([`Snapshot`]). A [`Trial`] runs seed after seed of two schemes until their difference is certain, and grades them
//! ([`grade()`]).
//! [`analyze`] reads captures and makes their connections traffic. [`Session::history`] is the life of one connection,
//! [`Session::find`] the next moment worth seeing. The same seed gives the same bytes in a browser as natively.
//!
//! For `wasm32-unknown-unknown` the crate exports all that with wasm-bindgen (module `bindings`).

#[cfg(target_arch = "wasm32")]
pub mod bindings;
mod capture;
mod catalog;
pub mod event;
mod grade;
mod history;
mod lookout;
mod meter;
mod plan;
mod session;
mod setup;
mod trial;
mod watcher;

pub use capture::{Captured, analyze, local};
pub use catalog::catalog;
pub use grade::{GRADES, SHORT_SEGMENTS, grade};
pub use history::{History, Moment};
pub use lookout::{Seen, Sight};
pub use meter::{Curves, Meter, Sums};
pub use plan::plan;
pub use session::{Change, Reached, Session, Snapshot};
pub use setup::{Setup, SetupError, describe, with_buffer};
pub use trial::{Standing, Trial, record};
pub use watcher::Watcher;
