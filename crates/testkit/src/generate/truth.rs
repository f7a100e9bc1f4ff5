//! Ground truth about a generated capture.

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
