#![doc = include_str!("../README.md")]

mod connection;
pub mod event_loop;
mod file;
mod frame;
mod network;
#[cfg(feature = "random")]
pub mod random;
pub mod scenario;

pub use connection::{Answer, CLIENT, Connection, Course, Host, Kind, Loss, Opening, PathPart, Peer, SERVER};
pub use event_loop::Side;
pub use file::Format;
pub use network::Place;
