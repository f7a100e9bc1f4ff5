#![doc = include_str!("../README.md")]

mod duration;
pub mod foreign;
mod instant;
pub mod interned;
mod names;
mod parse;
mod rate;
mod size;
pub mod text;

pub use duration::Nanos;
pub use instant::Instant;
pub use names::suggestion;
pub use parse::QuantityError;
pub use rate::Rate;
pub use size::{format_size, parse_size};
