//! Data that servers exchanged with their clients, and its losses, which show why handshakes are lost where there is no queue.

use crate::connections::{CLIENT, Connection, SERVER};
use crate::results::{CauseKind, Name};
use crate::sum::sum;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Data of the connections of a server, and its losses, to compare with those of handshakes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DataCounts {
    /// Data segments from clients and from the server, estimated from their bytes.
    segments: [u64; 2],
    /// Connections whose client sent its first data twice, and more often, by half.
    first: [[u64; 2]; 2],
    /// Lost segments by half of the path and side.
    lost: [[u64; 2]; 2],
    /// Segments in `lost` that follow another lost one, by half.
    in_a_row: [u64; 2],
}

sum! {
    DataCounts { segments, first, lost, in_a_row }
}

/// Payload of a full segment on Ethernet, bytes.
const SEGMENT_BYTES: u64 = 1_448;

impl DataCounts {
    /// Data of a connection.
    pub(super) fn of(connection: &Connection) -> DataCounts {
        let losses = connection.data_losses();
        DataCounts {
            segments: connection.bytes.map(|bytes| bytes.div_ceil(SEGMENT_BYTES)),
            first: losses.map(|half| [half[CLIENT].first == 1, half[CLIENT].first > 1].map(u64::from)),
            lost: losses.map(|half| half.map(|it| it.lost)),
            in_a_row: losses.map(|half| half.iter().map(|it| it.in_a_row).sum()),
        }
    }

    /// Kind of the losses of `lost` of `attempts` attempts in this half of a path without a queue; `None` if there is too little
    /// data.
    pub(super) fn kind_of_loss(&self, half: usize, lost: u64, attempts: u64) -> Option<CauseKind> {
        let [twice, often] = self.first[half];
        // A server that ignores first data does so several times; by chance, that is rare.
        // And a path that loses first data loses other data, too.
        let others: u64 = self.lost[half].iter().sum();
        let expected = (twice + often) as f64 * self.segments.iter().sum::<u64>() as f64 / attempts.max(1) as f64;
        let is_alone = others as f64 * SYNS_ONLY < expected;
        let is_ignored = often > 0 && (is_alone || often * OFTEN >= twice && often * IGNORED >= lost);
        let up_lost = self.lost[half][CLIENT] + if is_ignored { 0 } else { twice + often * 2 };
        let data_lost = [up_lost, self.lost[half][SERVER]];
        let probability = lost as f64 / attempts.max(1) as f64;
        let is_spared = |side: usize| {
            let expected = probability * self.segments[side] as f64;
            let fewest = expected / ERROR - SURE * (expected / ERROR).sqrt();
            (data_lost[side] as f64) < fewest.min(expected / SYNS_ONLY)
        };
        if is_spared(CLIENT) && is_spared(SERVER) {
            return Some(match is_ignored {
                true => CauseKind::ListenQueue,
                false => CauseKind::NewConnectionsDropped,
            });
        }
        let data_lost = data_lost.iter().sum::<u64>();
        if data_lost < FEWEST_LOST {
            return None;
        }
        // Independent losses follow each other with the probability of a loss.
        let chance = data_lost as f64 / (data_lost + self.segments.iter().sum::<u64>()) as f64;
        let in_a_row = self.in_a_row[half] as f64 / data_lost as f64;
        let is_sure = data_lost >= SURELY_MANY;
        Some(if is_sure && (chance > HEAVY || in_a_row > chance * BURSTS) {
            CauseKind::BurstLoss
        } else if chance < LIGHT && in_a_row < chance * SINGLE + if is_sure { 0.0 } else { MARGIN } {
            CauseKind::RandomLoss
        } else {
            CauseKind::LossWithoutQueue
        })
    }

    /// Data segments, and lost ones in these halves of the path, by the side to which they were sent. The first data of clients
    /// are left out: servers may ignore them.
    pub(super) fn by_receiver(&self, halves: [bool; 2]) -> ([u64; 2], [u64; 2]) {
        let of = |sender: usize| {
            let halves = self.lost.iter().zip(halves).filter(|(_, counts)| *counts);
            halves.map(|(lost, _)| lost[sender]).fold(0, u64::saturating_add)
        };
        ([self.segments[SERVER], self.segments[CLIENT]], [of(SERVER), of(CLIENT)])
    }

