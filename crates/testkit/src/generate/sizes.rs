//! How much each connection transfers: heavy-tailed, and in sum what the number of packets asked for needs.

use anyhow::{Result, ensure};
use rand::SeedableRng;
use rand_distr::{Distribution, Pareto};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Payload of a full segment with timestamps on Ethernet.
const MSS: f64 = 1448.0;

/// A shape between 1 and 2 has a mean but no variance: what sizes of files and web objects show (Crovella and
/// Bestavros 1997 found 1.1 to 1.2).
const SHAPE: f64 = 1.2;

/// Sizes beyond so many times the smallest are cut.
const LARGEST: f64 = 1e5;

/// Packets of a connection beside its data and their acknowledgements: handshake, request, close. Measured over the
/// generator's own output.
const OVERHEAD: f64 = 7.65;

/// Segments that Linux acknowledges one by one at the start (`TCP_MAX_QUICKACKS`).
const QUICK_ACKS: f64 = 16.0;

/// The sizes of the connections in turn.
pub(crate) struct Sizes {
    draws: Draws,
    scale: f64,
}

/// Unscaled sizes; drawn again from the same seed rather than kept, so that memory does not grow with their number.
struct Draws {
    rng: Xoshiro256PlusPlus,
    pareto: Pareto<f64>,
}

impl Draws {
    fn new(seed: u64) -> Draws {
        // A stream of its own beside the world's, which starts from the same seed.
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        rng.jump();
        Draws {
            rng,
            pareto: Pareto::new(1.0, SHAPE).expect("the parameters are valid"),
        }
    }

    fn next(&mut self) -> f64 {
        self.pareto.sample(&mut self.rng).min(LARGEST)
    }
}

impl Sizes {
    /// Sizes of `connections` that make about `packets`.
    pub(crate) fn new(seed: u64, connections: u64, packets: u64) -> Result<Sizes> {
        let total = |scale: f64| {
            let mut draws = Draws::new(seed);
            let sizes = (0..connections).map(|_| draws.next() * scale);
            sizes.map(expected_packets).sum::<f64>()
        };
        let least = total(1.0);
        ensure!(
            packets as f64 >= least,
            "{connections} connections have at least {least:.0} packets: ask for more packets or fewer connections"
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
        Ok(Sizes {
            draws: Draws::new(seed),
            scale: low,
        })
    }

    /// Bytes of the next connection.
    pub(crate) fn next(&mut self) -> u64 {
        (self.draws.next() * self.scale) as u64
    }
}

fn expected_packets(bytes: f64) -> f64 {
    let segments = (bytes / MSS).ceil();
    let quick = segments.min(QUICK_ACKS);
    OVERHEAD + segments + quick + (segments - quick) / 2.0
}
