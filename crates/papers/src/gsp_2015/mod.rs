//! `gsp-2015`: W. Lautenschlaeger, A. Francini, "Global Synchronization Protection for Bandwidth Sharing TCP Flows in
//! High-Speed Links", IEEE HPSR 2015.

use crate::paper::Paper;

/// The paper.
pub(crate) const PAPER: Paper = Paper {
    name: "gsp-2015",
    published: &[include_str!("../../data/gsp-2015/published.toml")],
    parts: &[],
    assumptions: &[],
};
