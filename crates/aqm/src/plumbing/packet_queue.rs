//! A double-ended packet queue that counts its bytes.

use crate::plumbing::packet::Packet;
use gentle_units::{Instant, Nanos};
use std::collections::VecDeque;

/// Packets in order of arrival and their total length (Linux: `qdisc_skb_head` with `qstats.backlog`).
#[derive(Debug, Clone)]
pub(crate) struct PacketQueue<P> {
    packets: VecDeque<P>,
    bytes: u64,
}

impl<P> Default for PacketQueue<P> {
    fn default() -> Self {
        PacketQueue { packets: VecDeque::new(), bytes: 0 }
    }
}

impl<P: Packet> PacketQueue<P> {
    pub(crate) fn push_back(&mut self, packet: P) {
        self.bytes += u64::from(packet.bytes());
        self.packets.push_back(packet);
    }

    pub(crate) fn pop_front(&mut self) -> Option<P> {
        let packet = self.packets.pop_front()?;
        self.bytes -= u64::from(packet.bytes());
        Some(packet)
    }

    pub(crate) fn pop_back(&mut self) -> Option<P> {
        let packet = self.packets.pop_back()?;
        self.bytes -= u64::from(packet.bytes());
        Some(packet)
    }

    pub(crate) fn front(&self) -> Option<&P> {
        self.packets.front()
    }

    /// Sojourn time so far of the packet at the head; zero if the queue is empty.
    pub(crate) fn head_sojourn(&self, now: Instant) -> Nanos {
        self.front().map_or(Nanos::ZERO, |head| now.saturating_since(head.arrived()))
    }

    pub(crate) fn len(&self) -> usize {
        self.packets.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }
}
