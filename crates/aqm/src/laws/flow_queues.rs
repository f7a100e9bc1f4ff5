//! One queue per flow in deficit round robin, with one total of packets, bytes and memory: shared by `fq_codel` and
//! `fq_pie`.

use crate::laws::drr::Drr;
use crate::plumbing::arena::{Arena, Chain};
use crate::plumbing::flow_hash::FlowHash;
use crate::plumbing::linux::truesize;
use crate::plumbing::options::{Kind, OptionSpec};
use crate::plumbing::packet::Packet;

pub(crate) const FLOWS: OptionSpec = OptionSpec {
    name: "flows",
    kind: Kind::Count(1, 65_536),
    default: Some("1024"),
    help: "number of queues that flows are hashed to",
};

pub(crate) const QUANTUM: OptionSpec = OptionSpec {
    name: "quantum",
    kind: Kind::Size(256, 1 << 20),
    default: Some("1514"),
    help: "bytes a flow sends per round",
};

/// Limit on the packets in all queues; schemes add to the help what happens beyond it.
pub(crate) const LIMIT: OptionSpec = OptionSpec {
    name: "limit",
    kind: Kind::Count(1, u32::MAX as u64),
    default: Some("10240"),
    help: "packets in all queues together",
};

/// Packets, bytes and memory of all queues together.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Total {
    pub(crate) packets: usize,
    pub(crate) bytes: u64,
    /// Memory in bytes (Linux: `truesize`).
    pub(crate) memory: u64,
}

impl Total {
    #[inline]
    fn add(&mut self, bytes: u32) {
        self.packets += 1;
        self.bytes += u64::from(bytes);
        self.memory += truesize(bytes);
    }

    #[inline]
    fn remove(&mut self, bytes: u32) {
        self.packets -= 1;
        self.bytes -= u64::from(bytes);
        self.memory -= truesize(bytes);
    }
}

/// Packets and control-law state of one flow.
#[derive(Debug, Clone, Copy, Default)]
struct Flow<L> {
    chain: Chain,
    law: L,
}

/// Queues of packets `P`, each under a control law with state `L`.
#[derive(Debug)]
pub(crate) struct FlowQueues<P, L> {
    hash: FlowHash,
    arena: Arena<P>,
    flows: Box<[Flow<L>]>,
    /// Bytes in each queue, apart from the rest so that [`FlowQueues::fattest`] reads little memory.
    backlogs: Box<[u64]>,
    pub(crate) drr: Drr,
    total: Total,
}

impl<P: Packet, L: Copy + Default> FlowQueues<P, L> {
    /// `flows` empty queues, at least one; each sends `quantum` bytes a round, at least one.
    pub(crate) fn new(flows: u32, quantum: u32, hash: FlowHash) -> Self {
        FlowQueues {
            hash,
            arena: Arena::default(),
            flows: vec![Flow::default(); flows as usize].into_boxed_slice(),
            backlogs: vec![0; flows as usize].into_boxed_slice(),
            drr: Drr::new(flows, quantum),
            total: Total::default(),
        }
    }

    /// Totals over all queues.
    #[inline]
    pub(crate) fn total(&self) -> Total {
        self.total
    }

    /// Index of the queue to which `packet` belongs.
    #[inline]
    pub(crate) fn index_of(&self, packet: &P) -> usize {
        self.hash.queue(packet.flow(), self.flows.len() as u32)
    }

    /// Bytes in the queue `index`, and the state of its control law.
    #[inline]
    pub(crate) fn law(&mut self, index: usize) -> (u64, &mut L) {
        (self.backlogs[index], &mut self.flows[index].law)
    }

    /// Appends `packet` to the queue `index`.
    #[inline]
    pub(crate) fn push(&mut self, index: usize, packet: P) {
        let bytes = packet.bytes();
        self.arena.push_back(&mut self.flows[index].chain, packet);
        self.backlogs[index] += u64::from(bytes);
        self.total.add(bytes);
        self.drr.activate(index);
    }

    /// The queue `index` without its control law, and the law.
    #[inline]
    pub(crate) fn split(&mut self, index: usize) -> (FlowQueue<'_, P>, &mut L) {
        let flow = &mut self.flows[index];
        let queue = FlowQueue {
            arena: &mut self.arena,
            chain: &mut flow.chain,
            backlog: &mut self.backlogs[index],
            total: &mut self.total,
        };
        (queue, &mut flow.law)
    }

    /// Index of the queue with most bytes, and these bytes.
    pub(crate) fn fattest(&self) -> Option<(usize, u64)> {
        // Two passes over plain numbers, which the compiler vectorises; the first of equals, as in Linux.
        let most = self.backlogs.iter().copied().max()?;
        let index = self.backlogs.iter().position(|bytes| *bytes == most)?;
        Some((index, most))
    }
}

/// The packets of one flow within [`FlowQueues`].
pub(crate) struct FlowQueue<'a, P> {
    arena: &'a mut Arena<P>,
    chain: &'a mut Chain,
    backlog: &'a mut u64,
    total: &'a mut Total,
}

impl<P: Packet> FlowQueue<'_, P> {
    /// Removes the packet at the head.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<P> {
        let packet = self.arena.pop_front(self.chain)?;
        *self.backlog -= u64::from(packet.bytes());
        self.total.remove(packet.bytes());
        Some(packet)
    }

    /// Bytes in this queue.
    #[inline]
    pub(crate) fn backlog(&self) -> u64 {
        *self.backlog
    }

    /// Bytes in all queues.
    #[inline]
    pub(crate) fn total_backlog(&self) -> u64 {
        self.total.bytes
    }
}
