//! Delay and loss on the paths to hosts, from which [`classify`](super::classify) infers why a packet of a handshake was
//! lost: a queue that overflows delays the packets before the lost one, a lossy link does not.
//!
//! A path is one half of a connection, between the capture point and a host. Its round-trip times come from packets that
//! hosts acknowledge at once: SYNs, SYN/ACKs, and data acknowledged two segments at a time (RFC 5681, 4.2). Each belongs to
//! the moment at which the acknowledged packet passed the capture point, so that a lost packet is compared with the packets
//! that passed at the same time. All state is bounded: a cache of hosts and the last seconds of each half.

use super::exchange::{CLIENT, SERVER};
use gentle_units::{Instant, Nanos};
use gentle_wire::Address;

/// Length of a bin: 2^27 ns, 134 ms.
const BIN_BITS: u32 = 27;
/// Bins remembered for each host: 4.3 s, longer than the first intervals of a SYN (RFC 6298, 2).
const HOST_BINS: usize = 32;
/// Bins remembered for each half: 17 s.
const HALF_BINS: usize = 128;
/// Bins before and after a loss in which round trips tell about it: one second.
const NEAR: u64 = 7;
/// Fewest of them: a single acknowledgement may be delayed by its host, as while a program does not read.
const ENOUGH: u16 = 2;
/// Largest number of remembered hosts, for both halves; 22 MB.
const MAX_HOSTS: usize = 1 << 14;

/// State of a path when a packet passed that was lost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct PathState {
    /// Whether a queue delayed the packets that passed at the same time; `None` if that is unknown.
    pub(crate) queue: Option<bool>,
    /// Data segments lost within a second, to any host of the half.
    pub(crate) lost: u16,
}

/// Smallest delay that shows a queue: more than the scheduling of a busy host and the jitter of a wired path. AQMs keep
/// their queue at 5 ms (RFC 8289, 4.3) to 15 ms (RFC 8033, 4.1).
const QUEUE: Nanos = Nanos::from_millis(4);
/// Largest delay of an idle path.
const IDLE: Nanos = Nanos::from_millis(1);
/// Inverse of the shares of the shortest round trip by which `QUEUE` and `IDLE` are larger.
const QUEUE_SHARE: u64 = 16;
const IDLE_SHARE: u64 = 64;

/// Whether round trips that exceeded the shortest one by at least `least` and at most `most` microseconds show a queue.
fn shows_queue([least, most]: [u32; 2], shortest: u32) -> Option<bool> {
    let [least, most, shortest] = [least, most, shortest].map(|micros| u64::from(micros) * 1_000);
    if least >= QUEUE.0 + shortest / QUEUE_SHARE {
        Some(true)
    } else if most <= IDLE.0 + shortest / IDLE_SHARE {
        Some(false)
    } else {
        None
    }
}

/// Round trips and losses of one bin of time.
#[derive(Debug, Clone, Copy, Default)]
struct Bin {
    /// Number of the bin since 1970; another number means that the bin is empty.
    number: u32,
    /// Shortest and longest round trip, or what exceeds the host's shortest, microseconds.
    least: u32,
    most: u32,
    round_trips: u16,
    lost: u16,
}

/// Last bins of a path.
#[derive(Debug, Clone)]
struct Bins<const N: usize>([Bin; N]);

impl<const N: usize> Bins<N> {
    const EMPTY: Bins<N> = Bins([Bin { number: 0, least: 0, most: 0, round_trips: 0, lost: 0 }; N]);

    fn at(&mut self, number: u64) -> &mut Bin {
        let bin = &mut self.0[number as usize % N];
        if bin.number != number as u32 {
            *bin = Bin { number: number as u32, ..Bin::default() };
        }
        bin
    }

    /// The bins from `distance` before bin `number` to `distance` after it.
    fn around(&self, number: u64, distance: u64) -> impl Iterator<Item = &Bin> {
        let numbers = number.saturating_sub(distance)..=number + distance;
        numbers.filter_map(|number| self.0.get(number as usize % N).filter(|bin| bin.number == number as u32))
    }

