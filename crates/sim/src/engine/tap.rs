//! Where one can listen: the entry and the exit of either queue.

use super::packet::Packet;
use crate::direction::Direction;
use gentle_units::Nanos;

/// Why a packet did not come out: the queue's reason, or loss on the link.
pub(crate) type Reason = &'static str;

/// Random loss behind the queue, beside the reasons of `gentle_aqm::DropReason`.
pub(crate) const LOSS: Reason = "loss";

/// A listener.
pub(crate) trait Tap {
    /// A packet is offered to the queue.
    fn entered(&mut self, now: Nanos, direction: Direction, packet: &Packet);
    /// A packet has been sent.
    fn left(&mut self, now: Nanos, direction: Direction, packet: &Packet);
    /// A packet was dropped.
    fn dropped(&mut self, now: Nanos, direction: Direction, packet: &Packet, reason: Reason);
}

/// Nobody listens; costs nothing.
pub(crate) struct Silence;

impl Tap for Silence {
    #[inline]
    fn entered(&mut self, _: Nanos, _: Direction, _: &Packet) {}
    #[inline]
    fn left(&mut self, _: Nanos, _: Direction, _: &Packet) {}
    #[inline]
    fn dropped(&mut self, _: Nanos, _: Direction, _: &Packet, _: Reason) {}
}
