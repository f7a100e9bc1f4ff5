//! Observation of a simulation while it runs.

use super::packet::Packet;
use gentle_aqm::DropReason;
use gentle_experiment::{Direction, Ending, LOSS};
use gentle_units::{Instant, Nanos};
use std::fmt;

/// Why a packet does not come out of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DropCause {
    /// The queue dropped it.
    Queue(DropReason),
    /// It was lost at random on the link behind the queue.
    Loss,
    /// [`Simulation::drop_next_handshake`](super::Simulation::drop_next_handshake) requested it.
    Request,
}

impl DropCause {
    /// The name used in results and captures.
    pub fn name(self) -> &'static str {
        match self {
            DropCause::Queue(reason) => reason.name(),
            DropCause::Loss => LOSS,
            DropCause::Request => "request",
        }
    }
}

impl fmt::Display for DropCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Sees what happens to packets and connections: for captures, plots of queues, pages in a browser. It cannot change
/// anything. Each method does nothing unless implemented; a tap that implements none costs nothing.
pub trait Tap {
    /// Whether it sees anything. If so, [`Simulation::run`](super::Simulation::run) goes event by event, so that all taps are
    /// called in order of time; else links may lag behind hosts.
    const WATCHES: bool = true;

    /// A packet is offered to the queue of `direction`.
    #[inline]
    fn offered(&mut self, _now: Instant, _direction: Direction, _packet: &Packet) {}

    /// A packet left the queue of `direction` and its transmission begins. It entered the queue at
    /// [`Packet::arrived`](gentle_aqm::Packet::arrived).
    #[inline]
    fn dequeued(&mut self, _now: Instant, _direction: Direction, _packet: &Packet) {}

    /// The queue of `direction` marked a packet with ECN; reported when the packet leaves the queue, before
    /// [`Tap::dequeued`].
    #[inline]
    fn marked(&mut self, _now: Instant, _direction: Direction, _packet: &Packet) {}

    /// The last bit of a packet was sent in `direction`.
    #[inline]
    fn sent(&mut self, _now: Instant, _direction: Direction, _packet: &Packet) {}

    /// A packet was dropped by the queue of `direction` or lost behind it.
    #[inline]
    fn dropped(&mut self, _now: Instant, _direction: Direction, _packet: &Packet, _cause: DropCause) {}

    /// A packet reached the host at the end of `direction`.
    #[inline]
    fn delivered(&mut self, _now: Instant, _direction: Direction, _packet: &Packet) {}

    /// A timer of the TCP end point of a connection fired: of its initiator, or of its `responder`. `connection` is the
    /// number of the connection, [`Packet::connection`] of its packets.
    #[inline]
    fn timer(&mut self, _now: Instant, _connection: u32, _responder: bool) {}

    /// Nothing more happens to a connection: it is over, or the run is.
    #[inline]
    fn ended(&mut self, _now: Instant, _connection: &Ended) {}
}

/// A connection that is over, or still open at the end of a run, whenever it started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// Number of the connection, [`Packet::connection`] of its packets.
    pub connection: u32,
    /// Index of its workload in [`Scenario::workloads`](gentle_experiment::Scenario::workloads).
    pub workload: usize,
    /// Time of the first SYN since the start of the run.
    pub started: Instant,
    /// Size in full segments; `None`: a long-lived connection or a dialogue.
    pub segments: Option<u64>,
    /// Outcome, with the response time if the connection completed; of a dialogue, the time until both ends had closed.
    pub ending: Ending,
    /// Time from the first SYN to the state ESTABLISHED of the initiator, if reached.
    pub handshake: Option<Nanos>,
}

/// No-op tap.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoTap;

impl Tap for NoTap {
    const WATCHES: bool = false;
}

impl<T: Tap> Tap for &mut T {
    const WATCHES: bool = T::WATCHES;

    #[inline]
    fn offered(&mut self, now: Instant, direction: Direction, packet: &Packet) {
        (**self).offered(now, direction, packet);
    }
    #[inline]
    fn dequeued(&mut self, now: Instant, direction: Direction, packet: &Packet) {
        (**self).dequeued(now, direction, packet);
    }
    #[inline]
    fn marked(&mut self, now: Instant, direction: Direction, packet: &Packet) {
        (**self).marked(now, direction, packet);
    }
    #[inline]
    fn sent(&mut self, now: Instant, direction: Direction, packet: &Packet) {
        (**self).sent(now, direction, packet);
    }
    #[inline]
    fn dropped(&mut self, now: Instant, direction: Direction, packet: &Packet, cause: DropCause) {
        (**self).dropped(now, direction, packet, cause);
    }
    #[inline]
    fn delivered(&mut self, now: Instant, direction: Direction, packet: &Packet) {
        (**self).delivered(now, direction, packet);
    }
    #[inline]
    fn timer(&mut self, now: Instant, connection: u32, responder: bool) {
        (**self).timer(now, connection, responder);
    }
    #[inline]
    fn ended(&mut self, now: Instant, connection: &Ended) {
        (**self).ended(now, connection);
    }
}
