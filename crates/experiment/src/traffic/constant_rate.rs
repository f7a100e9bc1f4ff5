//! Packets at a constant rate, with intervals that vary a little.
//!
//! Sources of exactly periodic packets keep their phase for a whole run. On a full FIFO, the phase then decides which of
//! them loses all packets and which none (S. Floyd and V. Jacobson, "Traffic Phase Effects in Packet-Switched Gateways",
//! Computer Communication Review 21(2), 1991). Clocks of real hosts drift; here each interval varies.

use super::{End, start, stop};
use crate::draw::{Stream, uniform_time};
use crate::error::ScenarioError;
use crate::section::Section;
use gentle_units::{Instant, Nanos, Rate};
use rand::{RngExt, SeedableRng};
use serde::Serialize;
use std::fmt;

/// Packets at a constant rate, independent of losses.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ConstantRate {
    /// Rate, counting the bits of IP packets.
    pub rate: Rate,
    /// Length of an IP packet, bytes.
    pub bytes: u32,
    /// Range of the start time, which is drawn uniformly.
    pub start: (Nanos, Nanos),
    /// Time at which the source stops; `None`: the end of the arrival process.
    pub stop: Option<Nanos>,
    /// Half-width of the uniform distribution of an interval between packets, as a fraction of its mean, 0 to 1. Above 0,
    /// the first packet comes at random within an interval after the start; with 0, at the start.
    pub jitter: f64,
}

impl ConstantRate {
    /// Default of [`ConstantRate::jitter`]: two sources with the same interval forget their phases within about 25
    /// intervals, after which the difference of their sums has a standard deviation of 0.4 intervals.
    pub const JITTER: f64 = 0.1;

    /// Reads the keys; packets are `shortest` bytes long at least. Without congestion control the queue of a host's access link, of
    /// rate `fastest`, would grow without bound.
    pub(super) fn read(
        section: &mut Section<'_>,
        fastest: Option<Rate>,
        shortest: u64,
        default: u32,
    ) -> Result<ConstantRate, ScenarioError> {
        let item = section.require("rate", "\"1mbit\"")?;
        let rate = item.rate()?;
        if let Some(fastest) = fastest.filter(|fastest| rate > *fastest) {
            return Err(item.error(format!("expected at most {fastest}, the rate of the access links")));
        }
        let bytes = match section.take("packet") {
            Some(item) => item.size(shortest..=65_535)? as u32,
            None => default,
        };
        let start = start(section)?;
        let stop = stop(section, start.1)?;
        let jitter = match section.take("jitter") {
            Some(item) => item.real(0.0..=1.0)?,
            None => ConstantRate::JITTER,
        };
        Ok(ConstantRate { rate, bytes, start, stop, jitter })
    }

    /// Mean load on a link with this `overhead` for each packet, bits per second.
    pub(super) fn bits_per_second(&self, duration: Nanos, overhead: u32) -> f64 {
        let on_link = f64::from(self.bytes + overhead) / f64::from(self.bytes);
        let stop = self.stop.unwrap_or(duration).min(duration);
        let active = stop.saturating_sub(Nanos(self.start.0.0.midpoint(self.start.1.0)));
        self.rate.bits_per_second() as f64 * on_link * (active.as_secs_f64() / duration.as_secs_f64())
    }

    /// Whether every seed has the same packets.
    pub(super) fn repeats(&self) -> bool {
        self.jitter == 0.0 && self.start.0 == self.start.1
    }

    /// Multiplies the rate by `factor`, up to `fastest`.
    pub(super) fn scale(&mut self, factor: f64, fastest: Option<Rate>) {
        self.rate = self.rate.scaled(factor, fastest);
    }

    /// Mean interval between packets.
    fn interval(&self) -> Nanos {
        self.rate.time_to_send(self.bytes.into())
    }

    /// Time of the first packet, and seed of the intervals after it, of a source that draws from `rng`.
    pub fn draw(&self, mut rng: Stream) -> (Instant, u64) {
        let start = Instant::ZERO + uniform_time(self.start, &mut rng);
        let phase = match self.jitter > 0.0 {
            true => Nanos(rng.random_range(0..self.interval().0.max(1))),
            false => Nanos::ZERO,
        };
        (start + phase, rng.random())
    }
}

/// Makes a kind of traffic of a type around a [`ConstantRate`]; the second argument begins its description.
macro_rules! at_constant_rate {
    ($kind:ident, $words:literal) => {
        impl $crate::traffic::Kind for $kind {
            fn facts(&self) -> &'static $crate::traffic::Facts {
                &Self::FACTS
            }

            fn bits_per_second(&self, to: &$crate::traffic::Offering<'_>) -> f64 {
                self.0.bits_per_second(to.duration, to.overhead)
            }

            fn started(&self, _: ::gentle_units::Nanos) -> f64 {
                0.0
            }

            fn repeats(&self, _: bool) -> bool {
                self.0.repeats()
            }

            fn scale(&mut self, factor: f64, fastest: Option<::gentle_units::Rate>) {
                self.0.scale(factor, fastest);
            }

            fn pace(&self) -> Option<&ConstantRate> {
                Some(&self.0)
            }
        }

        impl ::std::fmt::Display for $kind {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                write!(f, concat!($words, "{}"), self.0)
            }
        }
    };
}
pub(super) use at_constant_rate;

