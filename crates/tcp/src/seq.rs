//! Sequence numbers, on the wire and unwrapped.

use std::cmp::Ordering;
use std::fmt;
use std::ops::{Add, Sub};

/// Sequence number on the wire: modulo 2³² (RFC 9293, section 3.4).
///
/// Comparison is circular: `a < b` if `b` is less than 2³¹ ahead of `a`. This is a total order only over the numbers of
/// one window, which is why `Seq` implements [`PartialOrd`] and not `Ord`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Seq(pub u32);

impl Seq {
    /// Distance from `other` to `self`; negative if `self` is behind.
    #[inline]
    pub const fn distance(self, other: Seq) -> i32 {
        self.0.wrapping_sub(other.0) as i32
    }
}

impl PartialOrd for Seq {
    #[inline]
    fn partial_cmp(&self, other: &Seq) -> Option<Ordering> {
        Some(self.distance(*other).cmp(&0))
    }
}

impl Add<u32> for Seq {
    type Output = Seq;
    #[inline]
    fn add(self, n: u32) -> Seq {
        Seq(self.0.wrapping_add(n))
    }
}

impl Sub<u32> for Seq {
    type Output = Seq;
    #[inline]
    fn sub(self, n: u32) -> Seq {
        Seq(self.0.wrapping_sub(n))
    }
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Maps sequence numbers of one direction to positions that never wrap: 0 is the SYN, 1 the first byte.
///
/// The state machine compares `u64` positions; only segments carry [`Seq`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unwrap {
    isn: Seq,
}

impl Unwrap {
    pub(crate) const fn new(isn: Seq) -> Unwrap {
        Unwrap { isn }
    }

    #[inline]
    pub(crate) fn wire(self, position: u64) -> Seq {
        self.isn + position as u32
    }

    /// Position nearest to `reference` that `seq` can stand for; `None` if that would be before the SYN.
    #[inline]
    pub(crate) fn position(self, seq: Seq, reference: u64) -> Option<u64> {
        let distance = seq.distance(self.wire(reference));
        reference.checked_add_signed(i64::from(distance))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_wraps() {
        assert!(Seq(u32::MAX) < Seq(0));
        assert!(Seq(5) > Seq(u32::MAX - 5));
        assert_eq!(Seq(3).distance(Seq(u32::MAX)), 4);
        assert_eq!(Seq(u32::MAX) + 2, Seq(1));
        assert_eq!(Seq(1) - 2, Seq(u32::MAX));
    }

    #[test]
    fn positions_pass_the_wrap_of_the_wire() {
        let unwrap = Unwrap::new(Seq(u32::MAX - 10));
        assert_eq!(unwrap.position(Seq(5), 0), Some(16));
        let far = 5_000_000_000;
        assert_eq!(unwrap.position(unwrap.wire(far + 7), far), Some(far + 7));
        assert_eq!(unwrap.position(unwrap.wire(far - 7), far), Some(far - 7));
        assert_eq!(unwrap.position(Seq(u32::MAX - 11), 0), None);
    }
}
