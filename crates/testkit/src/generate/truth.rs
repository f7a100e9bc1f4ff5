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
    /// Attempts without.
    pub failures: u64,
    /// Failures that an RST answered.
    pub refused: u64,
    /// Further SYNs of the same attempts.
    pub duplicate_syn: u64,
    /// Further SYN/ACKs of the same attempts.
    pub duplicate_synack: u64,
    /// Attempts with a duplicate SYN.
    pub attempts_with_duplicate_syn: u64,
    /// Of them: successes.
    pub successes_with_duplicate_syn: u64,
    /// Copies made by the capture.
    pub capture_duplicates: Copies,
    /// Segments with payload.
    pub data_segments: u64,
    /// Of them: some of the bytes were captured before.
    pub data_retransmitted: u64,
    /// Of them: later bytes or the FIN behind them were captured before, these were not, and it is a retransmission.
    pub data_hole_filling: u64,
    /// Of them: later bytes or the FIN behind them were captured before, these were not, and it is the first
    /// transmission.
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
