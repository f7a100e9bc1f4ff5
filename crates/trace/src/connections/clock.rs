//! Short times inside a connection.

use gentle_units::Nanos;

/// A point in time in microseconds that wraps around after 71 minutes: half the memory of [`Nanos`]. Only differences
/// mean something, and only between points that one connection has at the same time in its memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tick(u32);

impl Tick {
    #[inline]
    pub(crate) fn at(time: Nanos) -> Tick {
        Tick(time.as_micros() as u32)
    }

    /// From `earlier` to here; zero if the capture's clock went back.
    #[inline]
    pub(crate) fn since(self, earlier: Tick) -> Nanos {
        let ticks = self.0.wrapping_sub(earlier.0);
        // A difference in the upper half of the range is a small one backwards.
        if ticks > u32::MAX - (u32::MAX >> 4) {
            Nanos::ZERO
        } else {
            Nanos::from_micros(u64::from(ticks))
        }
    }
}

/// A span of time in microseconds, up to 71 minutes; longer ones stay at that, and there may be none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span(u32);

impl Span {
    pub(crate) const NONE: Span = Span(u32::MAX);

    #[inline]
    pub(crate) fn new(length: Nanos) -> Span {
        Span(length.as_micros().min(u64::from(u32::MAX - 1)) as u32)
    }

    #[inline]
    pub(crate) fn get(self) -> Option<Nanos> {
        (self != Span::NONE).then(|| Nanos::from_micros(u64::from(self.0)))
    }
}
