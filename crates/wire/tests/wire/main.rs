//! Frames of every kind, whole, cut, arbitrary and as tshark sees them.

mod encapsulations;
mod frames;
mod samples;
