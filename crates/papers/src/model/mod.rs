//! The response-time model (`gentle-model`) against the simulator.

mod handshake;
mod response_time;
mod transfers;

use crate::paper::{Paper, Part};

/// The model as a paper: what it predicts stands for what a paper publishes.
pub(crate) const PAPER: Paper = Paper {
    name: "model",
    published: &[include_str!("../../data/model/published.toml")],
    sentences: None,
    parts: &[
        Part { id: "response-time", measure: response_time::response_time },
        Part { id: "handshake", measure: handshake::wait },
    ],
    assumptions: &[],
};
