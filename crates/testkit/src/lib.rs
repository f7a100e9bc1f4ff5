#![doc = include_str!("../README.md")]

pub mod generate;
pub mod unshare;
pub mod zeek;
