//! Cost of handshake loss: what the response-time model expects of the losses in a capture, and what was measured.

use super::moments::Moments;
use crate::connections::Classification;
use crate::results::{CostGap, CostOfSize, ExpectedCost, InitialRto, Quantiles, Retransmissions};
use crate::sum::sum;
use crate::tally::{Candidates, SERIES};
use gentle_model::Path;
use gentle_units::Nanos;
use serde::{Deserialize, Serialize};

/// Payload of a full segment on Ethernet without TCP options, bytes. The size of a connection is its payload in such
/// segments, not the number of packets, which network cards change (TSO, GRO).
const SEGMENT_BYTES: u64 = 1_460;

/// Upper bounds of the ranges of sizes, segments; the last range has none.
const BOUNDS: [u64; 4] = [3, 10, 100, 1_000];

/// Initial window of current stacks, segments (RFC 6928).
const INITIAL_WINDOW: f64 = 10.0;

/// Segments for each acknowledgement. Stacks delay acknowledgements, but let the window grow with the bytes
/// acknowledged (RFC 3465), so that the model fits them with 1: see `docs/concepts/model.md`.
const SEGMENTS_PER_ACK: f64 = 1.0;

/// Fewest connections with a loss from which an expected wait is computed: with fewer, chance decides how many losses
/// there are.
const FEWEST: u64 = 10;

/// Connections of one range of sizes.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SizeSums {
    segments: u64,
    waits: Moments,
}

/// Losses and waits of completed attempts.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CostCounts {
    losses: u64,
    with_loss: u64,
    waits: Moments,
    /// Connections with one lost transmission, and with several, by backoff series in [`SERIES`].
    series: [[u64; SERIES.len()]; 2],
    unknown_rto: u64,
    sizes: [SizeSums; BOUNDS.len() + 1],
}

sum! {
    SizeSums { segments, waits }
    CostCounts { losses, with_loss, waits, series, unknown_rto, sizes }
}

impl CostCounts {
    /// Records a completed attempt with the backoff series that fit its SYNs and its SYN/ACKs, and the payload of its
    /// larger direction.
    pub(super) fn record(&mut self, class: &Classification, series: [Option<Candidates>; 2], payload: u64) {
        let mut waited = Nanos::ZERO;
        if class.has_loss() {
            waited = class.waited_for_loss;
            self.losses += u64::from(class.repeats.lost);
            self.with_loss += 1;
            // Where both sides sent again, the client did so for the same loss, or for another before.
            let [client, server] = series;
            match client.or(server).and_then(Candidates::recognised) {
                Some(series) => {
                    self.series[usize::from(class.repeats.lost > 1)][series] += 1;
                }
                None => self.unknown_rto += 1,
            }
        }
        self.waits.record(waited);
        if payload > 0 {
            let segments = payload.div_ceil(SEGMENT_BYTES);
            let range = BOUNDS.partition_point(|&largest| largest < segments);
            let sums = &mut self.sizes[range];
            sums.segments = sums.segments.saturating_add(segments);
            sums.waits.record(waited);
        }
    }

    /// Initial RTOs with their shares.
    ///
    /// A single interval does not distinguish linear timeouts from doubled ones. It counts for either in proportion to
    /// the connections of the same initial RTO with several intervals, and for doubled ones (RFC 6298) if there are
    /// none.
    fn initial_rtos(&self) -> Vec<InitialRto> {
        let [single, several] = self.series;
        let all: u64 = single.iter().chain(&several).sum();
        let of_rto = |counts: &[u64; SERIES.len()], initial: u64| -> u64 {
            let known = SERIES.iter().zip(counts);
            known.filter(|(series, _)| series.initial_s() == initial).map(|(_, count)| count).sum()
        };
        let mut rtos: Vec<InitialRto> = Vec::new();
        for (i, series) in SERIES.iter().enumerate() {
            let initial = series.initial_s();
            let (alone, told) = (of_rto(&single, initial), of_rto(&several, initial));
            let connections = if told > 0 {
                several[i] as f64 * (1.0 + alone as f64 / told as f64)
            } else if series.linear() == 0 {
                alone as f64
            } else {
                0.0
            };
            if connections > 0.0 {
                rtos.push(InitialRto {
                    initial_rto_s: initial as f64,
                    linear: series.linear(),
                    share: connections / all as f64,
                });
            }
        }
        rtos
    }

