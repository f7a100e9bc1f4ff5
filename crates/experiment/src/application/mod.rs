//! Applications: state machines of both ends of a call, a game, a lookup.
//!
//! The machines do no I/O and read no clock; the simulator and the testbed drive the same ones. An end knows the
//! parameters of the application and what has arrived in datagrams, nothing else.

pub mod datagram;
mod dns;
pub mod flow;
mod game;
mod gcc;
mod meter;
mod ping;
mod playout;
mod stream;
mod video_call;
mod video_receiver;
mod video_sender;
mod voice;
