//! Observation of a queue over time: backlog, delays, drops, and the link's load, slice by slice.

use super::intervals::Intervals;
use crate::lab::{Failure, Lab, Observation, Watched};
use crate::setup::Setup;
use gentle_aqm::{DropReason, Packet as _, Spec, Threshold};
use gentle_experiment::{Direction, RunSpec};
use gentle_sim::{DropCause, Packet, Tap};
use gentle_units::{Instant, Nanos};

/// Length of a slice.
const SLICE: Nanos = Nanos::from_millis(10);
/// Resolution of the distribution of delays.
const STEP: Nanos = Nanos::from_micros(10);
/// Delays from here on count as this long. No buffer of the paper is as long.
const LONGEST: Nanos = Nanos::from_millis(1000);
/// Round-trip time of the paper's experiments without queueing.
const RTT: Nanos = Nanos::from_millis(100);
/// A link that carries less of its capacity over a round trip is not full.
const FULL: f64 = 0.99;

/// Record of the queue under test, slice by slice.
#[derive(Debug, Clone)]
pub(super) struct Watch {
    /// The part of the run that is measured.
    from: Instant,
    to: Instant,
    scheme: Spec,
    /// Rates of the link and the times from which on they hold.
    rates: Vec<(Instant, f64)>,
    slices: Vec<Slice>,
    drops: Vec<Drop>,
    /// Packets by sojourn time, in steps, within the part that is measured.
    delays: Vec<u32>,
    backlog: u64,
    /// Since when the queue has been empty.
    empty_since: Option<Instant>,
    /// Time that the queue was empty within the part that is measured.
    empty: Nanos,
    /// Sum of the sojourn times of the datagrams that left within the part that is measured, and their number.
    datagrams: (Nanos, u64),
    /// Packets that the queue has dropped since a packet was last offered or left.
    dropped: usize,
    /// Largest number of packets that one dequeue removed: those that it dropped and the one that left.
    removed: usize,
    /// The interval of adaptive GSP; `None`: another scheme.
    intervals: Option<Intervals>,
}

/// Ten milliseconds.
#[derive(Debug, Clone, Copy, Default)]
struct Slice {
    /// Bytes that left the queue.
    sent: u64,
    /// Bytes of datagrams that left the queue.
    datagrams: u64,
    /// Bytes in the queue at the end.
    backlog: u64,
    packets: u64,
    /// Sum and maximum of the sojourn times of the packets that left.
    delay: Nanos,
    longest: Nanos,
}

/// A dropped packet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Drop {
    pub(super) at: Instant,
    /// Number of the connection; `None`: a datagram.
    pub(super) flow: Option<u32>,
    /// Dropped because the buffer was full.
    pub(super) overflow: bool,
}

/// Drops within a round trip of the first of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Event {
    /// Dropped packets.
    pub(super) drops: usize,
    /// Flows that lost a packet.
    pub(super) flows: usize,
}

/// A point in time, seconds, and a value.
type Point = (f64, f64);

impl Watch {
    fn leaves(&mut self, now: Instant, packet: &Packet) {
        self.backlog = self.backlog.saturating_sub(u64::from(packet.bytes()));
        if self.backlog == 0 {
            self.empty_since = Some(now);
        }
    }

    /// Notes how many bytes wait, in the slice of `now`.
    fn note_backlog(&mut self, now: Instant) {
        if let Some(slice) = self.slices.get_mut((now.0 / SLICE.0) as usize) {
            slice.backlog = self.backlog;
        }
    }

    fn is_measured(&self, at: Instant) -> bool {
        at >= self.from && at < self.to
    }

    /// Seconds between `from` and `to`, and the slices that lie there.
    fn between(&self, from: f64, to: f64) -> impl Iterator<Item = (f64, &Slice)> {
        let slice = SLICE.as_secs_f64();
        self.slices
            .iter()
            .enumerate()
            .map(move |(index, contents)| ((index as f64 * slice), contents))
            .filter(move |(at, _)| *at >= from - 1e-9 && *at < to - 1e-9)
    }

    /// Bits that the link can send in the slice that begins at `at` seconds.
    fn capacity(&self, at: f64) -> f64 {
        let past = self.rates.iter().rev().find(|(from, _)| from.as_secs_f64() <= at + 1e-9);
        past.map_or(0.0, |(_, rate)| rate * SLICE.as_secs_f64())
    }

    /// The measured part of the run, seconds.
    pub(super) fn span(&self) -> (f64, f64) {
        (self.from.as_secs_f64(), self.to.as_secs_f64())
    }

