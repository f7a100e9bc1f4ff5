//! Packets in order, with their bytes counted: what every scheme keeps its packets in.

use crate::plumbing::packet::Packet;
use gentle_units::Nanos;
use std::collections::VecDeque;

/// A double-ended queue of packets that knows its length in bytes (the kernel's `qdisc_skb_head` with `qstats.backlog`).
#[derive(Debug, Clone)]
pub(crate) struct Store<P> {
    packets: VecDeque<P>,
    bytes: u64,
}

impl<P> Default for Store<P> {
    fn default() -> Self {
        Store {
            packets: VecDeque::new(),
            bytes: 0,
        }
    }
}

impl<P: Packet> Store<P> {
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

    /// How long the packet at the head has waited; zero where there is none.
    pub(crate) fn head_wait(&self, now: Nanos) -> Nanos {
        self.front()
            .map_or(Nanos::ZERO, |head| now.saturating_sub(head.arrived()))
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
