//! What came of a call, on either side.

use gentle_aqm::Ecn;
use std::fmt;

/// What one call of a queue did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Outcome {
    /// The packet that left, with its ECN codepoint then.
    pub(super) sent: Option<(u32, Ecn)>,
    /// The packets dropped since the call before, in ascending order: a batch has no order of its own.
    pub(super) dropped: Vec<u32>,
    /// Packets stored afterwards.
    pub(super) len: usize,
    /// Bytes stored afterwards.
    pub(super) backlog: u64,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((number, ecn)) = self.sent {
            write!(f, "sent {number}")?;
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
