//! Frames of every kind, whole, cut, arbitrary and as tshark sees them.

mod arbitrary;
mod emit;
mod encapsulations;
mod samples;
mod tshark;
