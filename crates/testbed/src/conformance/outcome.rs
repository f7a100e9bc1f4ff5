//! Outcome of a call of a queue, the kernel's or the model's.

use gentle_aqm::Ecn;
use std::fmt;

/// A packet that left a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sent {
    /// Number of the packet.
    pub(super) number: u32,
    /// ECN codepoint.
    pub(super) ecn: Ecn,
    /// Differentiated services codepoint.
    pub(super) dscp: u8,
}

/// Outcome of one call of a queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Outcome {
    /// The packet that left.
    pub(super) sent: Option<Sent>,
    /// Numbers of the packets dropped since the previous call, in ascending order: packets dropped in a batch have no
    /// order.
    pub(super) dropped: Vec<u32>,
    /// Packets in the queue after the call.
    pub(super) len: usize,
    /// Bytes in the queue after the call.
    pub(super) backlog: u64,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(Sent { number, ecn, dscp }) = self.sent {
            write!(f, "sent {number} with codepoint {dscp}")?;
            if ecn == Ecn::Ce {
                f.write_str(" marked")?;
            }
            f.write_str(", ")?;
        }
        if !self.dropped.is_empty() {
            write!(f, "dropped {:?}, ", self.dropped)?;
        }
        write!(f, "holds {} packets, {} bytes", self.len, self.backlog)
    }
}
