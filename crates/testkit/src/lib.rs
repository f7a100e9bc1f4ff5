#![doc = include_str!("../README.md")]

pub mod frames;
pub mod generate;
pub mod zeek;
