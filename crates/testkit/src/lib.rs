#![doc = include_str!("../README.md")]

pub mod draw;
pub mod event_loop;
pub mod frames;
pub mod generate;
pub mod scripted;
pub mod trees;
pub mod unshare;
pub mod zeek;
