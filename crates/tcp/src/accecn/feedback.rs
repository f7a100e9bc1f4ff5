//! Feedback in an acknowledgement to the sender of data: the number of marked packets.

use super::{ACE_MASK, ACE_OFFSET, AccEcn, OPTION_OFFSETS, OPTION_RECEIVE, Seen};
use crate::segment::AccEcnOption;

/// Index of CE among the counters.
pub(super) const CE: usize = 1;
/// Weight and unit of the mean number of segments that an acknowledgement covers (`PKTS_ACKED_WEIGHT`,
/// `PKTS_ACKED_PREC`), and the mean above which acknowledgements count as aggregated (`ACK_COMP_THRESH`).
const MEAN_SHIFT: u32 = 6;
const AGGREGATED: u32 = 4 << MEAN_SHIFT;
/// Bytes after which it is too late to trust counters seen for the first time: they may have wrapped.
const TOO_LATE: u64 = (1 << 23) - 1;

/// Data that an acknowledgement delivered.
#[derive(Debug, Clone, Copy)]
pub(super) struct Delivery {
    pub(super) segments: u32,
    pub(super) bytes: u32,
    /// Payload of a full segment, bytes.
    pub(super) mss: u32,
    /// Whether the number of segments is certain: SACK is in use, or nothing was lost.
    pub(super) in_order: bool,
}

impl AccEcn {
    /// Updates the bytes that the peer reports after `bytes` more were delivered; returns whether they show how many
    /// were marked (`tcp_accecn_process_option`). `sent`: bytes sent so far.
    pub(super) fn take_option(&mut self, option: Option<AccEcnOption>, bytes: u32, sent: u64) -> bool {
        if self.failed & OPTION_RECEIVE != 0 {
            return false;
        }
        let Some(option) = option else {
            if self.seen == Seen::Nothing {
                if sent >= TOO_LATE {
                    self.see(Seen::Failure);
                }
                return false;
            }
            if let Some(index) = self.growing {
                self.reported_bytes[index] = self.reported_bytes[index].wrapping_add(bytes);
            }
            return self.growing.is_some();
        };
        if self.seen < Seen::Counters {
            self.see(Seen::first(option));
        }
        let expected = self.growing;
        let mut certain = expected.is_some();
        let mut changed = false;
        let mut ambiguous = false;
        let fields = usize::from(option.fields);
        let offsets = OPTION_OFFSETS.iter().enumerate().take(fields);
        for (index, offset) in offsets {
            let counter = &mut self.reported_bytes[index];
            let value = option.counters[index].wrapping_sub(*offset);
            // Difference modulo 2^24, with its sign.
            let delta = ((value.wrapping_sub(*counter) << 8) as i32) >> 8;
            *counter = counter.wrapping_add_signed(delta);
            if delta < 0 {
                certain = false;
                ambiguous = true;
            }
            if delta != 0 && expected != Some(index) {
                if changed {
                    certain = false;
                    ambiguous = true;
                } else {
                    self.growing = Some(index);
                    changed = true;
                }
            }
        }
        if ambiguous {
            self.growing = None;
        }
        certain
    }

    pub(super) fn note_acked(&mut self, delivered: u32) {
        if delivered == 0 {
            return;
        }
        let sample = delivered << MEAN_SHIFT;
        self.mean_acked = match self.mean_acked {
            0 => sample,
            mean => ((mean << MEAN_SHIFT) - mean + sample) >> MEAN_SHIFT,
        }
        .min(0xffff);
    }

