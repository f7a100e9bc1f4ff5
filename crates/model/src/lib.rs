#![doc = include_str!("../README.md")]

mod backoff;
mod path;

pub use backoff::Backoff;
pub use path::{InvalidPath, Path, ResponseTime};
