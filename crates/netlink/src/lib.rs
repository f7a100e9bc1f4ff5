#![doc = include_str!("../README.md")]
#![cfg(target_os = "linux")]

mod attribute;
mod socket;

pub use attribute::{find, text, word};
pub use socket::{Dump, NetlinkSocket, Protocol, RequestError};