    /// The delay that the scheme keeps, seconds: a target, or a threshold in time; `None`: it has none.
    pub(super) fn target(&self) -> Option<f64> {
        let options = self.scheme.options();
        match self.scheme.scheme().name {
            "gsp" => match options.threshold("threshold") {
                Threshold::Delay(delay) => Some(delay.as_secs_f64()),
                Threshold::Bytes(_) | Threshold::Packets(_) => None,
            },
            "codel" | "pie" => Some(options.time("target").as_secs_f64()),
            _ => None,
        }
    }

    /// Used fraction of the link's capacity.
    pub(super) fn utilization(&self) -> f64 {
        let (from, to) = self.span();
        let (mut sent, mut capacity) = (0.0, 0.0);
        for (at, slice) in self.between(from, to) {
            sent += 8.0 * slice.sent as f64;
            capacity += self.capacity(at);
        }
        sent / capacity
    }

    /// Used fraction of the link's capacity in each round trip that begins with a slice: time of its begin, fraction.
    fn round_trips(&self) -> Vec<Point> {
        let (from, to) = self.span();
        let used: Vec<Point> =
            (self.between(from, to)).map(|(at, slice)| (at, 8.0 * slice.sent as f64 / self.capacity(at))).collect();
        let slices = (RTT.0 / SLICE.0) as usize;
        used.windows(slices)
            .map(|window| {
                let sum: f64 = window.iter().map(|(_, used)| used).sum();
                (window[0].0, sum / slices as f64)
            })
            .collect()
    }

    /// Smallest used fraction of the link's capacity over a round trip.
    pub(super) fn lowest_utilization(&self) -> f64 {
        let round_trips = self.round_trips().into_iter();
        round_trips.map(|(_, used)| used).fold(1.0, f64::min)
    }

    /// Smallest used fraction of the link's capacity over a round trip that begins from `from` to `to` seconds.
    pub(super) fn lowest_utilization_between(&self, from: f64, to: f64) -> f64 {
        let round_trips = self.round_trips().into_iter();
        let inside = round_trips.filter(|(at, _)| *at >= from && *at < to);
        inside.map(|(_, used)| used).fold(1.0, f64::min)
    }

    /// Begin in seconds of the first round trip from `from` seconds on over which the link is full; `None`: there is
    /// none.
    pub(super) fn full_again(&self, from: f64) -> Option<f64> {
        let round_trips = self.round_trips().into_iter();
        let mut full = round_trips.filter(|(at, used)| *at >= from && *used >= FULL);
        full.next().map(|(at, _)| at)
    }

    /// Bytes in the queue at the end of the slice with the time `at` seconds; after the run those at its end.
    pub(super) fn backlog(&self, at: f64) -> f64 {
        let index = ((at + 1e-9) / SLICE.as_secs_f64()) as usize;
        let slice = self.slices.get(index).or(self.slices.last());
        slice.map_or(0.0, |slice| slice.backlog as f64)
    }

    /// Bytes in the queue at the end of each slice from `from` to `to` seconds, with the begin of the slice.
    pub(super) fn backlogs(&self, from: f64, to: f64) -> impl Iterator<Item = Point> {
        self.between(from, to).map(|(at, slice)| (at, slice.backlog as f64))
    }

    /// Bytes per second that left the queue from `from` to `to` seconds: of datagrams, and of all others.
    pub(super) fn rates_sent(&self, from: f64, to: f64) -> (f64, f64) {
        let (mut datagrams, mut others) = (0, 0);
        for (_, slice) in self.between(from, to) {
            datagrams += slice.datagrams;
            others += slice.sent - slice.datagrams;
        }
        let rate = |bytes: u64| bytes as f64 / (to - from);
        (rate(datagrams), rate(others))
    }

    /// Mean sojourn time of datagrams, seconds; `None` without one.
    pub(super) fn mean_delay_of_datagrams(&self) -> Option<f64> {
        let (sum, packets) = self.datagrams;
        (packets > 0).then(|| sum.as_secs_f64() / packets as f64)
    }

    /// Largest number of packets that one dequeue removed.
    pub(super) fn removed(&self) -> usize {
        self.removed
    }

    /// The interval of adaptive GSP with a threshold in bytes; `None`: another scheme.
    pub(super) fn intervals(&self) -> Option<&Intervals> {
        self.intervals.as_ref()
    }

