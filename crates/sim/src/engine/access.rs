//! Access links: each host's packets cross a separate link, in order, before they reach the bottleneck.

use super::transmitter::Transmitter;
use gentle_experiment::Direction;
use gentle_units::{Instant, Rate};

/// Access links of the hosts on either side.
pub(crate) struct Access {
    /// Transmitters of the two sides: data and ACKs differ in size, and a transmitter caches sizes.
    transmitters: [Transmitter; 2],
    free_at: [Vec<Instant>; 2],
}

impl Access {
    pub(crate) fn new(config: &gentle_experiment::Access) -> Access {
        let idle = vec![Instant::ZERO; config.hosts as usize];
        Access { transmitters: [Transmitter::new(config.rate); 2], free_at: [idle.clone(), idle] }
    }

    /// Rate of each access link.
    pub(crate) fn rate(&self) -> Rate {
        self.transmitters[0].rate()
    }

    /// Number of hosts on either side.
    pub(crate) fn hosts(&self) -> u32 {
        self.free_at[0].len() as u32
    }

    /// Time at which a packet of `host`, sent now, reaches the bottleneck.
    #[inline]
    pub(crate) fn cross(&mut self, now: Instant, direction: Direction, host: u16, bytes: u32) -> Instant {
        let side = direction.index();
        let free = &mut self.free_at[side][usize::from(host)];
        *free = now.max(*free) + self.transmitters[side].time_to_send(bytes);
        *free
    }
}
