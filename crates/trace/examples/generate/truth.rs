//! What there is to find in a capture.

use serde::Serialize;

/// Counts over the frames written, by the definitions of `gentle_trace`; copies made by the capture are in
/// `duplicate_syn`, `duplicate_synack` and `capture_duplicates`, and in `packets`, but nowhere else.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Truth {
    /// Frames.
    pub(crate) packets: u64,
    /// Connections opened, whether or not anything of them was captured.
    pub(crate) connections: u64,
    pub(crate) attempts: u64,
    pub(crate) successes: u64,
    pub(crate) failures: u64,
    /// Failures that an RST answered.
    pub(crate) refused: u64,
    pub(crate) duplicate_syn: u64,
    pub(crate) duplicate_synack: u64,
    pub(crate) attempts_with_duplicate_syn: u64,
    pub(crate) successes_with_duplicate_syn: u64,
    pub(crate) capture_duplicates: Copies,
    /// Segments with payload.
    pub(crate) data_segments: u64,
    /// Of them: some of the bytes were captured before.
    pub(crate) data_retransmitted: u64,
    /// Of them: later bytes or the FIN behind them were captured before, these were not, and it is a retransmission.
    pub(crate) data_hole_filling: u64,
    /// Of them: later bytes or the FIN behind them were captured before, these were not, and it is the first
    /// transmission.
    pub(crate) data_reordered: u64,
    /// Segments with FIN and without payload, captured when a FIN of that side had been captured before.
    pub(crate) fin_retransmitted: u64,
}

/// Frames that were captured a second time.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Copies {
    pub(crate) syn: u64,
    pub(crate) synack: u64,
    pub(crate) other: u64,
}
