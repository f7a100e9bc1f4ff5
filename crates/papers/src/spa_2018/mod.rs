//! `spa-2018`: T. Braud, M. Heusse, A. Duda, "The Virtue of Gentleness: Improving Connection Response Times with SYN
//! Priority Active Queue Management", IFIP Networking 2018.

use crate::paper::Paper;

/// The paper.
pub(crate) const PAPER: Paper = Paper {
    name: "spa-2018",
    published: &[
        include_str!("../../data/spa-2018/published.toml"),
        include_str!("../../data/spa-2018/traces.toml"),
    ],
    parts: &[],
    assumptions: &[],
};
