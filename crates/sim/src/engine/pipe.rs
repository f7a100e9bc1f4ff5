//! Packets in flight between two points: they arrive in the order in which they were sent, or nearly so.

use super::packet::Packet;
use gentle_units::Instant;
use std::collections::VecDeque;

/// Packets in order of their arrival, which for equal times is the order in which they were put in.
#[derive(Debug)]
pub(crate) struct Pipe {
    packets: VecDeque<(Instant, Box<Packet>)>,
    next_at: Instant,
    /// Arrival time of the last packet.
    last_at: Instant,
}

impl Default for Pipe {
    fn default() -> Self {
        Pipe { packets: VecDeque::new(), next_at: Instant::NEVER, last_at: Instant::ZERO }
    }
}

impl Pipe {
    /// Arrival time of the next packet; [`Instant::NEVER`]: none.
    #[inline]
    pub(crate) fn next_at(&self) -> Instant {
        self.next_at
    }

    /// Adds a packet that arrives at `at`. Cheap if few packets arrive later than that.
    #[inline(always)]
    pub(crate) fn push(&mut self, at: Instant, packet: Box<Packet>) {
        self.next_at = self.next_at.min(at);
        if self.last_at <= at {
            self.last_at = at;
            self.packets.push_back((at, packet));
        } else {
            self.insert(at, packet);
        }
    }

    #[inline(never)]
    fn insert(&mut self, at: Instant, packet: Box<Packet>) {
        let place = self.packets.partition_point(|(other, _)| *other <= at);
        self.packets.insert(place, (at, packet));
    }

    /// Takes the next packet out.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Box<Packet>> {
        let (_, packet) = self.packets.pop_front()?;
        self.next_at = self.packets.front().map_or(Instant::NEVER, |(at, _)| *at);
        Some(packet)
    }
}
