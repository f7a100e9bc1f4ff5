//! Quantities of networking: [`Nanos`], [`Rate`] and sizes in bytes, parsed and formatted the way `tc` does, and
//! [`suggestion`] for mistyped names.
//!
//! `5ms`, `2.4mbit` and `75kb` have the meaning that `tc` gives them (iproute2, `lib/utils.c`), with two deliberate
//! differences: a number without a unit is rejected where `tc` would silently assume microseconds or bits per second, and
//! times have minutes, hours and days (`5min`, `1h`, `1d`).
//!
//! This crate depends on no other crate of the workspace.

mod names;
mod parse;
mod rate;
mod size;
pub mod text;
mod time;

pub use names::suggestion;
pub use parse::QuantityError;
pub use rate::Rate;
pub use size::{format_size, parse_size};
pub use time::Nanos;
