//! Options of schemes with a queue for each flow, and the totals of packets, bytes and memory over all queues.

use crate::plumbing::linux::truesize;
use crate::plumbing::options::{Kind, OptionSpec};

pub(crate) const FLOWS: OptionSpec = OptionSpec {
    name: "flows",
    kind: Kind::Count(1, 65_536),
    default: Some("1024"),
    help: "queues that flows are hashed to",
};

pub(crate) const QUANTUM: OptionSpec = OptionSpec {
    name: "quantum",
    kind: Kind::Size(256, 1 << 20),
    default: Some("1514"),
    help: "bytes a flow sends in its turn",
};

/// Packets in all queues together, the base of the option `limit`.
pub(crate) const LIMIT: OptionSpec = OptionSpec {
    name: "limit",
    kind: Kind::Count(1, u32::MAX as u64),
    default: Some("10240"),
    help: "packets all queues hold together",
};

/// Packets, bytes and memory stored in all queues together.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Total {
    pub(crate) packets: usize,
    pub(crate) bytes: u64,
    /// Memory that the packets occupy (Linux: `truesize`), bytes.
    pub(crate) memory: u64,
}

impl Total {
    #[inline]
    pub(crate) fn add(&mut self, bytes: u32) {
        self.packets += 1;
        self.bytes += u64::from(bytes);
        self.memory += truesize(bytes);
    }

    #[inline]
    pub(crate) fn remove(&mut self, bytes: u32) {
        self.packets -= 1;
        self.bytes -= u64::from(bytes);
        self.memory -= truesize(bytes);
    }
}
