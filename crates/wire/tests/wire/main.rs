//! Frames of every kind, whole, cut, arbitrary and as tshark sees them.

mod arbitrary;
mod encapsulations;
mod frames;
mod samples;
#[path = "../shared_captures/mod.rs"]
mod shared_captures;
mod tshark;
