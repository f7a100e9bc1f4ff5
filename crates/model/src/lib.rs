#![doc = include_str!("../README.md")]

mod backoff;
mod path;
mod prediction;

pub use backoff::Backoff;
pub use path::{InvalidPath, Path, ResponseTime};
pub use prediction::{DEFAULT_SIZES, OfRto, OfSize, Prediction, predict};
