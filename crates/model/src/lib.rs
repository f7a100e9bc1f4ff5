#![doc = include_str!("../README.md")]

mod backoff;
mod first_loss;
mod path;
mod prediction;

pub use backoff::Backoff;
pub use first_loss::Form;
pub use path::{InvalidPath, Path, ResponseTime};
pub use prediction::{DEFAULT_SIZES, OfRto, OfSize, Prediction, predict, predict_by};
