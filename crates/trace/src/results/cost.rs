//! Cost of handshake loss by the response-time model, and the measured cost.

use super::MeanOf;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Cost of lost SYNs and SYN/ACKs by the response-time model of spa-2018, section IV, and the measured cost.
///
/// The connections are the completed attempts, with or without a loss. The model assumes independent losses. Its input
/// is measured in the same capture, except for [`initial_window`](ExpectedCost::initial_window) and
/// [`segments_per_ack`](ExpectedCost::segments_per_ack).
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct ExpectedCost {
    /// Lost SYNs and SYN/ACKs of the connections.
    pub losses: u64,
    /// Probability that one attempt of a handshake, a SYN with its SYN/ACK, fails: `losses` as a fraction of the sum of
    /// `losses` and connections.
    pub handshake_loss: f64,
    /// Probability that a segment with data or FIN is lost: retransmitted ones, without the spurious, per segment.
    pub packet_loss: Option<f64>,
    /// Mean round-trip time of the handshakes without a repeated SYN or SYN/ACK.
    pub rtt_s: Option<f64>,
    /// Initial RTOs of the connections with a loss, as far as the intervals between their SYNs, or SYN/ACKs, show them.
    pub initial_rtos: Vec<InitialRto>,
    /// Connections with a loss whose intervals fit no backoff series. The expected wait leaves them out, the measured
    /// one does not.
    pub unknown_rto: u64,
    /// Assumed initial window in segments (RFC 6928).
    pub initial_window: f64,
    /// Assumed number of segments for each acknowledgement.
    pub segments_per_ack: f64,
    /// Expected wait for lost SYNs and SYN/ACKs, mean over all connections; `None` if no initial RTO is known.
    pub expected_wait_s: Option<f64>,
    /// Measured wait of the connections with a loss, mean over all connections.
    pub measured_wait_s: MeanOf,
    /// Expected wait if SYN and SYN/ACK were lost with probability `packet_loss` each.
    pub expected_wait_like_data_s: Option<f64>,
    /// Connections with data by size; empty without a round-trip time or an expected wait.
    pub sizes: Vec<CostOfSize>,
    /// Reasons why some of the fields have no value.
    pub gaps: Vec<CostGap>,
    /// Sentence for each of `gaps`. Text.
    pub not_computed: Vec<String>,
}

/// Reason why part of the [`ExpectedCost`] has no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CostGap {
    /// No expected wait: a middlebox drops SYNs for what they carry, and the model has independent losses.
    Middlebox,
    /// No expected wait: fewer than ten connections with a loss.
    FewLosses,
    /// No expected wait: no interval after a loss fits a known initial RTO.
    UnknownRto,
    /// No response times: no round-trip time.
    NoRoundTrip,
    /// No loss of data: no segment with data or FIN.
    NoData,
}

/// Initial RTO with the rule of the waits after it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InitialRto {
    /// Initial RTO, seconds.
    pub initial_rto_s: f64,
    /// Retransmissions after the initial RTO each, before the wait begins to double: 0, or 4 with linear timeouts.
    pub linear: u32,
    /// Share of the connections with a loss and a known initial RTO.
    pub share: f64,
}

/// Connections of one range of sizes, and what handshake loss costs them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CostOfSize {
    /// Smallest size in the range, segments of 1,460 bytes.
    pub min_segments: u64,
    /// Largest size in the range; `None`: unbounded.
    pub max_segments: Option<u64>,
    /// Mean size, segments.
    pub mean_segments: f64,
    /// Response time of a connection of the mean size without handshake loss, by the model.
    pub response_s: f64,
    /// Expected wait as a fraction of the response time with it.
    pub expected_share: f64,
    /// Measured wait of the connections with a loss, mean over all connections of the range.
    pub measured_wait_s: MeanOf,
    /// Mean of `measured_wait_s` as a fraction of the sum of it and `response_s`.
    pub measured_share: f64,
}