    /// Shortest and longest of the [`ENOUGH`] or more round trips nearest to bin `number`, with their distance in bins.
    fn nearest(&self, number: u64) -> Option<(u64, [u32; 2])> {
        (1..=NEAR).find_map(|distance| {
            let mut count: u16 = 0;
            let mut range = [u32::MAX, 0];
            for bin in self.around(number, distance).filter(|bin| bin.round_trips > 0) {
                count = count.saturating_add(bin.round_trips);
                range = [range[0].min(bin.least), range[1].max(bin.most)];
            }
            (count >= ENOUGH).then_some((distance, range))
        })
    }

    fn lost(&self, number: u64) -> u16 {
        self.around(number, NEAR).fold(0, |sum, bin| sum.saturating_add(bin.lost))
    }
}

impl Bin {
    fn add(&mut self, micros: u32) {
        self.least = if self.round_trips == 0 { micros } else { self.least.min(micros) };
        self.most = self.most.max(micros);
        self.round_trips = self.round_trips.saturating_add(1);
    }
}

/// Packets whose round trips are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    /// Data segments. A host may delay its acknowledgements (RFC 5681, 4.2), as Linux does while a program does not read.
    Data,
    /// SYNs and SYN/ACKs, which no host delays.
    Handshake,
}

/// Whether the round trips of handshakes that follow each other closely are alike, as behind a queue, or as different as any
/// two: then they differ for another reason, such as hosts behind one address, and a long one shows no queue. The measure is
/// the ratio of von Neumann ("Distribution of the ratio of the mean square successive difference to the variance", 1941).
#[derive(Debug, Clone, Copy)]
struct Succession {
    count: u32,
    mean: f64,
    /// Sum of squared deviations from the mean.
    squares: f64,
    pairs: u32,
    /// Sum of squared differences of pairs.
    differences: f64,
    last: Option<(u64, f64)>,
}

/// Largest distance of a pair, bins.
const CLOSE: u64 = 2;
/// Fewest pairs that decide.
const PAIRS: u32 = 8;
/// Ratio of independent values is 1, of a slowly changing one 0.
const ALIKE: f64 = 0.6;

impl Succession {
    const NONE: Succession = Succession { count: 0, mean: 0.0, squares: 0.0, pairs: 0, differences: 0.0, last: None };

    fn add(&mut self, number: u64, micros: u32) {
        let value = f64::from(micros);
        self.count = self.count.saturating_add(1);
        let deviation = value - self.mean;
        self.mean += deviation / f64::from(self.count);
        self.squares += deviation * (value - self.mean);
        if let Some((before, last)) = self.last.replace((number, value))
            && number.abs_diff(before) <= CLOSE
        {
            self.pairs = self.pairs.saturating_add(1);
            self.differences += (value - last) * (value - last);
        }
    }

    /// Whether values close to each other are alike; `None` with few pairs.
    fn is_alike(&self) -> Option<bool> {
        let variance = self.squares / f64::from(self.count.max(1));
        let of_pairs = self.differences / f64::from(2 * self.pairs.max(1));
        (self.pairs >= PAIRS).then_some(of_pairs < ALIKE * variance)
    }
}

/// Path to one host.
#[derive(Debug, Clone)]
struct Host {
    address: Address,
    /// Shortest round trip, microseconds; `u32::MAX` before the first.
    shortest: u32,
    round_trips: u32,
    /// All round trips, and those of handshakes.
    bins: [Bins<HOST_BINS>; 2],
    succession: Succession,
}

impl Host {
    fn is_known(&self) -> bool {
        self.round_trips >= FEWEST
    }

    const NONE: Host = Host {
        address: Address([0; 16]),
        shortest: u32::MAX,
        round_trips: 0,
        bins: [Bins::EMPTY; 2],
        succession: Succession::NONE,
    };
}

