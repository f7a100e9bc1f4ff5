//! The engine: one scenario, one scheme, one seed, packet by packet.
//!
//! ```text
//!  hosts ── access ──► [queue | rate] ── delay ── loss ──►  hosts      Direction::Down
//!  hosts ◄── loss ── delay ── [rate | queue] ◄── access ──  hosts      Direction::Up
//! ```
//!
//! Time is integer nanoseconds and jumps from event to event. A link's next departure, the next connection and the end
//! of the warm-up are kept beside the heap: there is one of each, and they are the most frequent.

mod access;
mod connection;
mod events;
mod link;
pub(crate) mod packet;
mod slab;
pub(crate) mod tap;
mod udp;
mod world;

pub(crate) use world::{Stopped, World};
