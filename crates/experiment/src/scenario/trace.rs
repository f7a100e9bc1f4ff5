//! Links whose rate follows a recording: opportunities to deliver packets, in Mahimahi's format.
//!
//! Each line is a time in whole milliseconds at which the link delivers up to [`OPPORTUNITY`] bytes; equal times are several
//! opportunities. After its last line the trace begins again. Netravali et al., "Mahimahi: Accurate Record-and-Replay for
//! HTTP", USENIX ATC 2015, section 3; mm-link(1).

use gentle_units::{Instant, Rate};
use serde::Serialize;
use thiserror::Error;

/// Bytes of an opportunity: a packet of 1,500 bytes with the header of Mahimahi's virtual device.
pub const OPPORTUNITY: u32 = 1_504;

/// Longest trace: as many opportunities as 4 Gb/s have in a minute.
const LONGEST: usize = 20_000_000;

/// Recorded opportunities to deliver packets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RateTrace {
    /// Times in milliseconds, ascending; the last is the length of the trace.
    times_ms: Vec<u32>,
}

/// Reason for which a text is no trace.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TraceError {
    /// A line is no time.
    #[error("line {line}: expected a time in whole milliseconds, 0 to 4294967295")]
    NotTime {
        /// Number of the line, from 1.
        line: usize,
    },
    /// A time is before the time in the line above.
    #[error("line {line}: {time} is before {before} of the line above; expected times in order")]
    Order {
        /// Number of the line, from 1.
        line: usize,
        /// Time, milliseconds.
        time: u32,
        /// Time of the line above, milliseconds.
        before: u32,
    },
    /// No opportunity comes after time 0.
    #[error("expected a trace of Mahimahi: a time in milliseconds per line, the last of them above 0")]
    Empty,
    /// The trace has too many lines.
    #[error("the trace has more than {LONGEST} lines; expected fewer: a trace repeats after its end")]
    TooLong,
}

impl RateTrace {
    /// Reads a trace; empty lines are skipped.
    ///
    /// # Errors
    /// The text is no trace.
    pub fn parse(text: &str) -> Result<RateTrace, TraceError> {
        let mut times_ms: Vec<u32> = Vec::new();
        for (line, text) in (1..).zip(text.lines()) {
            let text = text.trim();
            if text.is_empty() {
                continue;
            }
            let time = text.parse().map_err(|_| TraceError::NotTime { line })?;
            match times_ms.last() {
                Some(&before) if time < before => {
                    return Err(TraceError::Order { line, time, before });
                }
                _ if times_ms.len() == LONGEST => return Err(TraceError::TooLong),
                _ => times_ms.push(time),
            }
        }
        match times_ms.last() {
            None | Some(0) => Err(TraceError::Empty),
            Some(_) => Ok(RateTrace { times_ms }),
        }
    }

    /// Time of an opportunity since the start of the link, counted from 0 over all repetitions.
    pub fn at(&self, opportunity: u64) -> Instant {
        let length = self.times_ms.len() as u64;
        let (round, place) = (opportunity / length, opportunity % length);
        let ms = self.period_ms().saturating_mul(round).saturating_add(u64::from(self.times_ms[place as usize]));
        Instant(ms.saturating_mul(1_000_000))
    }

    /// First opportunity at `now` or later.
    pub fn first_from(&self, now: Instant) -> u64 {
        let ms = now.0.div_ceil(1_000_000);
        let (round, rest) = (ms / self.period_ms(), ms % self.period_ms());
        // The end of a round is also the start of the next.
        let before = |round: u64, rest: u64| {
            round * self.times_ms.len() as u64 + self.times_ms.partition_point(|time| u64::from(*time) < rest) as u64
        };
        match (rest, round.checked_sub(1)) {
            (0, Some(last)) => before(last, self.period_ms()),
            _ => before(round, rest),
        }
    }

    /// Mean rate.
    pub fn mean_rate(&self) -> Rate {
        let bits = u128::from(OPPORTUNITY) * 8 * 1_000 * self.times_ms.len() as u128;
        let bits = bits / u128::from(self.period_ms());
        Rate::from_bits_per_second(bits.clamp(1, u128::from(u64::MAX)) as u64).expect("above zero")
    }

    fn period_ms(&self) -> u64 {
        self.times_ms.last().copied().map_or(1, u64::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn opportunities_repeat() {
        let trace = RateTrace::parse("0\n2\n2\n\n10\n").unwrap();
        let times: Vec<u64> = (0..9).map(|n| trace.at(n).0 / 1_000_000).collect();
        assert_eq!(times, [0, 2, 2, 10, 10, 12, 12, 20, 20]);
        let first = |ms: f64| trace.first_from(Instant::from_secs_f64(ms / 1e3));
        assert_eq!([0.0, 0.1, 2.0, 2.1, 10.0].map(first), [0, 1, 1, 3, 3]);
        assert_eq!([10.5, 12.0, 19.9, 20.0, 20.1].map(first), [5, 5, 7, 7, 9]);
        assert_eq!(trace.mean_rate().bits_per_second(), 4 * 1_504 * 8 * 100);
    }

    #[test]
    fn what_is_no_trace_is_refused() {
        assert_eq!(RateTrace::parse(""), Err(TraceError::Empty));
        assert_eq!(RateTrace::parse("0\n0\n"), Err(TraceError::Empty));
        assert_eq!(RateTrace::parse("1\n1.5\n"), Err(TraceError::NotTime { line: 2 }));
        let error = RateTrace::parse("1\n\n7\n6\n").unwrap_err();
        assert_eq!(error, TraceError::Order { line: 4, time: 6, before: 7 });
    }

    proptest! {
        #[test]
        fn the_first_opportunity_is_not_before_its_time(
            mut times in prop::collection::vec(0_u32..50, 1..20),
            now in 0_u64..1_000_000_000,
        ) {
            times.push(50);
            times.sort_unstable();
            let text: Vec<String> = times.iter().map(u32::to_string).collect();
            let trace = RateTrace::parse(&text.join("\n")).unwrap();
            let first = trace.first_from(Instant(now));
            prop_assert!(trace.at(first) >= Instant(now));
            prop_assert!(first == 0 || trace.at(first - 1) < Instant(now));
        }
    }
}