    /// Numbers for a report, by name.
    pub(super) fn evidence(&self) -> BTreeMap<Name, f64> {
        let numbers: [(Name, u64); 4] = [
            ("data_segments", self.segments.iter().sum()),
            ("data_lost", self.lost.iter().flatten().sum()),
            ("data_lost_in_a_row", self.in_a_row.iter().sum()),
            ("first_data_ignored", self.first.iter().map(|[_, often]| often).sum()),
        ];
        numbers.into_iter().map(|(name, number)| (name, number as f64)).collect()
    }
}

/// Fewest lost data segments from which the kind of a loss without a queue is inferred, and from which it is sure.
const FEWEST_LOST: u64 = 8;
const SURELY_MANY: u64 = 16;
/// Factors by which losses in a row exceed those of chance: at least, if they come in bursts; at most, if they are independent,
/// and the margin for small numbers.
const BURSTS: f64 = 2.0;
const SINGLE: f64 = 1.25;
const MARGIN: f64 = 0.1;
/// Share of lost data above which a path without a queue has a policer, since no working link loses as much by chance, and
/// below which it may have none.
const HEAVY: f64 = 0.35;
const LIGHT: f64 = 0.2;
/// Factor by which the loss of handshakes exceeds that of data if only handshakes are dropped.
const SYNS_ONLY: f64 = 5.0;
/// Inverse of the least share of connections with ignored data, in relation to those with losses, that shows a full listen queue.
const IGNORED: u64 = 8;
/// Inverse of the least share of clients that sent their first data three times or more, in relation to twice, that shows it.
const OFTEN: u64 = 2;
/// Factor by which chance may raise the share of lost handshakes, and standard deviations by which it may lower the losses of
/// data (99 % of a Poisson distribution).
const ERROR: f64 = 2.0;
const SURE: f64 = 2.33;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Counts of servers with this data: segments and losses by side, in the servers' half of the path.
    fn counts(segments: [u64; 2], lost: [u64; 2], in_a_row: u64) -> DataCounts {
        DataCounts { segments, lost: [[0; 2], lost], in_a_row: [0, in_a_row], ..DataCounts::default() }
    }

    #[test]
    fn losses_of_data_show_what_loses_handshakes() {
        let kind = |counts: DataCounts| counts.kind_of_loss(SERVER, 20, 100);
        assert_eq!(kind(counts([300, 2_000], [0, 3], 0)), Some(CauseKind::NewConnectionsDropped));
        assert_eq!(kind(counts([300, 2_000], [30, 220], 20)), Some(CauseKind::RandomLoss));
        assert_eq!(kind(counts([300, 2_000], [30, 220], 150)), Some(CauseKind::BurstLoss));
        assert_eq!(kind(counts([300, 2_000], [60, 1_900], 700)), Some(CauseKind::BurstLoss));
        assert_eq!(kind(counts([300, 2_000], [60, 300], 70)), Some(CauseKind::LossWithoutQueue));
        // Too little data, and losses in the clients' half only.
        assert_eq!(kind(counts([20, 20], [1, 1], 0)), None);
        let other_half = DataCounts { segments: [300, 2_000], lost: [[30, 220], [0; 2]], ..DataCounts::default() };
        assert_eq!(kind(other_half), Some(CauseKind::NewConnectionsDropped));
        // A server that ignores first data again and again.
        let ignored = DataCounts { first: [[0; 2], [2, 9]], ..counts([300, 2_000], [0, 3], 0) };
        assert_eq!(kind(ignored), Some(CauseKind::ListenQueue));
    }

    proptest! {
        /// Handshakes that are lost like data are not lost for being handshakes.
        #[test]
        fn an_equal_loss_is_not_that_of_handshakes_only(
            attempts in 20_u64..2_000, up in 100_u64..5_000, down in 100_u64..5_000, loss in 0.02..0.5_f64,
        ) {
            let of = |n: u64| (n as f64 * loss) as u64;
            let counts = counts([up, down], [of(up), of(down)], 0);
            let kind = counts.kind_of_loss(SERVER, of(attempts).max(1), attempts);
            prop_assert!(!matches!(kind, Some(CauseKind::NewConnectionsDropped | CauseKind::ListenQueue)), "{kind:?}");
        }
    }
}
