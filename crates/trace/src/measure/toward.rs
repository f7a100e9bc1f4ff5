//! Direction in which a cause lost packets, from its attempts and from the data of the same servers.

use super::data_counts::DataCounts;
use crate::connections::{CLIENT, SERVER};
use crate::results::{LossDirection, Name};

/// Fewest attempts, and lost data segments, that show a direction.
const FEWEST_ATTEMPTS: u64 = 3;
const FEWEST_LOST: u64 = 8;
/// Factor by which losses in one direction exceed those in the other if only the first loses packets.
const ONLY: f64 = 9.0;
/// Largest factor between losses in both directions if both lose packets.
const BOTH: f64 = 4.0;

/// Attempts of a cause by the direction in which each shows losses, and the halves of the path with them.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Toward {
    /// Attempts with losses to a side only, by side.
    only: [u64; 2],
    both: u64,
    unknown: u64,
    halves: [bool; 2],
}

impl Toward {
    /// Adds attempts that lost most packets in this half of the path.
    pub(super) fn add(&mut self, half: usize, direction: Option<LossDirection>, attempts: u64) {
        let count = match direction {
            Some(LossDirection::ToServer) => &mut self.only[SERVER],
            Some(LossDirection::ToClient) => &mut self.only[CLIENT],
            Some(LossDirection::Both) => &mut self.both,
            None => &mut self.unknown,
        };
        *count = count.saturating_add(attempts);
        self.halves[half] |= attempts > 0;
    }

    /// Direction, and the numbers that show it; `None` where it is uncertain. `data` are of the same servers.
    pub(super) fn direction(&self, data: &DataCounts) -> (Option<LossDirection>, [(Name, f64); 8]) {
        let (segments, lost) = data.by_receiver(self.halves);
        let of_attempts = self.of_attempts();
        // Data are also sent again if acknowledgements were lost in the other direction.
        let of_data = of_data(segments, lost).filter(|found| *found != LossDirection::Both || self.has_both());
        let direction = match (of_attempts, of_data) {
            (Some(one), Some(other)) if one != other => None,
            (one, other) => one.or(other),
        };
        let numbers = [
            ("attempts_lost_to_server", self.only[SERVER]),
            ("attempts_lost_to_client", self.only[CLIENT]),
            ("attempts_lost_both_ways", self.both),
            ("attempts_lost_either_way", self.unknown),
            ("data_to_server", segments[SERVER]),
            ("data_lost_to_server", lost[SERVER]),
            ("data_to_client", segments[CLIENT]),
            ("data_lost_to_client", lost[CLIENT]),
        ];
        (direction, numbers.map(|(name, number)| (name, number as f64)))
    }

    /// Whether some attempts lost packets in each direction.
    fn has_both(&self) -> bool {
        self.both > 0 || self.only.iter().all(|attempts| *attempts > 0)
    }

    fn of_attempts(&self) -> Option<LossDirection> {
        let [to_client, to_server] = self.only.map(|attempts| (attempts + self.both) as f64);
        compare(to_server, to_client, FEWEST_ATTEMPTS as f64)
    }
}

/// Direction of losses of data. The other direction counts only if it had enough data to lose some.
fn of_data(segments: [u64; 2], lost: [u64; 2]) -> Option<LossDirection> {
    let share = |side: usize| lost[side] as f64 / (segments[side] + lost[side]).max(1) as f64;
    let [to_client, to_server] = [CLIENT, SERVER].map(|side| {
        // Losses of as many segments as the other direction has.
        let expected = share(1 - side) * segments[side] as f64;
        (lost[side] >= FEWEST_LOST || expected >= FEWEST_LOST as f64).then(|| share(side))
    });
    let fewest = to_client?.max(to_server?) / BOTH;
    compare(to_server?, to_client?, fewest)
}

fn compare(to_server: f64, to_client: f64, fewest: f64) -> Option<LossDirection> {
    if to_server.max(to_client) < fewest || to_server.max(to_client) == 0.0 {
        None
    } else if to_client * ONLY <= to_server {
        Some(LossDirection::ToServer)
    } else if to_server * ONLY <= to_client {
        Some(LossDirection::ToClient)
    } else if to_server.min(to_client) >= fewest && to_server.max(to_client) <= to_server.min(to_client) * BOTH {
        Some(LossDirection::Both)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn losses_show_the_direction() {
        use LossDirection::{Both, ToClient, ToServer};
        assert_eq!(of_data([2_000, 300], [200, 0]), Some(ToClient));
        assert_eq!(of_data([300, 2_000], [0, 200]), Some(ToServer));
        assert_eq!(of_data([2_000, 2_000], [150, 200]), Some(Both));
        // Too little data in the other direction, losses in either by chance, and none.
        assert_eq!(of_data([2_000, 20], [200, 0]), None);
        assert_eq!(of_data([2_000, 2_000], [20, 120]), None);
        assert_eq!(of_data([2_000, 2_000], [0, 0]), None);
        let mut toward = Toward::default();
        toward.add(SERVER, Some(ToServer), 2);
        assert_eq!(toward.of_attempts(), None);
        toward.add(SERVER, Some(ToServer), 1);
        toward.add(SERVER, None, 50);
        assert_eq!(toward.of_attempts(), Some(ToServer));
        toward.add(CLIENT, Some(ToClient), 1);
        assert_eq!(toward.of_attempts(), None);
        toward.add(CLIENT, Some(Both), 2);
        assert_eq!(toward.of_attempts(), Some(Both));
        // Data that both sides sent again do not show which direction lost acknowledgements.
        let data = DataCounts::default();
        let mut unknown = Toward::default();
        unknown.add(SERVER, None, 9);
        assert_eq!(unknown.direction(&data).0, None);
        assert_eq!(toward.direction(&data).0, Some(Both));
    }

    proptest! {
        #[test]
        fn sides_are_alike(segments in [0_u64..5_000, 0_u64..5_000], lost in [0_u64..500, 0_u64..500]) {
            let mirrored = |[a, b]: [u64; 2]| [b, a];
            let other = of_data(mirrored(segments), mirrored(lost)).map(|direction| match direction {
                LossDirection::ToServer => LossDirection::ToClient,
                LossDirection::ToClient => LossDirection::ToServer,
                LossDirection::Both => LossDirection::Both,
            });
            prop_assert_eq!(of_data(segments, lost), other);
        }
    }
}
