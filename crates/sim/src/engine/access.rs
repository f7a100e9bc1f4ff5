//! Access links: each host's packets cross a link of its own, in order, before they reach the bottleneck.

use super::transmitter::Transmitter;
use gentle_experiment::Direction;
use gentle_units::Nanos;

/// Access links of the hosts on either side.
pub(crate) struct Access {
    transmitter: Transmitter,
    free_at: [Vec<Nanos>; 2],
}

impl Access {
    pub(crate) fn new(config: &gentle_experiment::Access) -> Access {
        let idle = vec![Nanos::ZERO; config.hosts as usize];
        Access {
            transmitter: Transmitter::new(config.rate),
            free_at: [idle.clone(), idle],
        }
    }

    /// Number of hosts on either side.
    pub(crate) fn hosts(&self) -> u32 {
        self.free_at[0].len() as u32
    }

    /// Time at which a packet of `host`, sent now, reaches the bottleneck.
    #[inline]
    pub(crate) fn cross(
        &mut self,
        now: Nanos,
        direction: Direction,
        host: u32,
        bytes: u32,
    ) -> Nanos {
        let free = &mut self.free_at[direction.index()][host as usize];
        *free = now
            .max(*free)
            .saturating_add(self.transmitter.time_to_send(bytes));
        *free
    }
}
