//! `value <= limit` as a set of masked comparisons, for classifiers that support nothing else.

/// 16-bit values from 0 to `limit` as pairs of value and mask, each of which covers an aligned power of two.
///
/// There is one pair for each bit set in `limit + 1`, the largest first: 128 is `0x0000/0xff80`, then `0x0080/0xffff`.
pub(crate) fn up_to(limit: u16) -> Vec<(u16, u16)> {
    let end = u32::from(limit) + 1;
    let mut start = 0;
    let mut pairs = Vec::new();
    for bit in (0..=16).rev() {
        let size = 1u32 << bit;
        if end & size != 0 {
            // Both fit in 16 bits: the start is below the end of the range, and a 17-bit mask loses only its top bit.
            pairs.push((start as u16, !(size - 1) as u16));
            start += size;
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::up_to;
    use proptest::prelude::*;

    #[test]
    fn pairs_of_some_limits() {
        assert_eq!(up_to(0), [(0, 0xffff)]);
        assert_eq!(up_to(128), [(0, 0xff80), (0x80, 0xffff)]);
        assert_eq!(up_to(100), [(0, 0xffc0), (0x40, 0xffe0), (0x60, 0xfffc), (0x64, 0xffff)]);
        assert_eq!(up_to(u16::MAX), [(0, 0)]);
    }

    proptest! {
        #[test]
        fn exactly_the_values_up_to_the_limit_match_and_each_once(limit: u16, value: u16) {
            let matches = up_to(limit).iter().filter(|(v, mask)| value & mask == *v).count();
            prop_assert_eq!(matches, usize::from(value <= limit));
        }
    }
}
