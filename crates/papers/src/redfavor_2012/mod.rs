//! `redfavor-2012`: P. Anelli, F. Harivelo, R. Lorion, "TCP SYN Protection: An Evaluation", ICN 2012.

use crate::paper::Paper;

/// The paper.
pub(crate) const PAPER: Paper = Paper {
    name: "redfavor-2012",
    published: &[include_str!("../../data/redfavor-2012/published.toml")],
    parts: &[],
    assumptions: &[],
};