    /// Expected and measured cost, from the round-trip times of the handshakes and the retransmissions of data; `None`
    /// if no completed attempt had a loss. `by_middlebox`: SYNs were dropped for what they carry.
    pub(super) fn result(
        &self,
        rtt: &Quantiles,
        retransmissions: &Retransmissions,
        by_middlebox: bool,
    ) -> Option<ExpectedCost> {
        if self.losses == 0 {
            return None;
        }
        let measured_wait_s = self.waits.mean();
        let handshake_loss = self.losses as f64 / (self.losses + measured_wait_s.n) as f64;
        let packet_loss = packet_loss(retransmissions);
        let initial_rtos = self.initial_rtos();
        let wait = |handshake_loss: f64| {
            let waits = initial_rtos.iter().map(|rto| {
                let path = Path {
                    handshake_loss,
                    initial_rto_s: rto.initial_rto_s,
                    backoff: rto.backoff(),
                    ..Path::default()
                };
                rto.share * path.mean_wait_s()
            });
            let is_known = self.with_loss >= FEWEST && !initial_rtos.is_empty() && !by_middlebox;
            is_known.then(|| waits.sum::<f64>())
        };
        let expected_wait_s = wait(handshake_loss);
        let no_wait = if by_middlebox {
            Some(CostGap::Middlebox)
        } else if self.with_loss < FEWEST {
            Some(CostGap::FewLosses)
        } else {
            initial_rtos.is_empty().then_some(CostGap::UnknownRto)
        };
        let no_round_trip = rtt.mean.is_none().then_some(CostGap::NoRoundTrip);
        let no_data = packet_loss.is_none().then_some(CostGap::NoData);
        let sizes = match (expected_wait_s, rtt.mean) {
            (Some(expected), Some(rtt_s)) => self.sizes(expected, rtt_s, packet_loss.unwrap_or(0.0)),
            _ => Vec::new(),
        };
        Some(ExpectedCost {
            losses: self.losses,
            handshake_loss,
            packet_loss,
            rtt_s: rtt.mean,
            expected_wait_like_data_s: packet_loss.and_then(|loss| wait(Path::like_other_packets(loss))),
            initial_rtos,
            unknown_rto: self.unknown_rto,
            initial_window: INITIAL_WINDOW,
            segments_per_ack: SEGMENTS_PER_ACK,
            expected_wait_s,
            measured_wait_s,
            sizes,
            gaps: [no_wait, no_round_trip, no_data].into_iter().flatten().collect(),
            not_computed: Vec::new(),
        })
    }

    /// Ranges of sizes with connections.
    fn sizes(&self, expected_wait_s: f64, rtt_s: f64, loss: f64) -> Vec<CostOfSize> {
        // The model needs a round-trip time above zero; the resolution of those measured is 1 µs.
        let path = Path {
            rtt_s: rtt_s.max(1e-6),
            loss,
            initial_window: INITIAL_WINDOW,
            segments_per_ack: SEGMENTS_PER_ACK,
            ..Path::default()
        };
        let from = std::iter::once(1).chain(BOUNDS.map(|bound| bound + 1));
        let to = BOUNDS.into_iter().map(Some).chain([None]);
        let ranges = from.zip(to).zip(&self.sizes);
        let of_range = |((min_segments, max_segments), sums): ((u64, Option<u64>), &SizeSums)| {
            let measured_wait_s = sums.waits.mean();
            let measured = measured_wait_s.mean?;
            let mean_segments = sums.segments as f64 / measured_wait_s.n as f64;
            let response_s = path.response_time(mean_segments).total_s();
            Some(CostOfSize {
                min_segments,
                max_segments,
                mean_segments,
                response_s,
                expected_share: expected_wait_s / (expected_wait_s + response_s),
                measured_wait_s,
                measured_share: measured / (measured + response_s),
            })
        };
        ranges.filter_map(of_range).collect()
    }
}

impl InitialRto {
    fn backoff(&self) -> gentle_model::Backoff {
        gentle_model::Backoff::Doubling { linear: self.linear, retries: RETRIES }
    }
}

/// Retransmissions of a SYN with doubled waits: `tcp_syn_retries` of Linux. A higher limit would change the mean wait
/// only where nearly everything is lost.
const RETRIES: u32 = 6;

/// Probability that a segment with data or FIN is lost, below 1 as the model requires.
fn packet_loss(retransmissions: &Retransmissions) -> Option<f64> {
    let r = retransmissions;
    let lost = (r.retransmitted + r.late).saturating_sub(r.spurious);
    (r.data_segments > lost).then(|| lost as f64 / r.data_segments as f64)
}
