#![doc = include_str!("../README.md")]

pub mod foreign;
pub mod interned;
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
