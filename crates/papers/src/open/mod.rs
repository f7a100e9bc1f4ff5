//! What the four papers left open, answered in the simulator.

use crate::paper::Paper;

/// The paper.
pub(crate) const PAPER: Paper = Paper {
    name: "open",
    published: &[include_str!("../../data/open/published.toml")],
    parts: &[],
    assumptions: &[],
};
