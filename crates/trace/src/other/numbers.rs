//! Sets of packet numbers: a copy made by the capture repeats a number, a retransmission never does.

/// Number of packet numbers below the largest that are remembered.
const WINDOW: u64 = u64::BITS as u64;

/// Packet numbers seen in one direction, as in the replay protection of RFC 4303, 3.4.3.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Numbers {
    largest: Option<u64>,
    /// Bit `i` is set if the largest number minus `i` was seen.
    seen: u64,
}

impl Numbers {
    /// Largest number seen.
    pub(super) fn largest(&self) -> Option<u64> {
        self.largest
    }

    /// Adds a number; returns false if it was seen before or is too far behind to know.
    pub(super) fn insert(&mut self, number: u64) -> bool {
        let Some(largest) = self.largest else {
            *self = Numbers { largest: Some(number), seen: 1 };
            return true;
        };
        if let Some(ahead) = number.checked_sub(largest).filter(|&ahead| ahead > 0) {
            let kept = if ahead < WINDOW { self.seen << ahead } else { 0 };
            *self = Numbers { largest: Some(number), seen: kept | 1 };
            return true;
        }
        let behind = largest - number;
        if behind >= WINDOW || self.seen >> behind & 1 != 0 {
            return false;
        }
        self.seen |= 1 << behind;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn knows_what_a_set_would_know(numbers in prop::collection::vec(0u64..200, 0..80)) {
            let mut window = Numbers::default();
            let mut set = BTreeSet::new();
            for number in numbers {
                let far_behind = set.last().is_some_and(|last| number + WINDOW <= *last);
                let new = set.insert(number);
                prop_assert_eq!(window.insert(number), new && !far_behind);
                prop_assert_eq!(window.largest(), set.last().copied());
            }
        }
    }

    #[test]
    fn the_ends_of_the_range_are_numbers_like_others() {
        let mut window = Numbers::default();
        assert!(window.insert(0));
        assert!(window.insert(u64::MAX));
        assert!(!window.insert(u64::MAX));
        assert!(!window.insert(0), "too far behind to know");
    }
}