/// Fewest round trips of a host whose shortest one counts as that of an idle path.
const FEWEST: u32 = 4;

/// Paths of a trace.
#[derive(Debug)]
pub(super) struct Paths {
    /// Cache of hosts by half and address; a new host replaces the one in its place.
    hosts: [Vec<Option<Box<Host>>>; 2],
    /// Both halves, over all hosts: how much round trips exceed each host's shortest one.
    halves: [[Bins<HALF_BINS>; 2]; 2],
    /// Both halves, over all hosts.
    successions: [Succession; 2],
    places: usize,
}

fn bin_of(time: Instant) -> u64 {
    time.0 >> BIN_BITS
}

fn micros(time: Nanos) -> u32 {
    u32::try_from(time.as_micros()).unwrap_or(u32::MAX)
}

impl Paths {
    /// Creates a cache that uses at most `bytes`.
    pub(super) fn new(bytes: usize) -> Paths {
        let places = (bytes / 2 / size_of::<Host>()).clamp(1, MAX_HOSTS / 2);
        Paths {
            hosts: [CLIENT, SERVER].map(|_| Vec::new()),
            halves: [const { [Bins::EMPTY; 2] }; 2],
            successions: [Succession::NONE; 2],
            places,
        }
    }

    fn place(&self, address: Address) -> usize {
        // Multiplication by 2^128 divided by the golden ratio spreads neighbours (Knuth, 6.4), the same in every run.
        let spread = u128::from_be_bytes(address.0).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
        (spread >> 96) as usize % self.places
    }

    fn host(&mut self, half: usize, address: Address) -> &mut Host {
        let place = self.place(address);
        let hosts = &mut self.hosts[half];
        if hosts.is_empty() {
            hosts.resize_with(self.places, || None);
        }
        let host = hosts[place].get_or_insert_with(|| Box::new(Host { address, ..Host::NONE }));
        if host.address != address {
            **host = Host { address, ..Host::NONE };
        }
        host
    }

    /// Records that `address`, on the side `half`, answered within `round_trip` a packet that passed at `sent`.
    pub(super) fn round_trip(&mut self, half: usize, address: Address, sent: Instant, of: Of, round_trip: Nanos) {
        let number = bin_of(sent);
        let took = micros(round_trip);
        let host = self.host(half, address);
        host.shortest = host.shortest.min(took);
        host.round_trips = host.round_trips.saturating_add(1);
        let excess = host.is_known().then(|| took - host.shortest);
        // Round trips of handshakes are in both kinds.
        let kinds = Of::Data as usize..=of as usize;
        for kind in kinds.clone() {
            host.bins[kind].at(number).add(took);
        }
        if of == Of::Handshake {
            host.succession.add(number, took);
        }
        if let Some(excess) = excess {
            for kind in kinds {
                self.halves[half][kind].at(number).add(excess);
            }
            if of == Of::Handshake {
                self.successions[half].add(number, excess);
            }
        }
    }

    /// Records that data sent at `sent` on the side `half` was lost.
    pub(super) fn lost(&mut self, half: usize, sent: Instant) {
        let lost = &mut self.halves[half][Of::Data as usize].at(bin_of(sent)).lost;
        *lost = lost.saturating_add(1);
    }

