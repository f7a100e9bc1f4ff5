//! Loss state of a connection: retransmissions, losses and copies made by the capture. Most connections have none.

use super::exchange::Exchange;
use super::flight::InFlight;
use super::waited::Waited;
use crate::tally::Candidates;
use gentle_units::{Instant, Nanos};

/// Loss state of one endpoint.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct EndpointLoss {
    /// Sum of the times from previous transmission to retransmission, without SYN and SYN/ACK.
    pub(crate) delay: Nanos,
    /// Sum of the times from previous transmission to retransmission, of SYNs or SYN/ACKs.
    pub(crate) handshake_delay: Nanos,
    /// Time that any segment waited for its retransmission.
    pub(crate) waited: Waited,
    /// Retransmitted SYNs (client) or SYN/ACKs (server).
    pub(crate) handshake: u32,
    /// SYNs or SYN/ACKs duplicated by the capture.
    pub(crate) handshake_copies: u32,
    /// Retransmitted segments without SYN and SYN/ACK, by [`SegmentKind`](crate::tally::SegmentKind).
    pub(crate) retransmitted: u32,
    pub(crate) late: u32,
    /// Retransmissions that begin where the one before ended: segments that were lost in a row.
    pub(crate) in_a_row: u32,
    /// Retransmissions of data before any was acknowledged.
    pub(crate) unacknowledged: u32,
    /// Sequence number at which the last retransmission ended.
    pub(crate) last_end: Option<u32>,
    /// Retransmissions found spurious.
    pub(crate) spurious: u32,
    /// Newest retransmission, sequence number of its end and timestamp, until an acknowledgement shows whether it was
    /// spurious (RFC 3522).
    pub(crate) newest: Option<(u32, u32)>,
    /// Newest retransmission of bytes seen before. A spurious one may be acknowledged at once and so removed from the
    /// window; without this field, a copy of it would count as another retransmission.
    pub(crate) last_retransmitted: Option<InFlight>,
    /// End of the last block found spurious by timestamp, so that a DSACK for it is not counted again.
    pub(crate) found_spurious: Option<u32>,
    /// Last DSACK block.
    pub(crate) dsack: (u32, u32),
}

/// Loss state of both endpoints.
#[derive(Debug, Clone, Default)]
pub(crate) struct LossState {
    pub(crate) sides: [EndpointLoss; 2],
    /// Time that any segment of either side waited for its retransmission, without SYN and SYN/ACK.
    pub(crate) waited_for_data: Waited,
    /// Transmissions of the handshake, once a SYN or SYN/ACK was retransmitted.
    pub(crate) exchange: Exchange,
    /// Backoff series that fit the intervals so far, of SYNs and of SYN/ACKs.
    pub(crate) series: [Option<Candidates>; 2],
    /// Sequence and acknowledgement numbers of SYN/ACKs that differ from the first (normally none), newest few only.
    pub(crate) other_synacks: Vec<(u32, u32)>,
    /// A SYN was repeated since the last SYN/ACK, so the next SYN/ACK answers it.
    pub(crate) syn_pending: bool,
}

impl EndpointLoss {
    /// Records that the lost bytes from `start` to `end` were sent again; `acked`: any data of the side was acknowledged.
    pub(crate) fn note_place(&mut self, start: u32, end: u32, acked: bool) {
        self.in_a_row += u32::from(acked && self.last_end == Some(start));
        self.unacknowledged += u32::from(!acked);
        self.last_end = Some(end);
    }
}

impl LossState {
    /// Records that `side` retransmitted a segment, other than SYN and SYN/ACK, after `delay`.
    pub(crate) fn add_delay(&mut self, side: usize, delay: Nanos, time: Instant) {
        let endpoint = &mut self.sides[side];
        endpoint.delay += delay;
        endpoint.waited.add(delay, time);
        self.waited_for_data.add(delay, time);
    }

    /// Records that `side` retransmitted its SYN or SYN/ACK after `delay`.
    pub(crate) fn add_handshake_delay(&mut self, side: usize, delay: Nanos, time: Instant) {
        let endpoint = &mut self.sides[side];
        endpoint.handshake_delay += delay;
        endpoint.waited.add(delay, time);
    }

    /// Largest length of [`LossState::other_synacks`].
    pub(crate) const OTHER_SYNACKS: usize = 16;
}