    /// Mean length in seconds of the times in which the link is not full over each round trip, of those that last a
    /// round trip at least; `None` without one.
    pub(super) fn mean_time_below_capacity(&self) -> Option<f64> {
        let round_trips = self.round_trips();
        let slice = SLICE.as_secs_f64();
        let below: Vec<f64> = round_trips
            .chunk_by(|a, b| (a.1 < FULL) == (b.1 < FULL))
            .filter(|chunk| chunk[0].1 < FULL)
            .map(|chunk| chunk.len() as f64 * slice)
            .filter(|length| *length >= RTT.as_secs_f64())
            .collect();
        mean(&below)
    }

    /// Fraction of the time in which no packet waits.
    pub(super) fn empty(&self) -> f64 {
        let open = self.empty_since.map_or(Nanos::ZERO, |since| self.to.saturating_since(since.max(self.from)));
        (self.empty + open).as_secs_f64() / (self.to - self.from).as_secs_f64()
    }

    /// Sojourn time, seconds, that a fraction of `p` of the packets does not exceed.
    pub(super) fn quantile(&self, p: f64) -> f64 {
        let total: u64 = self.delays.iter().map(|n| u64::from(*n)).sum();
        let rank = (p * total as f64).ceil().max(1.0) as u64;
        let mut before = 0;
        let step = self.delays.iter().position(|n| {
            before += u64::from(*n);
            before >= rank
        });
        step.unwrap_or_default() as f64 * STEP.as_secs_f64()
    }

    /// Distribution function of the sojourn time: milliseconds, fraction of the packets.
    pub(super) fn distribution(&self) -> Vec<Point> {
        let fractions = (0..=100).map(|percent| f64::from(percent) / 100.0);
        fractions.map(|p| (1e3 * self.quantile(p), p)).collect()
    }

    /// Mean sojourn time, seconds, of the packets that left from `from` to `to` seconds; `None` without a packet.
    pub(super) fn mean_delay(&self, from: f64, to: f64) -> Option<f64> {
        let (mut sum, mut packets) = (0.0, 0);
        for (_, slice) in self.between(from, to) {
            sum += slice.delay.as_secs_f64();
            packets += slice.packets;
        }
        (packets > 0).then(|| sum / packets as f64)
    }

    /// Longest sojourn time, seconds, of the packets that left from `from` to `to` seconds.
    pub(super) fn longest_delay(&self, from: f64, to: f64) -> f64 {
        let slices = self.between(from, to);
        let longest = slices.map(|(_, slice)| slice.longest).max();
        longest.unwrap_or_default().as_secs_f64()
    }

    /// A fraction of `p` of the slices from `from` to `to` seconds has a mean sojourn time, in seconds, of at most the
    /// result; `None` without a packet.
    pub(super) fn quantile_over_time(&self, p: f64, from: f64, to: f64) -> Option<f64> {
        let slices = self.between(from, to).filter(|(_, slice)| slice.packets > 0);
        let mut means: Vec<f64> = slices.map(|(_, slice)| slice.delay.as_secs_f64() / slice.packets as f64).collect();
        means.sort_by(f64::total_cmp);
        let last = means.len().checked_sub(1)?;
        Some(means[(p * last as f64).round() as usize])
    }

    /// Drops of the measured part, grouped by round trips: a group has a drop at least.
    pub(super) fn groups(&self) -> Vec<Vec<Drop>> {
        let mut groups: Vec<Vec<Drop>> = Vec::new();
        for drop in self.measured_drops() {
            match groups.last_mut() {
                Some(group) if drop.at < group[0].at + RTT => group.push(*drop),
                _ => groups.push(vec![*drop]),
            }
        }
        groups
    }

    /// Drops, grouped by round trips.
    pub(super) fn events(&self) -> Vec<Event> {
        let groups = self.groups();
        let event = |group: &Vec<Drop>| {
            let mut flows: Vec<Option<u32>> = group.iter().map(|drop| drop.flow).collect();
            flows.sort_unstable();
            flows.dedup();
            Event { drops: group.len(), flows: flows.len() }
        };
        groups.iter().map(event).collect()
    }

    /// Drops of the measured part.
    pub(super) fn measured_drops(&self) -> impl Iterator<Item = &Drop> {
        self.drops.iter().filter(|drop| self.is_measured(drop.at))
    }

    /// Times from one drop to the next, seconds.
    pub(super) fn gaps(&self) -> Vec<f64> {
        let times: Vec<Instant> = self.measured_drops().map(|drop| drop.at).collect();
        let pairs = times.windows(2);
        pairs.map(|pair| pair[1].saturating_since(pair[0]).as_secs_f64()).collect()
    }

    /// Packets dropped because the buffer was full.
    pub(super) fn overflows(&self) -> usize {
        self.measured_drops().filter(|drop| drop.overflow).count()
    }

