//! What went wrong on a connection; most have none of it.

use super::exchange::Exchange;
use super::flight::Flying;
use crate::measure::backoff::Candidates;
use gentle_units::Nanos;

/// Counts of one side.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SideTrouble {
    /// For each retransmission the time since the previous transmission of the same bytes, SYN and SYN/ACK aside …
    pub(crate) delay: Nanos,
    /// … and of SYN and SYN/ACK.
    pub(crate) handshake_delay: Nanos,
    /// Retransmitted SYNs (client) or SYN/ACKs (server).
    pub(crate) handshake: u32,
    /// Copies of SYN or SYN/ACK made by the capture.
    pub(crate) handshake_copies: u32,
    pub(crate) retransmitted: u32,
    pub(crate) late: u32,
    pub(crate) spurious: u32,
    /// The newest retransmission: where it ended and its time stamp, until an acknowledgement shows whether it was
    /// needed (RFC 3522).
    pub(crate) newest: Option<(u32, u32)>,
    /// The newest retransmission of what had been seen. If it was not needed, all of it may be acknowledged and so forgotten
    /// elsewhere, and a copy of it would be taken for another one.
    pub(crate) again: Option<Flying>,
    /// The last block found spurious by time stamp, so that a DSACK for it does not count again.
    pub(crate) found_spurious: Option<u32>,
    /// The last DSACK.
    pub(crate) dsack: (u32, u32),
}

/// What went wrong on a connection.
#[derive(Debug, Clone, Default)]
pub(crate) struct Trouble {
    pub(crate) sides: [SideTrouble; 2],
    /// What of the handshake was sent when, once something of it came again.
    pub(crate) exchange: Exchange,
    /// Which backoff series fit so far, for SYNs and SYN/ACKs.
    pub(crate) series: [Option<Candidates>; 2],
    /// Sequence and acknowledgement numbers of SYN/ACKs other than the first, of which there should be none; the newest
    /// few.
    pub(crate) other_synacks: Vec<(u32, u32)>,
    /// A SYN came again since the last SYN/ACK: the next SYN/ACK answers it.
    pub(crate) syn_pending: bool,
}

impl Trouble {
    /// How many other SYN/ACKs are remembered.
    pub(crate) const OTHER_SYNACKS: usize = 16;
}
