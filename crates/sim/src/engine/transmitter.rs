//! Transmission time of packets.

use gentle_units::{Nanos, Rate};

/// Rate of a link, with the last two results cached: nearly all packets of one direction are full segments or bare
/// ACKs, and a 64-bit division costs as much as the rest of an event.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Transmitter {
    rate: Rate,
    known: [(u32, Nanos); 2],
}

impl Transmitter {
    pub(crate) fn new(rate: Rate) -> Transmitter {
        Transmitter { rate, known: [(0, Nanos::ZERO); 2] }
    }

    pub(crate) fn rate(&self) -> Rate {
        self.rate
    }

    #[inline]
    pub(crate) fn time_to_send(&mut self, bytes: u32) -> Nanos {
        if self.known[0].0 == bytes {
            return self.known[0].1;
        }
        self.known.swap(0, 1);
        if self.known[0].0 != bytes {
            self.known[0] = (bytes, self.rate.time_to_send(u64::from(bytes)));
        }
        self.known[0].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn remembering_changes_no_answer(sizes in prop::collection::vec(0_u32..6, 1..50)) {
            let rate = Rate::from_bits_per_second(7_777).unwrap();
            let mut transmitter = Transmitter::new(rate);
            for bytes in sizes {
                prop_assert_eq!(transmitter.time_to_send(bytes), rate.time_to_send(bytes.into()));
            }
        }
    }
}