    /// Mean sojourn time in milliseconds over time, in steps of `step` seconds.
    pub(super) fn delay_line(&self, from: f64, to: f64, step: f64) -> Vec<Point> {
        steps(from, to, step).filter_map(|at| Some((at, 1e3 * self.mean_delay(at, at + step)?))).collect()
    }

    /// Used percentage of the link's capacity over time, in steps of `step` seconds.
    pub(super) fn utilization_line(&self, from: f64, to: f64, step: f64) -> Vec<Point> {
        let used = |at| {
            let (mut sent, mut capacity) = (0.0, 0.0);
            for (at, slice) in self.between(at, at + step) {
                sent += 8.0 * slice.sent as f64;
                capacity += self.capacity(at);
            }
            (at, 100.0 * sent / capacity)
        };
        steps(from, to, step).map(used).collect()
    }

    /// A point for each dropped packet, at the height `y`.
    pub(super) fn drop_points(&self, from: f64, to: f64, y: f64) -> Vec<Point> {
        let times = self.drops.iter().map(|drop| drop.at.as_secs_f64());
        times.filter(|at| *at >= from && *at < to).map(|at| (at, y)).collect()
    }
}

impl Observation for Watch {
    fn of(run: &RunSpec<'_>) -> Watch {
        let link = run.scenario.link(Direction::Down);
        let first = (Instant::ZERO, link.rate);
        let rates = std::iter::once(first).chain(link.rate_changes());
        let slices = run.scenario.duration.0.div_ceil(SLICE.0);
        Watch {
            from: run.scenario.measures_from(),
            to: run.scenario.stops_at(),
            scheme: run.scheme.clone(),
            rates: rates.map(|(at, rate)| (at, rate.bits_per_second() as f64)).collect(),
            slices: vec![Slice::default(); slices as usize],
            drops: Vec::new(),
            delays: Vec::new(),
            backlog: 0,
            empty_since: Some(Instant::ZERO),
            empty: Nanos::ZERO,
            datagrams: (Nanos::ZERO, 0),
            dropped: 0,
            removed: 0,
            intervals: Intervals::of(run.scheme),
        }
    }
}

impl Tap for Watch {
    fn offered(&mut self, now: Instant, direction: Direction, packet: &Packet) {
        if direction == Direction::Down {
            if let Some(since) = self.empty_since.take() {
                let until = now.min(self.to);
                self.empty += until.saturating_since(since.max(self.from));
            }
            if let Some(intervals) = &mut self.intervals {
                intervals.arrives(now, self.backlog);
            }
            self.backlog += u64::from(packet.bytes());
            self.dropped = 0;
            self.note_backlog(now);
        }
    }

    fn dequeued(&mut self, now: Instant, direction: Direction, packet: &Packet) {
        if direction != Direction::Down {
            return;
        }
        let delay = now - packet.arrived();
        if let Some(slice) = self.slices.get_mut((now.0 / SLICE.0) as usize) {
            slice.sent += u64::from(packet.bytes());
            if packet.connection().is_none() {
                slice.datagrams += u64::from(packet.bytes());
            }
            slice.packets += 1;
            slice.delay += delay;
            slice.longest = slice.longest.max(delay);
        }
        if self.is_measured(now) {
            let step = (delay.min(LONGEST).0 / STEP.0) as usize;
            if step >= self.delays.len() {
                self.delays.resize(step + 1, 0);
            }
            self.delays[step] += 1;
            if packet.connection().is_none() {
                self.datagrams.0 += delay;
                self.datagrams.1 += 1;
            }
            self.removed = self.removed.max(self.dropped + 1);
        }
        self.dropped = 0;
        self.leaves(now, packet);
        self.note_backlog(now);
    }

    fn dropped(&mut self, now: Instant, direction: Direction, packet: &Packet, cause: DropCause) {
        if direction == Direction::Down {
            let overflow = cause == DropCause::Queue(DropReason::Tail);
            self.drops.push(Drop { at: now, flow: packet.connection(), overflow });
            if overflow {
                if let Some(intervals) = &mut self.intervals {
                    intervals.overflows();
                }
            } else {
                self.dropped += 1;
            }
            self.leaves(now, packet);
            self.note_backlog(now);
        }
    }
}

/// Runs with the same scheme, one for each seed.
pub(super) struct Runs(Vec<Watched<Watch>>);

impl Runs {
    /// Watches the queue under each scheme of `setup` with each seed.
    pub(super) fn watch(lab: &Lab<'_>, setup: &Setup, seeds: &[u64]) -> Result<Runs, Failure> {
        lab.watch(setup, seeds).map(Runs)
    }

