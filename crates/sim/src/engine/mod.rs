//! The engine: one scenario, one scheme, one seed, packet by packet.
//!
//! ```text
//!  hosts ── access ──► [queue | rate] ── loss ── delay ──►  hosts      Direction::Down
//!  hosts ◄── delay ── loss ── [rate | queue] ◄── access ──  hosts      Direction::Up
//! ```
//!
//! Time is integer nanoseconds and jumps from event to event. Events that come in order anyway are kept outside the
//! calendar of events: a link's next departure, the packets on its wire, the next connection, the end of the warm-up.
//! Where nobody sees the order, hosts and links take turns for as long as the links' delay, not event by event.

mod access;
mod cbr_source;
mod changes;
mod connection;
mod datagrams;
mod dialogue;
mod disturbance;
mod events;
mod link;
mod opportunities;
mod outgoing;
pub(crate) mod packet;
mod pipe;
mod simulation;
mod tap;
mod transmitter;

pub use changes::Backlog;
pub use events::EventQueue;
pub use link::Queue;
pub use packet::Packet;
pub(crate) use simulation::{BACKEND, ENGINE};
pub use simulation::{Simulation, Stopped};
pub use tap::{DropCause, Ended, NoTap, Tap};