    /// Number of marks that an ACE field of `ace` reports when `delivered` segments with `bytes` bytes were delivered,
    /// of which the option says, if `counted`, that `marked_bytes` were marked (`__tcp_accecn_process`).
    ///
    /// Among more than 7 segments, the counter may have wrapped. Unless the option or acknowledgements that are
    /// aggregated anyway speak against it, the largest number possible is taken (RFC 9768, section 3.2.2.5).
    pub(super) fn resolve(&self, ace: u8, delivery: &Delivery, counted: bool, marked_bytes: u32) -> u32 {
        let corrected = u32::from(ace).wrapping_sub(ACE_OFFSET);
        let delta = corrected.wrapping_sub(self.reported) & ACE_MASK;
        let delivered = delivery.segments;
        if delivered <= ACE_MASK {
            return delta;
        }
        let largest = delivered - (delivered.wrapping_sub(delta) & ACE_MASK);
        if !counted {
            return match self.mean_acked > AGGREGATED {
                true => delta,
                false => largest,
            };
        }
        if marked_bytes == 0 {
            return delta;
        }
        if delivered >= 2 * (ACE_MASK + 1) && delivery.in_order {
            if delivery.bytes <= marked_bytes {
                return largest;
            }
            let marked = u64::from(marked_bytes) * u64::from(delivered);
            let estimate = marked.div_ceil(u64::from(delivery.bytes)) as u32;
            return largest.min(delta + (estimate & !ACE_MASK));
        }
        let (marked, mss) = (u64::from(marked_bytes), u64::from(delivery.mss));
        if marked > u64::from(delta) * mss {
            return largest;
        }
        if marked < u64::from(largest) * mss / 2 {
            return delta;
        }
        largest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accecn::Field;

    fn delivery(segments: u32) -> Delivery {
        Delivery { segments, bytes: segments * 1436, mss: 1448, in_order: true }
    }

    fn option(counters: [u32; 3]) -> Option<AccEcnOption> {
        Some(AccEcnOption { fields: 3, counters })
    }

    /// RFC 9768, section 3.2.2.5: an acknowledgement of few segments has an exact count, whatever it wraps.
    #[test]
    fn few_segments_are_counted_exactly() {
        let mut state = AccEcn::new(Field::Not);
        for reported in 0..20 {
            state.reported = reported;
            for marks in 0..=7 {
                let ace = ((5 + reported + marks) & 7) as u8;
                assert_eq!(state.resolve(ace, &delivery(7), false, 0), marks);
            }
        }
    }

    /// Among 20 segments a counter that grew by 3 modulo 8 stands for 3, 11 or 19 marks.
    #[test]
    fn many_segments_are_resolved_by_the_option_or_to_the_safe_side() {
        let mut state = AccEcn::new(Field::Not);
        let mut marks = |delivery: Delivery, counted, bytes| {
            state.mean_acked = 2 << MEAN_SHIFT;
            state.resolve(0, &delivery, counted, bytes)
        };
        assert_eq!(marks(delivery(20), false, 0), 19);
        assert_eq!(marks(delivery(20), true, 0), 3);
        for expected in [3, 11, 19] {
            assert_eq!(marks(delivery(20), true, expected * 1436), expected);
        }
        // Too few for an estimate: 3 or 11 of 12.
        for expected in [3, 11] {
            assert_eq!(marks(delivery(12), true, expected * 1436), expected);
        }
        let lossy = Delivery { in_order: false, ..delivery(20) };
        assert_eq!(marks(lossy, true, 3 * 1436), 3);
        assert_eq!(marks(lossy, true, 19 * 1436), 19);
        // Acknowledgements that always cover many segments are no sign of loss.
        state.mean_acked = 5 << MEAN_SHIFT;
        assert_eq!(state.resolve(0, &delivery(20), false, 0), 3);
    }

    #[test]
    fn the_mean_follows_what_acknowledgements_cover() {
        let mut state = AccEcn::new(Field::Not);
        state.note_acked(2);
        assert_eq!(state.mean_acked, 128);
        for _ in 0..1000 {
            state.note_acked(0);
            state.note_acked(10);
        }
        assert!((570..=640).contains(&state.mean_acked), "{}", state.mean_acked);
        state.note_acked(u32::MAX >> 8);
        assert_eq!(state.mean_acked, 0xffff);
    }

    /// Counters of 24 bits are continued beyond their wrap, and they are certain only while one of them grows.
    #[test]
    fn counters_of_bytes_wrap_and_may_contradict_each_other() {
        let mut state = AccEcn::new(Field::Not);
        assert!(!state.take_option(option([1, 0, 1]), 0, 1));
        assert_eq!(state.seen, Seen::Counters);
        // ECT(0) grows from here on, beyond 2^24.
        let step = 1 << 20;
        assert!(!state.take_option(option([1, 0, 1 + step]), step, 1));
        for n in 2..20 {
            let value = (1 + n * step) & 0xff_ffff;
            assert!(state.take_option(option([1, 0, value]), step, 1));
        }
        assert_eq!(state.reported_bytes, [0, 0, 19 * step]);
        // Without an option it is taken to grow by what was delivered.
        assert!(state.take_option(None, 100, 1));
        assert_eq!(state.reported_bytes[2], 19 * step + 100);
        // The first marks: from here on CE is expected to grow.
        let value = (1 + 20 * step) & 0xff_ffff;
        assert!(state.take_option(option([1, 1436, value]), 100, 1));
        assert_eq!((state.growing, state.reported_bytes[CE]), (Some(CE), 1436));
        // Two counters that were not expected to.
        assert!(!state.take_option(option([2, 1436, value + 1]), 100, 1));
        assert_eq!(state.growing, None);
        // A counter that falls.
        assert!(!state.take_option(option([1, 1000, value]), 100, 1));
        assert_eq!(state.growing, None);
    }

    #[test]
    fn an_option_that_was_zeroed_or_comes_too_late_is_not_read() {
        let mut zeroed = AccEcn::new(Field::Not);
        zeroed.take_option(option([0, 0, 0]), 0, 1);
        assert_eq!((zeroed.seen, zeroed.failed), (Seen::Failure, OPTION_RECEIVE));
        let mut late = AccEcn::new(Field::Not);
        late.take_option(None, 0, TOO_LATE - 1);
        assert_eq!(late.seen, Seen::Nothing);
        late.take_option(None, 0, TOO_LATE);
        assert_eq!((late.seen, late.failed), (Seen::Failure, OPTION_RECEIVE));
    }
}
