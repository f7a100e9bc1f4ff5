//! `handshake-2009`: D. Damjanovic, P. Gschwandtner, M. Welzl, "Why Is This Web Page Coming Up so Slow? Investigating
//! the Loss of SYN Packets", IFIP Networking 2009.

use crate::paper::Paper;

/// The paper.
pub(crate) const PAPER: Paper = Paper {
    name: "handshake-2009",
    published: &[include_str!("../../data/handshake-2009/published.toml")],
    parts: &[],
    assumptions: &[],
};
