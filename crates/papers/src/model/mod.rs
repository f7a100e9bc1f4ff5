//! The response-time model (`gentle-model`) against the simulator.

use crate::paper::Paper;

/// The paper.
pub(crate) const PAPER: Paper = Paper {
    name: "model",
    published: &[include_str!("../../data/model/published.toml")],
    parts: &[],
    assumptions: &[],
};
