//! Ground truth about a generated capture.

use serde::Serialize;

/// Counts over the frames written, by the definitions of `gentle_trace`; copies made by the capture are in
/// `duplicate_syn`, `duplicate_synack`, `capture_duplicates` and `packets`, but nowhere else.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Truth {
    /// Frames written.
    pub(crate) packets: u64,
    /// Connections opened, captured or not.
    pub(crate) connections: u64,
    pub(crate) attempts: u64,
    pub(crate) successes: u64,
    pub(crate) failures: u64,
    /// Failures answered by an RST.
    pub(crate) refused: u64,
    pub(crate) duplicate_syn: u64,
    pub(crate) duplicate_synack: u64,
    pub(crate) attempts_with_duplicate_syn: u64,
    pub(crate) successes_with_duplicate_syn: u64,
    pub(crate) capture_duplicates: Copies,
    /// Segments with payload.
    pub(crate) data_segments: u64,
    /// Data segments with bytes that were captured before.
    pub(crate) data_retransmitted: u64,
    /// Retransmitted data segments with bytes not captured before, while later bytes or the FIN after them were.
    pub(crate) data_hole_filling: u64,
    /// Data segments sent for the first time with bytes not captured before, while later bytes or the FIN after them were.
    pub(crate) data_reordered: u64,
    /// Segments with FIN and without payload, captured after another FIN of the same side.
    pub(crate) fin_retransmitted: u64,
}

/// Frames captured a second time.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Copies {
    pub(crate) syn: u64,
    pub(crate) synack: u64,
    pub(crate) other: u64,
}
