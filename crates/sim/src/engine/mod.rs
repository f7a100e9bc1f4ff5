//! The engine: one scenario, one scheme, one seed, packet by packet.
//!
//! ```text
//!  hosts ── access ──► [queue | rate] ── delay ── loss ──►  hosts      Direction::Down
//!  hosts ◄── loss ── delay ── [rate | queue] ◄── access ──  hosts      Direction::Up
//! ```
//!
//! Time is integer nanoseconds and jumps from event to event. What comes in order by itself is kept beside the calendar
//! of events: a link's next departure, the packets on its wire, the next connection, the end of the warm-up.

mod access;
mod connection;
mod events;
mod lane;
mod link;
mod paced;
pub(crate) mod packet;
mod slab;
pub(crate) mod tap;
mod transmitter;
mod world;

pub use connection::REQUEST_BYTES;
pub(crate) use packet::IP_HEADER;
pub(crate) use world::{Stopped, World};
