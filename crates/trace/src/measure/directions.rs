//! Quantities of spa-2018, section III, for each direction of a link.

use super::moments::Moments;
use crate::connections::Connection;
use crate::results::{Direction, RetransmissionDelay, RetransmissionDelayDetail};
use crate::sum::{Sum, sum};
use crate::tally::Meter;
use gentle_units::{Nanos, Rate};
use serde::{Deserialize, Serialize};

/// Contribution of one endpoint of a connection to the direction of its segments.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Contribution {
    pub(crate) segments: SegmentCounts,
    pub(crate) retransmissions: RetransmissionCounts,
}

/// Part of a [`Contribution`] that every endpoint has.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SegmentCounts {
    pub(super) segments: u32,
    pub(super) handshake: u16,
    pub(super) direction: u8,
}

/// Part of a [`Contribution`] that few endpoints have: retransmissions and their delay.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RetransmissionCounts {
    delay: Nanos,
    retransmitted: u32,
    handshake: u16,
}

impl Contribution {
    /// Contribution of `side` of a closed connection.
    pub(crate) fn of(connection: &Connection, side: usize) -> Contribution {
        let endpoint = &connection.endpoints[side];
        let handshake = [connection.syns, connection.synacks][side];
        let copies = connection.loss_state.as_ref().map_or(0, |loss_state| loss_state.sides[side].handshake_copies);
        let (of_handshake, of_data) = connection.delay_sums(side);
        let handshake_again = connection.handshake_retransmissions(side);
        let saturated = |n: u32| u16::try_from(n).unwrap_or(u16::MAX);
        Contribution {
            segments: SegmentCounts {
                segments: connection.segments[side],
                handshake: handshake.saturating_sub(saturated(copies)),
                direction: endpoint.direction,
            },
            retransmissions: RetransmissionCounts {
                delay: of_handshake + of_data,
                retransmitted: u32::try_from(connection.retransmissions(side)).unwrap_or(u32::MAX),
                handshake: saturated(handshake_again),
            },
        }
    }

    /// Whether the retransmission delay exceeds `longest`.
    pub(crate) fn waits_longer_than(&self, longest: Nanos) -> bool {
        self.retransmissions.delay > longest
    }
}

#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sums {
    segments: u64,
    retransmitted: u64,
    handshake: u64,
    handshake_retransmitted: u64,
    delay_with_loss: Moments,
    delay_without_loss: Moments,
}

sum! {
    Sums { segments, retransmitted, handshake, handshake_retransmitted, delay_with_loss, delay_without_loss }
}

/// Sums by direction.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct DirectionSums {
    by_direction: Vec<Sums>,
}

fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

impl Sum for DirectionSums {
    fn add(&mut self, more: DirectionSums) {
        for (direction, more) in more.by_direction.into_iter().enumerate() {
            self.of(direction).add(more);
        }
    }
}

impl DirectionSums {
    /// Adds a connection that passes the filters.
    pub(crate) fn record(&mut self, contributions: &[Contribution; 2]) {
        for Contribution { segments: sent, retransmissions: again } in
            contributions.iter().filter(|it| it.segments.segments > 0)
        {
            let sums = self.of(usize::from(sent.direction));
            sums.segments += u64::from(sent.segments);
            sums.retransmitted += u64::from(again.retransmitted);
            sums.handshake += u64::from(sent.handshake);
            sums.handshake_retransmitted += u64::from(again.handshake);
            if again.handshake > 0 { &mut sums.delay_with_loss } else { &mut sums.delay_without_loss }
                .record(again.delay);
        }
    }

    /// Numbers the directions from `first` on.
    pub(crate) fn shift(&mut self, first: usize) {
        if !self.by_direction.is_empty() {
            self.by_direction.splice(0..0, std::iter::repeat_n(Sums::default(), first));
        }
    }

    /// Number of directions with connections.
    pub(crate) fn directions(&self) -> usize {
        self.by_direction.len()
    }

    fn of(&mut self, direction: usize) -> &mut Sums {
        if direction >= self.by_direction.len() {
            self.by_direction.resize(direction + 1, Sums::default());
        }
        &mut self.by_direction[direction]
    }

    /// Results per direction, in the order of `names`.
    pub(crate) fn result(
        &self,
        names: &[String],
        meters: &[Meter],
        duration: Nanos,
        rate: Option<Rate>,
    ) -> Vec<Direction> {
        names
            .iter()
            .enumerate()
            .map(|(i, name)| {
                let sums = self.by_direction.get(i).copied().unwrap_or_default();
                let meter = meters.get(i).cloned().unwrap_or_default();
                let rate_bps = meter.mean_bps(duration);
                let capacity_bps = match rate {
                    Some(rate) => Some(rate.bits_per_second() as f64),
                    None => Some(meter.highest_bps(duration)).filter(|&bps| bps > 0.0),
                };
                let detail = RetransmissionDelayDetail {
                    all: sums.delay_with_loss.plus(sums.delay_without_loss).mean(),
                    with_handshake_loss: sums.delay_with_loss.mean(),
                    without_handshake_loss: sums.delay_without_loss.mean(),
                };
                Direction {
                    name: name.clone(),
                    packets: sums.segments,
                    wire_bytes: meter.bytes(),
                    rate_bps,
                    capacity_bps,
                    capacity_given: rate.is_some(),
                    // The capture's own highest rate says nothing about the link: in a short capture it equals the mean
                    // rate.
                    utilization: rate.map(|rate| rate_bps / rate.bits_per_second() as f64),
                    packet_retransmission_probability: ratio(sums.retransmitted, sums.segments),
                    syn_share_of_retransmissions: ratio(sums.handshake_retransmitted, sums.retransmitted),
                    syn_retransmission_probability: ratio(sums.handshake_retransmitted, sums.handshake),
                    retransmission_delay_sum_s: RetransmissionDelay {
                        all: detail.all.mean,
                        with_handshake_loss: detail.with_handshake_loss.mean,
                        without_handshake_loss: detail.without_handshake_loss.mean,
                        detail,
                    },
                }
            })
            .collect()
    }
}

/// Properties of the link that quantities per direction depend on.
#[derive(Debug)]
pub(crate) struct Link<'a> {
    pub(crate) names: &'a [String],
    /// Order in which the directions are shown.
    pub(crate) order: &'a [usize],
    pub(crate) meters: &'a [Meter],
    pub(crate) duration: Nanos,
    pub(crate) rate: Option<Rate>,
}

impl Link<'_> {
    pub(crate) fn directions(&self, sums: &DirectionSums) -> Vec<Direction> {
        let directions = sums.result(self.names, self.meters, self.duration, self.rate);
        let shown = self.order.iter().filter_map(|&i| directions.get(i));
        shown.cloned().collect()
    }
}