impl fmt::Display for ConstantRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}-byte packets, from {} to {}", self.rate, self.bytes, self.start.0, End(self.stop))?;
        match self.jitter == Self::JITTER {
            true => Ok(()),
            false => write!(f, ", jitter {}", self.jitter),
        }
    }
}

/// Times of the packets of a source at a constant rate.
#[derive(Debug, Clone)]
pub struct PacketTimes {
    rate: Rate,
    bytes: u32,
    jitter: f64,
    /// Time from which packets are counted, and the number of the next one.
    start: Instant,
    number: u64,
    /// Sum of the deviations of the intervals so far, nanoseconds.
    drift: f64,
    rng: Stream,
    next: Instant,
    end: Instant,
}

impl PacketTimes {
    /// Times from `first` on and before `end`. `jitter` is [`ConstantRate::jitter`]; `seed` is the seed of the
    /// intervals ([`ConstantRate::draw`]).
    pub fn new(rate: Rate, bytes: u32, jitter: f64, first: Instant, end: Instant, seed: u64) -> PacketTimes {
        PacketTimes {
            rate,
            bytes,
            jitter,
            start: first,
            number: 0,
            drift: 0.0,
            rng: Stream::seed_from_u64(seed),
            next: first,
            end,
        }
    }

    /// Time of the next packet; `None` after the last one.
    pub fn next_at(&self) -> Option<Instant> {
        (self.next < self.end).then_some(self.next)
    }

    /// Skips to the packet after the next one.
    pub fn advance(&mut self) {
        self.number += 1;
        if self.jitter > 0.0 {
            let interval = self.rate.time_to_send(self.bytes.into());
            let deviation = self.rng.random_range(-self.jitter..=self.jitter);
            self.drift += deviation * interval.0 as f64;
        }
        // Calculated from the start, so that rounding errors of the rate do not accumulate.
        let bytes = self.number.saturating_mul(self.bytes.into());
        let at = self.start + self.rate.time_to_send(bytes);
        let at = at.0.saturating_add_signed(self.drift as i64);
        self.next = self.next.max(Instant(at));
    }

    /// Changes the rate from the next packet on.
    pub fn set_rate(&mut self, rate: Rate) {
        self.rate = rate;
        (self.start, self.number, self.drift) = (self.next, 0, 0.0);
    }

    /// Rate of the packets.
    pub fn rate(&self) -> Rate {
        self.rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1,000-byte packets at 1 Mb/s: one each 8 ms.
    fn source(jitter: f64, start: (u64, u64)) -> ConstantRate {
        ConstantRate {
            rate: Rate::from_bits_per_second(1_000_000).unwrap(),
            bytes: 1_000,
            start: (Nanos::from_millis(start.0), Nanos::from_millis(start.1)),
            stop: None,
            jitter,
        }
    }

    fn times(source: &ConstantRate, seed: u64) -> Vec<Instant> {
        let (first, stream) = source.draw(Stream::seed_from_u64(seed));
        let end = Instant::from_secs(100);
        let mut times = PacketTimes::new(source.rate, source.bytes, source.jitter, first, end, stream);
        std::iter::from_fn(|| {
            let at = times.next_at();
            times.advance();
            at
        })
        .collect()
    }

    #[test]
    fn without_jitter_packets_are_exactly_periodic() {
        let times = times(&source(0.0, (5, 5)), 1);
        assert_eq!(times.len(), 12_500);
        assert_eq!(times[0], Instant::from_millis(5));
        assert!(times.windows(2).all(|pair| pair[1] - pair[0] == Nanos::from_millis(8)));
    }

    #[test]
    fn intervals_vary_by_the_jitter_and_the_rate_stays() {
        for jitter in [0.1, 1.0] {
            let source = source(jitter, (0, 0));
            let sent = times(&source, 1);
            assert_eq!(sent, times(&source, 1));
            assert_ne!(sent, times(&source, 2));
            assert!(sent[0] < Instant::from_millis(8));
            let gaps = sent.windows(2).map(|pair| (pair[1] - pair[0]).as_secs_f64() / 8e-3);
            let (least, most) = gaps.fold((f64::MAX, 0.0_f64), |(least, most), gap| (least.min(gap), most.max(gap)));
            assert!(least > 0.999 - jitter && least < 1.0 - 0.9 * jitter, "{least}");
            assert!(most < 1.001 + jitter && most > 1.0 + 0.9 * jitter, "{most}");
            // The standard deviation of the number is jitter / sqrt(3) times sqrt(12,500): 6 and 65.
            let excess = sent.len() as f64 - 12_500.0;
            assert!(excess.abs() < 260.0 * jitter, "{excess}");
        }
    }

    #[test]
    fn the_start_is_drawn_from_its_range() {
        let source = source(0.0, (20, 120));
        let starts: Vec<Instant> = (0..50).map(|seed| source.draw(Stream::seed_from_u64(seed)).0).collect();
        let ms = |time: u64| Instant::from_millis(time);
        assert!(starts.iter().all(|start| (ms(20)..=ms(120)).contains(start)));
        assert!(starts.iter().any(|start| *start < ms(40)));
        assert!(starts.iter().any(|start| *start > ms(100)));
    }
}
