//! Sums and curves of a session, of bounded size however long it runs. Everything since the start counts, the warm-up
//! included.

use gentle_aqm::Packet as _;
use gentle_experiment::{Class, Direction, Ending};
use gentle_sim::{Ended, Packet};
use gentle_units::{Instant, Nanos};
use serde::Serialize;

/// Most points of a curve over time.
const POINTS: usize = 400;
/// Length of a point at the start of a session.
const FIRST: Nanos = Nanos::from_millis(250);

/// Upper ends of the ranges of connection sizes, segments; one range is above.
const SIZES: [u64; 10] = [1, 2, 3, 5, 10, 20, 50, 100, 300, 1000];

/// Ranges of response times per factor of ten, from [`SHORTEST`] on.
const PER_DECADE: f64 = 25.0;
/// Seconds.
const SHORTEST: f64 = 0.001;
/// Ranges up to 1,000 s.
const TIMES: usize = 150;

/// Counts since the start of a session.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Sums {
    /// SYNs and SYN/ACKs offered to the queue under test.
    pub handshakes_offered: u64,
    /// SYNs and SYN/ACKs that it dropped.
    pub handshakes_dropped: u64,
    /// Packets offered, by direction.
    pub offered: [u64; 2],
    /// Packets dropped, by direction.
    pub dropped: [u64; 2],
    /// Packets marked with ECN, by direction.
    pub marked: [u64; 2],
    /// Bytes sent, by direction.
    pub sent_bytes: [u64; 2],
    /// Connections of known size that completed.
    pub completed: u64,
    /// Connections that TCP gave up.
    pub failed: u64,
    /// Sum of the response times of completed connections of known size, seconds.
    pub response_s: f64,
    /// Completed connections of at most three segments, and the sum of their response times, seconds.
    pub short: (u64, f64),
    /// Sum of the sojourn times in the queue under test, seconds, and packets that left it.
    pub sojourn: (f64, u64),
}

/// A stretch of time.
#[derive(Debug, Clone, Copy, Default)]
struct Point {
    sojourn_s: f64,
    packets: u32,
    longest_s: f64,
    handshakes: u32,
    handshakes_dropped: u32,
    busy_s: f64,
}

impl Point {
    fn add(&mut self, other: &Point) {
        self.sojourn_s += other.sojourn_s;
        self.packets += other.packets;
        self.longest_s = self.longest_s.max(other.longest_s);
        self.handshakes += other.handshakes;
        self.handshakes_dropped += other.handshakes_dropped;
        self.busy_s += other.busy_s;
    }
}

/// Curves of a session; `null` where nothing was observed.
#[derive(Debug, Clone, Serialize)]
pub struct Curves {
    /// Length of a point, seconds; point `i` covers the time from `i` lengths on.
    pub step_s: f64,
    /// Mean sojourn time in the queue under test, seconds.
    pub sojourn_s: Vec<Option<f64>>,
    /// Longest sojourn time, seconds.
    pub longest_s: Vec<Option<f64>>,
    /// Fraction of SYNs and SYN/ACKs that the queue under test dropped.
    pub handshake_loss: Vec<Option<f64>>,
    /// Busy fraction of the link under test.
    pub utilization: Vec<Option<f64>>,
    /// Largest size in segments, mean response time in seconds and number of the connections of each range that has any;
    /// no size: the last range.
    pub by_size: Vec<(Option<u64>, f64, u64)>,
    /// Response times in seconds and the fraction of connections that took longer.
    pub ccdf: Vec<(f64, f64)>,
}

/// Sums and curves while they grow.
#[derive(Debug, Clone)]
pub struct Meter {
    sums: Sums,
    step: Nanos,
    points: Vec<Point>,
    by_size: [(u64, f64); SIZES.len() + 1],
    times: [u64; TIMES + 1],
    /// Seconds that the link under test takes for a byte.
    seconds_per_byte: f64,
}

impl Meter {
    /// An empty meter of a link under test with this time for a byte.
    pub(crate) fn new(seconds_per_byte: f64) -> Meter {
        Meter {
            sums: Sums::default(),
            step: FIRST,
            points: Vec::new(),
            by_size: Default::default(),
            times: [0; TIMES + 1],
            seconds_per_byte,
        }
    }

    /// Sets the time for a byte from now on.
    pub(crate) fn set_seconds_per_byte(&mut self, seconds: f64) {
        self.seconds_per_byte = seconds;
    }

    /// The sums.
    pub fn sums(&self) -> &Sums {
        &self.sums
    }

    fn point(&mut self, now: Instant) -> &mut Point {
        while now.0 / self.step.0 >= POINTS as u64 {
            self.step = Nanos(self.step.0 * 2);
            let merged = self.points.chunks(2).map(|pair| {
                let mut point = pair[0];
                pair[1..].iter().for_each(|other| point.add(other));
                point
            });
            self.points = merged.collect();
        }
        let index = (now.0 / self.step.0) as usize;
        if self.points.len() <= index {
            self.points.resize(index + 1, Point::default());
        }
        &mut self.points[index]
    }

    pub(crate) fn offered(&mut self, now: Instant, direction: Direction, packet: &Packet) {
        self.sums.offered[direction.index()] += 1;
        if direction == Direction::Down && is_handshake(packet) {
            self.sums.handshakes_offered += 1;
            self.point(now).handshakes += 1;
        }
    }

