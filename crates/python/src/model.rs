//! The response-time model.

use crate::error::{failed, invalid, read_back};
use gentle_model::{Backoff, Path, Prediction};
use pyo3::prelude::*;

/// Retransmissions of a SYN before the connection fails: `tcp_syn_retries` of Linux.
const RETRIES: u32 = 6;
/// Retransmissions of Linux since 6.5 that wait for the initial RTO each (`tcp_syn_linear_timeouts`).
const LINEAR: u32 = 4;

/// Predicts response times; the result is JSON, as `gentle model --json` prints it.
#[pyfunction]
#[pyo3(signature = (rtt, loss, syn_loss, rto, segments, backoff, initial_window, segments_per_ack))]
pub(crate) fn predict(
    rtt: f64,
    loss: f64,
    syn_loss: Option<f64>,
    rto: Vec<f64>,
    segments: Vec<u32>,
    backoff: &str,
    initial_window: f64,
    segments_per_ack: f64,
) -> PyResult<String> {
    let backoff = match backoff {
        "published" => Backoff::Constant,
        "doubling" => Backoff::Doubling { linear: 0, retries: RETRIES },
        "linux" => Backoff::Doubling { linear: LINEAR, retries: RETRIES },
        _ => {
            return Err(invalid(format!("backoff: unknown '{backoff}'; expected doubling, linux or published")));
        }
    };
    let path = Path {
        rtt_s: rtt,
        loss,
        handshake_loss: syn_loss.unwrap_or_else(|| Path::like_other_packets(loss)),
        backoff,
        initial_window,
        segments_per_ack,
        ..Path::default()
    };
    let sizes = match segments.as_slice() {
        [] => &gentle_model::DEFAULT_SIZES,
        sizes => sizes,
    };
    let prediction = gentle_model::predict(&path, &rto, sizes).map_err(invalid)?;
    serde_json::to_string(&prediction).map_err(failed)
}

/// The table that `gentle model` prints, `width` columns wide, of results as JSON.
#[pyfunction]
#[pyo3(signature = (json, width=None))]
pub(crate) fn prediction_text(json: &str, width: Option<usize>) -> PyResult<String> {
    let prediction: Prediction = read_back("prediction", json)?;
    Ok(gentle_report::model::table(&prediction, width, false))
}
