//! Sizes of connections: heavy-tailed, with a sum that gives the requested number of packets.

use anyhow::{Result, ensure};
use rand::SeedableRng;
use rand_distr::{Distribution, Pareto};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Payload of a full segment with timestamps on Ethernet, bytes.
const MSS: f64 = 1448.0;

/// Pareto shape. Between 1 and 2 there is a mean but no variance, as observed for files and web objects (Crovella and
/// Bestavros 1997 found 1.1 to 1.2).
const SHAPE: f64 = 1.2;

/// Largest size, as a multiple of the smallest.
const LARGEST: f64 = 1e5;

/// Packets per connection without data and their acknowledgements: handshake, request, close. Measured on the generator's
/// own output.
const OVERHEAD: f64 = 7.65;

/// Segments at the start that Linux acknowledges one by one (`TCP_MAX_QUICKACKS`).
const QUICK_ACKS: f64 = 16.0;

/// Sizes of successive connections.
pub(crate) struct Sizes {
    draws: Draws,
    scale: f64,
}

/// Unscaled sizes, generated again from the seed rather than stored, so that memory does not grow with their number.
struct Draws {
    rng: Xoshiro256PlusPlus,
    pareto: Pareto<f64>,
}

impl Draws {
    fn new(seed: u64) -> Draws {
        // A separate stream from the world's generator, which starts from the same seed.
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        rng.jump();
        Draws { rng, pareto: Pareto::new(1.0, SHAPE).expect("the parameters are valid") }
    }

    fn next(&mut self) -> f64 {
        self.pareto.sample(&mut self.rng).min(LARGEST)
    }
}

impl Sizes {
    /// Scales the sizes of `connections` so that they make about `packets`.
    pub(crate) fn new(seed: u64, connections: u64, packets: u64) -> Result<Sizes> {
        let total = |scale: f64| {
            let mut draws = Draws::new(seed);
            let sizes = (0..connections).map(|_| draws.next() * scale);
            sizes.map(expected_packets).sum::<f64>()
        };
        let least = total(1.0);
        ensure!(
            packets as f64 >= least,
            "{connections} connections have at least {least:.0} packets: choose more packets or fewer connections"
        );
        let (mut low, mut high) = (1.0_f64, 1e9);
        while high / low > 1.001 {
            let middle = (low * high).sqrt();
            if total(middle) < packets as f64 {
                low = middle;
            } else {
                high = middle;
            }
        }
        Ok(Sizes { draws: Draws::new(seed), scale: low })
    }

    /// Size of the next connection, bytes.
    pub(crate) fn next(&mut self) -> u64 {
        (self.draws.next() * self.scale) as u64
    }
}

fn expected_packets(bytes: f64) -> f64 {
    let segments = (bytes / MSS).ceil();
    let quick = segments.min(QUICK_ACKS);
    OVERHEAD + segments + quick + (segments - quick) / 2.0
}
