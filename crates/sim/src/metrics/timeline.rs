//! The queue under test over time, in a fixed number of slices.

use crate::results::QueuePoint;
use gentle_units::Nanos;

const SLICES: u64 = 400;

/// Queueing delay in slices of time.
#[derive(Debug, Clone)]
pub(crate) struct Timeline {
    slice: Nanos,
    slices: Vec<Slice>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Slice {
    n: u32,
    sum_s: f64,
    max: Nanos,
}

impl Timeline {
    pub(crate) fn new(duration: Nanos) -> Timeline {
        Timeline {
            slice: Nanos(duration.0.div_ceil(SLICES).max(1)),
            slices: vec![Slice::default(); SLICES as usize],
        }
    }

    /// A packet left the queue at `now` after `delay`; ignored after the end.
    #[inline]
    pub(crate) fn record(&mut self, now: Nanos, delay: Nanos) {
        if let Some(slice) = self.slices.get_mut((now.0 / self.slice.0) as usize) {
            slice.n += 1;
            slice.sum_s += delay.as_secs_f64();
            slice.max = slice.max.max(delay);
        }
    }

    pub(crate) fn points(&self) -> Vec<QueuePoint> {
        let slices = self.slices.iter().enumerate();
        slices
            .map(|(index, slice)| QueuePoint {
                t_s: (self.slice * index as u64).as_secs_f64(),
                // To the microsecond: it is for the eye, and there are many.
                mean_s: (slice.n > 0)
                    .then(|| (slice.sum_s / f64::from(slice.n) * 1e6).round() / 1e6),
                max_s: (slice.n > 0).then(|| slice.max.as_micros() as f64 / 1e6),
            })
            .collect()
    }
}
