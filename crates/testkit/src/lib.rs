#![doc = include_str!("../README.md")]

pub mod draw;
pub mod frames;
pub mod scripted;
pub mod trees;
pub mod unshare;
pub mod zeek;
