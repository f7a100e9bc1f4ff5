//! Access links: each host's packets cross a link of its own, in order, before they reach the bottleneck.

use crate::scenario::{self, Direction};
use gentle_units::{Nanos, Rate};

/// When each host's link is free again, for hosts on either side.
pub(crate) struct Access {
    rate: Rate,
    free_at: [Vec<Nanos>; 2],
}

impl Access {
    pub(crate) fn new(config: &scenario::Access) -> Access {
        let idle = vec![Nanos::ZERO; config.hosts as usize];
        Access {
            rate: config.rate,
            free_at: [idle.clone(), idle],
        }
    }

    /// When a packet of connection `serial`, sent now, reaches the bottleneck.
    pub(crate) fn cross(
        &mut self,
        now: Nanos,
        direction: Direction,
        serial: u32,
        bytes: u32,
    ) -> Nanos {
        let hosts = &mut self.free_at[direction.index()];
        let host = serial as usize % hosts.len();
        let free = &mut hosts[host];
        *free = now.max(*free) + self.rate.time_to_send(u64::from(bytes));
        *free
    }
}