    /// The runs under the scheme with the name `role`, in order of seeds.
    pub(super) fn of(&self, role: &str) -> impl Iterator<Item = &Watch> {
        let runs = self.0.iter().filter(move |run| run.role == role);
        runs.map(|run| &*run.seen)
    }

    /// The run with the first seed.
    pub(super) fn first(&self, role: &str) -> &Watch {
        let first = self.of(role).next();
        first.unwrap_or_else(|| panic!("no scheme '{role}'"))
    }

    /// A number from each run under a scheme: its mean over seeds.
    pub(super) fn mean(&self, role: &str, number: impl Fn(&Watch) -> Option<f64>) -> crate::Estimate {
        crate::Estimate::over(self.of(role).map(number))
    }

    /// A number from the runs of each seed, which `number` gets in the order of `roles`: its mean over seeds.
    pub(super) fn per_seed<const N: usize>(
        &self,
        roles: [&str; N],
        number: impl Fn([&Watch; N]) -> Option<f64>,
    ) -> crate::Estimate {
        let by_role = roles.map(|role| self.of(role).collect::<Vec<_>>());
        let seeds = by_role.iter().map(Vec::len).min().unwrap_or_default();
        crate::Estimate::over((0..seeds).map(|seed| number(std::array::from_fn(|role| by_role[role][seed]))))
    }
}

/// Mean of the values; `None` without one.
pub(super) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// `from`, `from + step` and so on, before `to`.
fn steps(from: f64, to: f64, step: f64) -> impl Iterator<Item = f64> {
    let count = ((to - from) / step).round() as u32;
    (0..count).map(move |index| from + f64::from(index) * step)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch(drops: &[(u64, u32)]) -> Watch {
        let drops =
            drops.iter().map(|(ms, flow)| Drop { at: Instant::from_millis(*ms), flow: Some(*flow), overflow: true });
        Watch {
            from: Instant::ZERO,
            to: Instant::from_secs(2),
            scheme: "codel target=7ms".parse().unwrap(),
            rates: vec![(Instant::ZERO, 8e6), (Instant::from_secs(1), 8e5)],
            slices: vec![Slice::default(); 200],
            drops: drops.collect(),
            delays: vec![0; 1000],
            backlog: 0,
            empty_since: None,
            empty: Nanos::ZERO,
            datagrams: (Nanos::ZERO, 0),
            dropped: 0,
            removed: 0,
            intervals: None,
        }
    }

    #[test]
    fn drops_within_a_round_trip_of_the_first_are_one_event() {
        let events = watch(&[(0, 1), (50, 2), (99, 1), (100, 3), (500, 3)]).events();
        let expected = [(3, 2), (1, 1), (1, 1)].map(|(drops, flows)| Event { drops, flows });
        assert_eq!(events, expected);
    }

    #[test]
    fn utilization_counts_the_rate_of_the_time() {
        let mut watch = watch(&[]);
        // 10 kB fill ten milliseconds of the first second, 1 kB ten of the second one.
        for (index, slice) in watch.slices.iter_mut().enumerate() {
            slice.sent = if index < 100 { 10_000 } else { 1_000 };
        }
        assert!((watch.utilization() - 1.0).abs() < 1e-9);
        assert_eq!(watch.mean_time_below_capacity(), None);
        for slice in &mut watch.slices[20..60] {
            slice.sent = 5_000;
        }
        assert!((watch.lowest_utilization() - 0.5).abs() < 1e-9);
        // Forty slices, and nine round trips that begin before them and reach into them.
        assert!((watch.mean_time_below_capacity().unwrap() - 0.49).abs() < 1e-9);
    }

    #[test]
    fn the_target_is_that_of_the_scheme() {
        let mut watch = watch(&[]);
        assert_eq!(watch.target(), Some(0.007));
        for (spec, target) in [("gsp threshold=15ms", Some(0.015)), ("gsp threshold=9p", None), ("pfifo", None)] {
            watch.scheme = spec.parse().unwrap();
            assert_eq!(watch.target(), target, "{spec}");
        }
    }

    #[test]
    fn quantiles_are_those_of_packets() {
        let mut watch = watch(&[]);
        watch.delays[10] = 50;
        watch.delays[20] = 50;
        assert!((watch.quantile(0.5) - 100e-6).abs() < 1e-12);
        assert!((watch.quantile(0.51) - 200e-6).abs() < 1e-12);
        assert!((watch.quantile(0.0) - 100e-6).abs() < 1e-12);
    }
}