    /// State of the path to `address`, on the side `half`, at `time`.
    pub(super) fn state(&self, half: usize, address: Address, time: Instant) -> PathState {
        let number = bin_of(time);
        let host = self.hosts[half].get(self.place(address)).and_then(Option::as_deref);
        let host = host.filter(|host| host.address == address && host.is_known());
        let shortest = host.map_or(0, |host| host.shortest);
        let queue = |of: Of| {
            let of_host = host.and_then(|host| {
                let (distance, range) = host.bins[of as usize].nearest(number)?;
                Some((distance, range.map(|it| it - host.shortest)))
            });
            let of_half = self.halves[half][of as usize].nearest(number);
            let (_, range) = match (of_host, of_half) {
                (Some(host), Some(half)) if half.0 < host.0 => half,
                (host, half) => host.or(half)?,
            };
            shows_queue(range, shortest)
        };
        let is_alike = host.and_then(|host| host.succession.is_alike()).or(self.successions[half].is_alike());
        let queue = match (queue(Of::Data), queue(Of::Handshake)) {
            (Some(all), Some(handshakes)) if all != handshakes => None,
            (Some(true), _) if is_alike == Some(false) => None,
            (all, _) => all,
        };
        PathState { queue, lost: self.halves[half][Of::Data as usize].lost(number) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HOST: Address = Address([7; 16]);

    fn ms(ms: u64) -> Nanos {
        Nanos::from_millis(ms)
    }

    fn at(time: u64) -> Instant {
        Instant::from_millis(time)
    }

    /// Paths after handshakes with a host at these times, all in milliseconds.
    fn paths(round_trips: impl IntoIterator<Item = (u64, u64)>) -> Paths {
        let mut paths = Paths::new(1 << 20);
        for (time, took) in round_trips {
            paths.round_trip(SERVER, HOST, at(time), Of::Handshake, ms(took));
        }
        paths
    }

    fn queue(paths: &Paths, time: u64) -> Option<bool> {
        paths.state(SERVER, HOST, at(time)).queue
    }

    #[test]
    fn a_delay_that_grows_and_shrinks_is_a_queue() {
        // 20 ms, with a queue of up to 100 ms from 10 s to 20 s.
        let delay =
            |time: u64| 20 + (time.clamp(10_000, 20_000) - 10_000).min(20_000 - time.clamp(10_000, 20_000)) / 50;
        let found = paths((0..30_000).step_by(100).map(|time| (time, delay(time))));
        // Only the last four seconds of a host are known.
        assert_eq!(queue(&found, 29_000), Some(false));
        assert_eq!(queue(&found, 40_000), None);
        let until = |end: u64| paths((0..end).step_by(100).map(|time| (time, delay(time))));
        assert_eq!(queue(&until(16_000), 15_000), Some(true));
        assert_eq!(queue(&until(6_000), 5_000), Some(false));
        // A single round trip near the loss, and a host of which too few are known.
        assert_eq!(queue(&paths((0..40_000).step_by(2_500).map(|time| (time, 20))), 37_600), None);
        assert_eq!(queue(&paths([(0, 20), (10, 20), (20, 80)]), 20), None);
    }

    #[test]
    fn round_trips_that_differ_from_one_to_the_next_show_no_queue() {
        // Hosts behind one address: 20 ms and 80 ms, at random.
        let mut number: u32 = 1;
        let mut took = move || {
            number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            if number >> 31 == 0 { 20 } else { 80 }
        };
        let found = paths((0..20_000).step_by(50).map(|time| (time, took())));
        assert!((16_000..20_000).step_by(100).all(|time| queue(&found, time) != Some(true)));
    }

    proptest! {
        /// A path whose round trips are all alike is never congested, whatever came before in its place.
        #[test]
        fn a_steady_path_has_no_queue(
            others in prop::collection::vec((any::<[u8; 16]>(), 0_u64..10_000, 1_u64..1_000), 0..200),
            took in 1_u64..500,
            count in 4_u64..50,
        ) {
            let mut paths = Paths::new(1);
            for (address, time, took) in others {
                paths.round_trip(CLIENT, Address(address), at(time), Of::Data, ms(took));
                paths.lost(CLIENT, at(time));
            }
            for number in 0..count {
                paths.round_trip(SERVER, HOST, at(10_000 + number * 100), Of::Data, ms(took));
            }
            let state = paths.state(SERVER, HOST, at(10_000 + count * 100));
            prop_assert_eq!(state.queue, Some(false));
            prop_assert_eq!(state.lost, 0);
        }
    }
}
