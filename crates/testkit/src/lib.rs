#![doc = include_str!("../README.md")]

pub mod event_loop;
pub mod frames;
pub mod generate;
pub mod scripted;
pub mod unshare;
pub mod zeek;
