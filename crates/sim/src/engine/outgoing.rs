//! Packets that an end point is sending, and boxes to put packets in.

use super::packet::Packet;
use gentle_tcp::{Outbox, Segment};

/// Segments of one end point become packets as they are sent. A packet is moved often, so what moves is a pointer, and boxes
/// of packets that have arrived or were dropped are used again.
#[derive(Debug, Default)]
#[expect(clippy::vec_box, reason = "the boxes are what is kept")]
pub(crate) struct Outgoing {
    /// Packets of which only the segment is known yet.
    pub(crate) packets: Vec<Box<Packet>>,
    spare: Vec<Box<Packet>>,
}

impl Outgoing {
    /// Puts a packet into a box.
    #[inline]
    pub(crate) fn boxed(&mut self, packet: Packet) -> Box<Packet> {
        let mut place = self.vacant();
        *place = packet;
        place
    }

    /// Keeps the box of a packet that is gone.
    #[inline]
    pub(crate) fn reuse(&mut self, packet: Box<Packet>) {
        self.spare.push(packet);
    }

    #[inline]
    fn vacant(&mut self) -> Box<Packet> {
        self.spare.pop().unwrap_or_else(Packet::blank)
    }

    /// Number of boxes that wait to be used again.
    #[cfg(test)]
    pub(crate) fn boxes(&self) -> usize {
        self.spare.len()
    }
}

impl Outbox for Outgoing {
    #[inline]
    fn push(&mut self, segment: Segment) {
        let mut packet = self.vacant();
        packet.segment = segment;
        self.packets.push(packet);
    }

    #[inline]
    fn last_mut(&mut self) -> Option<&mut Segment> {
        self.packets.last_mut().map(|packet| &mut packet.segment)
    }
}
