//! Quantities of the field: [`Nanos`], [`Rate`] and sizes in bytes, read and written the way `tc` does, and
//! [`suggestion`] for names that a user mistypes.
//!
//! `5ms`, `2.4mbit` and `75kb` mean here what they mean to `tc` (iproute2, `lib/utils.c`), with two deliberate
//! differences: a number without a unit is refused where `tc` would silently take microseconds or bits per second, and
//! times have minutes, hours and days (`5min`, `1h`, `1d`).
//!
//! This crate stands on the ground floor; everything above speaks its types.

mod names;
mod parse;
mod rate;
mod size;
mod time;

pub use names::suggestion;
pub use parse::QuantityError;
pub use rate::Rate;
pub use size::{format_size, parse_size};
pub use time::Nanos;
