//! Segments that the network card or the kernel merged before they were captured (segmentation offload: TSO, GSO, GRO, LRO):
//! they are larger than any host accepts.

use gentle_wire::{Tcp, TcpFlags};
use serde::{Deserialize, Serialize};

/// Largest payload of a segment in jumbo frames, as hosts have them: 9,216 bytes with IPv4 and TCP headers.
const JUMBO: u32 = 9_176;

/// Segments larger than the largest maximum segment size (MSS; RFC 9293, 3.7.1) in the SYNs of a capture so far.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MergedCounts {
    pub(crate) segments: u64,
    /// Largest payload among them, bytes.
    pub(crate) largest: u32,
    /// Largest MSS, or [`JUMBO`] before the first one.
    pub(crate) limit: u32,
    has_mss: bool,
}

impl Default for MergedCounts {
    fn default() -> MergedCounts {
        MergedCounts { segments: 0, largest: 0, limit: JUMBO, has_mss: false }
    }
}

impl MergedCounts {
    /// Handles a segment.
    #[inline(always)]
    pub(crate) fn record(&mut self, tcp: &Tcp<'_>) {
        if tcp.payload_len > self.limit || tcp.flags.any(TcpFlags::SYN) {
            self.record_rare(tcp);
        }
    }

    #[cold]
    #[inline(never)]
    fn record_rare(&mut self, tcp: &Tcp<'_>) {
        if !tcp.flags.any(TcpFlags::SYN) {
            self.segments += 1;
            self.largest = self.largest.max(tcp.payload_len);
        } else if let Some(mss) = tcp.mss().map(u32::from).filter(|mss| !self.has_mss || *mss > self.limit) {
            // Larger segments before may have been whole.
            *self = MergedCounts { segments: 0, largest: 0, limit: mss, has_mss: true };
        }
    }
}
