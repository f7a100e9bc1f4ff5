//! Response times over sizes and initial RTOs: Fig. 3 of spa-2018.

use crate::first_loss::Form;
use crate::path::{InvalidPath, Path, ResponseTime};
use serde::{Deserialize, Serialize};

/// Version of the JSON form of a [`Prediction`].
const SCHEMA: u32 = 1;

/// Default sizes of transfers, in segments: Fig. 3's, 25 to 10,000.
pub const DEFAULT_SIZES: [u32; 9] = [25, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000];

/// Predicted response times of transfers over one path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Prediction {
    /// Version of this schema.
    pub version: u32,
    /// Version of gentle.
    pub gentle: String,
    /// Command line that reproduces the results; `null` if they were not made by the command.
    pub command: Option<String>,
    /// Form of the model.
    pub form: Form,
    /// Round-trip time, queueing included.
    pub rtt_s: f64,
    /// Probability that a data packet is lost.
    pub loss: f64,
    /// Probability that an attempt of the handshake fails, because its SYN or SYN/ACK is lost.
    pub handshake_loss: f64,
    /// Initial window in segments.
    pub initial_window: f64,
    /// Segments for each acknowledgement.
    pub segments_per_ack: f64,
    /// Throughput of congestion avoidance in segments per second; `null` without loss, which bounds it.
    pub throughput_segments_per_s: Option<f64>,
    /// One entry per initial RTO.
    pub rtos: Vec<OfRto>,
}

/// Predictions for one initial RTO.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct OfRto {
    /// Initial RTO.
    pub initial_rto_s: f64,
    /// Mean wait for lost SYNs and SYN/ACKs over all connections.
    pub mean_wait_s: f64,
    /// Wait of a connection whose handshake fails once.
    pub wait_after_one_loss_s: f64,
    /// One entry per size.
    pub sizes: Vec<OfSize>,
}

/// Predictions for one initial RTO and one size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct OfSize {
    /// Full segments transferred.
    pub segments: u32,
    /// Mean response time over all connections.
    pub mean_s: f64,
    /// Parts of the mean response time.
    pub parts: ResponseTime,
    /// Mean response time of connections without a lost SYN or SYN/ACK.
    pub without_handshake_loss_s: f64,
    /// Mean response time of connections whose handshake fails once.
    pub with_one_loss_s: f64,
    /// Relative increase of the response time by one failed attempt: 1 is twice the time.
    pub increase_by_one_loss: f64,
}

/// Predicts response times in the published form: see [`predict_by`].
///
/// # Errors
/// A value of the path, or an initial RTO, outside its range.
pub fn predict(path: &Path, initial_rtos: &[f64], sizes: &[u32]) -> Result<Prediction, InvalidPath> {
    predict_by(Form::Published, path, initial_rtos, sizes)
}

/// Predicts the response times of transfers of `sizes` segments for each of the `initial_rtos`, in seconds, over
/// `path`; the initial RTO of `path` is not used.
///
/// # Errors
/// A value of the path, or an initial RTO, outside its range.
pub fn predict_by(form: Form, path: &Path, initial_rtos: &[f64], sizes: &[u32]) -> Result<Prediction, InvalidPath> {
    let rtos = initial_rtos.iter().map(|&initial_rto_s| {
        let path = Path { initial_rto_s, ..*path };
        path.check()?;
        let undisturbed = Path { handshake_loss: 0.0, ..path };
        let wait = path.wait_s(1);
        let of_size = |&segments: &u32| {
            let parts = path.response_time_by(form, f64::from(segments));
            let without = undisturbed.response_time_by(form, f64::from(segments)).total_s();
            OfSize {
                segments,
                mean_s: parts.total_s(),
                parts,
                without_handshake_loss_s: without,
                with_one_loss_s: without + wait,
                increase_by_one_loss: wait / without,
            }
        };
        Ok(OfRto {
            initial_rto_s,
            mean_wait_s: path.mean_wait_s(),
            wait_after_one_loss_s: wait,
            sizes: sizes.iter().map(of_size).collect(),
        })
    });
    let rtos = rtos.collect::<Result<Vec<_>, _>>()?;
    let throughput = path.throughput();
    Ok(Prediction {
        version: SCHEMA,
        gentle: env!("CARGO_PKG_VERSION").to_owned(),
        command: None,
        form,
        rtt_s: path.rtt_s,
        loss: path.loss,
        handshake_loss: path.handshake_loss,
        initial_window: path.initial_window,
        segments_per_ack: path.segments_per_ack,
        throughput_segments_per_s: throughput.is_finite().then_some(throughput),
        rtos,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Backoff;

    #[test]
    fn a_lost_syn_costs_short_connections_most() {
        let path = Path { loss: 0.02, handshake_loss: 0.04, backoff: Backoff::Constant, ..Path::default() };
        let found = predict(&path, &[1.0, 3.0], &DEFAULT_SIZES).unwrap();
        assert_eq!(found.rtos.len(), 2);
        for rto in &found.rtos {
            let waits = rto.sizes.iter().map(|size| size.with_one_loss_s - size.without_handshake_loss_s);
            assert!(waits.into_iter().all(|wait| (wait - rto.initial_rto_s).abs() < 1e-9));
            let increases: Vec<f64> = rto.sizes.iter().map(|size| size.increase_by_one_loss).collect();
            assert!(increases.is_sorted_by(|a, b| a > b), "{increases:?}");
            // Published, section IV: less than 10 % beyond 1,000 segments with 1 s.
            let beyond = rto.sizes.iter().find(|size| size.segments == 1_000).unwrap();
            assert_eq!(beyond.increase_by_one_loss < 0.1, rto.initial_rto_s == 1.0);
        }
        // RTO·(1/(1 − p) − 1).
        assert!((found.rtos[0].mean_wait_s - 0.04 / 0.96).abs() < 1e-12);
    }

    #[test]
    fn a_wrong_initial_rto_is_named() {
        let error = predict(&Path::default(), &[1.0, 0.0], &[10]).unwrap_err();
        assert_eq!(error.to_string(), "initial RTO 0: expected more than 0 s");
    }
}
