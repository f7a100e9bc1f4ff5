//! Ground truth about a generated capture, from the segments of its connections that passed the vantage point.

use gentle_tcp::{Flags, Segment, Seq};
use serde::Serialize;

/// Counts over the frames written, by the definitions of `gentle_trace`; copies made by the capture are in
/// `duplicate_syn`, `duplicate_synack`, `capture_duplicates` and `packets`, but nowhere else.
#[derive(Debug, Default, Serialize)]
pub struct Truth {
    /// Frames.
    pub packets: u64,
    /// Connections opened, whether or not anything of them was captured.
    pub connections: u64,
    /// Distinct SYNs.
    pub attempts: u64,
    /// Attempts with a completed handshake.
    pub successes: u64,
    /// Attempts without a completed handshake.
    pub failures: u64,
    /// Failures that an RST answered.
    pub refused: u64,
    /// Further SYNs of the same attempts.
    pub duplicate_syn: u64,
    /// Further SYN/ACKs of the same attempts.
    pub duplicate_synack: u64,
    /// Attempts with a duplicate SYN.
    pub attempts_with_duplicate_syn: u64,
    /// Successes with a duplicate SYN.
    pub successes_with_duplicate_syn: u64,
    /// Copies made by the capture.
    pub capture_duplicates: Copies,
    /// Segments with payload.
    pub data_segments: u64,
    /// Data segments of which some bytes were captured before.
    pub data_retransmitted: u64,
    /// Retransmissions whose bytes were not captured before, but later bytes or the FIN were.
    pub data_hole_filling: u64,
    /// First transmissions whose bytes were not captured before, but later bytes or the FIN were.
    pub data_reordered: u64,
    /// Segments with FIN and without payload, captured when a FIN of that side had been captured before.
    pub fin_retransmitted: u64,
}

/// Frames captured a second time.
#[derive(Debug, Default, Serialize)]
pub struct Copies {
    /// SYNs.
    pub syn: u64,
    /// SYN/ACKs.
    pub synack: u64,
    /// All others.
    pub other: u64,
}

/// Segments of a connection seen at the vantage point.
#[derive(Debug, Default)]
pub struct Seen {
    syns: u64,
    /// Sequence number of the SYN/ACK, once there was one.
    synack: Option<Seq>,
    success: bool,
    refused: bool,
    /// Data sent by client and server.
    data: [Coverage; 2],
}

/// Bytes of one side that passed the vantage point.
#[derive(Debug, Default)]
struct Coverage {
    /// End of the payload known to exist, bytes after the first.
    end: u32,
    /// Missing ranges below `end`.
    holes: Vec<(u32, u32)>,
    fin: bool,
}

impl Seen {
    /// Whether a SYN was captured.
    pub const fn has_syn(&self) -> bool {
        self.syns > 0
    }

    /// Counts a segment; `isn` is its sender's initial sequence number, `copy` whether it was captured before.
    pub(crate) fn pass(&mut self, segment: &Segment, from_server: bool, isn: Seq, copy: bool, truth: &mut Truth) {
        let flags = segment.flags;
        truth.packets += 1;
        if flags.contains(Flags::SYN | Flags::ACK) {
            truth.duplicate_synack += u64::from(self.synack.is_some());
            truth.capture_duplicates.synack += u64::from(copy);
            self.synack = Some(segment.seq);
        } else if flags.contains(Flags::SYN) {
            truth.duplicate_syn += u64::from(self.syns > 0);
            truth.capture_duplicates.syn += u64::from(copy);
            self.syns += 1;
        } else if copy {
            truth.capture_duplicates.other += 1;
        } else if flags.contains(Flags::RST) {
            self.refused |= from_server && self.synack.is_none();
        } else {
            self.success |= !from_server && self.synack.is_some_and(|isn| segment.ack.distance(isn) == 1);
            let side = &mut self.data[usize::from(from_server)];
            let start = segment.seq.0.wrapping_sub(isn.0).wrapping_sub(1);
            if segment.len > 0 {
                truth.data_segments += 1;
                side.data(start, start + segment.len, segment.retransmitted, truth);
            } else if flags.contains(Flags::FIN) {
                truth.fin_retransmitted += u64::from(side.fin);
                side.reach(start);
            }
            side.fin |= flags.contains(Flags::FIN);
        }
    }

    /// Counts the connection, once it is over.
    pub(crate) fn conclude(&self, truth: &mut Truth) {
        if self.syns == 0 {
            return;
        }
        truth.attempts += 1;
        truth.successes += u64::from(self.success);
        truth.failures += u64::from(!self.success);
        truth.refused += u64::from(self.refused && !self.success);
        if self.syns > 1 {
            truth.attempts_with_duplicate_syn += 1;
            truth.successes_with_duplicate_syn += u64::from(self.success);
        }
    }
}

impl Coverage {
    /// Extends the known payload to `start`, and records the gap as a hole.
    fn reach(&mut self, start: u32) {
        if start > self.end {
            self.holes.push((self.end, start));
            self.end = start;
        }
    }

    fn data(&mut self, start: u32, end: u32, retransmitted: bool, truth: &mut Truth) {
        if start >= self.end {
            self.reach(start);
            self.end = end;
            return;
        }
        let inside = |&(from, to): &(u32, u32)| from <= start && end <= to;
        if !self.holes.iter().any(inside) {
            truth.data_retransmitted += 1;
        } else if retransmitted {
            truth.data_hole_filling += 1;
        } else {
            truth.data_reordered += 1;
        }
        let holes = std::mem::take(&mut self.holes);
        let rest = holes.into_iter().flat_map(|(from, to)| [(from, to.min(start)), (from.max(end), to)]);
        self.holes = rest.filter(|(from, to)| from < to).collect();
        self.end = self.end.max(end);
    }
}
