//! Open questions of the four papers, answered in the simulator.

mod cases;
mod factors;
mod traffic;

use crate::paper::{Paper, Part};

/// The paper.
pub(crate) const PAPER: Paper = Paper {
    name: "open",
    published: &[include_str!("../../data/open/published.toml")],
    sentences: None,
    parts: &[
        Part { id: "decision", measure: traffic::decision },
        Part { id: "real", measure: traffic::real },
        Part { id: "real-reverse", measure: traffic::real_reverse },
        Part { id: "short", measure: traffic::short },
        Part { id: "10m", measure: traffic::ten_m },
        Part { id: "ecn", measure: factors::ecn },
        Part { id: "initial-rto", measure: factors::initial_rto },
        Part { id: "initial-window", measure: factors::initial_window },
        Part { id: "congestion-control", measure: factors::congestion_control },
    ],
    assumptions: &[],
};
