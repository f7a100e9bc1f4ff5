//! Applications: state machines of both ends of a call, a game, a lookup, a page.
//!
//! The machines do no I/O and read no clock; the simulator and the testbed drive the same ones. An end knows the
//! parameters of the application and what has arrived from the other end, nothing else.

pub mod datagram;
pub mod dialogue;
mod dns;
pub mod flow;
mod game;
mod gcc;
mod log_normal;
mod meter;
mod on_off;
mod pages;
mod ping;
mod playout;
mod server;
mod ssh;
mod stream;
mod stream_end;
mod video_call;
mod video_receiver;
mod video_sender;
mod voice;

pub use log_normal::LogNormal;
pub use on_off::OnOff;
pub use pages::{MOST_OBJECTS, Pages};
pub use server::{Decoder, Request, Server};
pub use ssh::Ssh;

use std::ops::RangeInclusive;

/// Range of the length of a request, bytes.
const REQUEST: RangeInclusive<u64> = Request::HEADER as u64..=65_535;

/// Range of the length of an answer, bytes.
const ANSWER: RangeInclusive<u64> = 1..=1 << 40;