    pub(crate) fn dequeued(&mut self, now: Instant, direction: Direction, packet: &Packet) {
        let bytes = packet.bytes();
        self.sums.sent_bytes[direction.index()] += u64::from(bytes);
        if direction == Direction::Down {
            let sojourn = now.saturating_since(packet.arrived()).as_secs_f64();
            self.sums.sojourn.0 += sojourn;
            self.sums.sojourn.1 += 1;
            let busy = f64::from(bytes) * self.seconds_per_byte;
            let point = self.point(now);
            point.sojourn_s += sojourn;
            point.packets += 1;
            point.longest_s = point.longest_s.max(sojourn);
            point.busy_s += busy;
        }
    }

    pub(crate) fn marked(&mut self, direction: Direction) {
        self.sums.marked[direction.index()] += 1;
    }

    pub(crate) fn dropped(&mut self, now: Instant, direction: Direction, packet: &Packet) {
        self.sums.dropped[direction.index()] += 1;
        if direction == Direction::Down && is_handshake(packet) {
            self.sums.handshakes_dropped += 1;
            self.point(now).handshakes_dropped += 1;
        }
    }

    pub(crate) fn ended(&mut self, ended: &Ended) {
        let time = match (ended.ending, ended.segments) {
            (Ending::Completed(time), Some(_)) => time.as_secs_f64(),
            (Ending::Failed, _) => {
                self.sums.failed += 1;
                return;
            }
            _ => return,
        };
        let segments = ended.segments.unwrap_or_default();
        self.sums.completed += 1;
        self.sums.response_s += time;
        if segments <= 3 {
            self.sums.short.0 += 1;
            self.sums.short.1 += time;
        }
        let range = &mut self.by_size[SIZES.partition_point(|upper| *upper < segments)];
        range.0 += 1;
        range.1 += time;
        let place = (libm::log10(time / SHORTEST) * PER_DECADE).ceil();
        self.times[(place.max(0.0) as usize).min(TIMES)] += 1;
    }

    /// The curves.
    pub fn curves(&self) -> Curves {
        let step_s = self.step.as_secs_f64();
        let each = |value: fn(&Point, f64) -> Option<f64>| {
            let points = self.points.iter();
            points.map(|point| value(point, step_s)).collect::<Vec<_>>()
        };
        let by_size = self.by_size.iter().enumerate();
        let total = self.times.iter().sum::<u64>() as f64;
        let mut longer = total;
        let mut ccdf = Vec::new();
        for (place, number) in self.times.iter().enumerate().take(TIMES) {
            longer -= *number as f64;
            if *number > 0 {
                let time = SHORTEST * libm::exp10(place as f64 / PER_DECADE);
                ccdf.push((time, longer / total));
            }
        }
        Curves {
            step_s,
            sojourn_s: each(|p, _| (p.packets > 0).then(|| p.sojourn_s / f64::from(p.packets))),
            longest_s: each(|p, _| (p.packets > 0).then_some(p.longest_s)),
            handshake_loss: each(|p, _| {
                (p.handshakes > 0).then(|| f64::from(p.handshakes_dropped) / f64::from(p.handshakes))
            }),
            utilization: each(|p, step_s| Some((p.busy_s / step_s).min(1.0))),
            by_size: by_size
                .filter(|(_, (number, _))| *number > 0)
                .map(|(place, (number, sum))| (SIZES.get(place).copied(), sum / *number as f64, *number))
                .collect(),
            ccdf,
        }
    }
}

fn is_handshake(packet: &Packet) -> bool {
    matches!(packet.class(), Class::Syn | Class::SynAck)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(seconds: f64, segments: u64) -> Ended {
        Ended {
            connection: 0,
            workload: 0,
            started: Instant::ZERO,
            segments: Some(segments),
            ending: Ending::Completed(Nanos::from_secs_f64(seconds)),
            handshake: None,
        }
    }

    #[test]
    fn curves_stay_short_and_keep_their_sums() {
        let mut meter = Meter::new(0.0);
        for second in 0..86_400 {
            let point = meter.point(Instant::from_secs(second));
            point.handshakes += 2;
            point.handshakes_dropped += 1;
        }
        assert!(meter.points.len() <= POINTS);
        let sum: u32 = meter.points.iter().map(|point| point.handshakes).sum();
        assert_eq!(sum, 2 * 86_400);
        let curves = meter.curves();
        assert!(curves.handshake_loss.iter().flatten().all(|loss| *loss == 0.5));
        assert!(curves.step_s * curves.sojourn_s.len() as f64 >= 86_400.0);
    }

    #[test]
    fn response_times_are_counted_by_size_and_length() {
        let mut meter = Meter::new(0.0);
        for (seconds, segments) in [(0.1, 1), (0.3, 1), (1.2, 3), (9.0, 4_000), (0.000_1, 2)] {
            meter.ended(&ended(seconds, segments));
        }
        let curves = meter.curves();
        let ends: Vec<_> = curves.by_size.iter().map(|range| (range.0, range.2)).collect();
        assert_eq!(ends, [(Some(1), 2), (Some(2), 1), (Some(3), 1), (None, 1)]);
        assert!((curves.by_size[0].1 - 0.2).abs() < 1e-12);
        let fractions: Vec<f64> = curves.ccdf.iter().map(|point| point.1).collect();
        assert_eq!(fractions, [0.8, 0.6, 0.4, 0.2, 0.0]);
        assert!(curves.ccdf.is_sorted_by(|a, b| a.0 < b.0));
        assert!(curves.ccdf[3].0 >= 1.2 && curves.ccdf[3].0 < 1.2 * 1.1);
        assert_eq!(meter.sums().short.0, 4);
    }
}
