//! Sojourn times in the queue under test over time, in a fixed number of slices.

use crate::results::QueuePoint;
use gentle_units::{Instant, Nanos};
use serde::{Deserialize, Serialize};

const SLICES: u64 = 400;

/// Sojourn times by time slice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Timeline {
    #[serde(rename = "slice_ns")]
    slice: Nanos,
    slices: Vec<Slice>,
    /// During recording: index of the current slice.
    #[serde(skip)]
    current: usize,
    /// During recording: end of the current slice.
    #[serde(skip)]
    end: Instant,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Slice {
    n: u32,
    #[serde(rename = "sum_ns")]
    sum: Nanos,
    #[serde(rename = "max_ns")]
    max: Nanos,
}

impl Timeline {
    pub(crate) fn new(duration: Nanos) -> Timeline {
        let slice = Nanos(duration.0.div_ceil(SLICES).max(1));
        Timeline { slice, slices: vec![Slice::default(); SLICES as usize], current: 0, end: Instant::ZERO + slice }
    }

    /// Counts a packet that left the queue at `now` with the sojourn time `delay`; ignored after the last slice. `now`
    /// must not decrease between calls.
    #[inline]
    pub(crate) fn record(&mut self, now: Instant, delay: Nanos) {
        while now >= self.end {
            if self.current >= self.slices.len() {
                return;
            }
            self.end += self.slice;
            self.current += 1;
        }
        if let Some(slice) = self.slices.get_mut(self.current) {
            slice.n += 1;
            slice.sum += delay;
            slice.max = slice.max.max(delay);
        }
    }

    /// Ends recording and resets its state, so that equal records compare equal.
    pub(crate) fn end_recording(&mut self) {
        self.current = 0;
        self.end = Instant::ZERO;
    }

    /// Removes all slices to free their memory.
    pub(crate) fn clear(&mut self) {
        self.slices = Vec::new();
    }

    pub(crate) fn points(&self) -> Vec<QueuePoint> {
        let slices = self.slices.iter().enumerate();
        slices
            .map(|(index, slice)| QueuePoint {
                t_s: (self.slice * index as u64).as_secs_f64(),
                // Microseconds suffice for a plot and keep the JSON small.
                mean_s: (slice.n > 0).then(|| (slice.sum.0 as f64 / f64::from(slice.n) / 1e3).round() / 1e6),
                max_s: (slice.n > 0).then(|| slice.max.as_micros() as f64 / 1e6),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_drain_after_a_short_run_costs_nothing() {
        let mut timeline = Timeline::new(Nanos(100));
        timeline.record(Instant(50), Nanos(7));
        timeline.record(Instant::from_secs(86_400), Nanos(9));
        let with_packets = timeline.points().iter().filter(|p| p.max_s.is_some()).count();
        assert_eq!(with_packets, 1);
    }
}
