//! Compression of selective acknowledgements: while data is missing, one for several segments (`__tcp_ack_snd_check` of
//! `net/ipv4/tcp_input.c`).

use gentle_units::Nanos;

/// Acknowledgements of a hole that are sent at once (`TCP_FASTRETRANS_THRESH`).
const AT_ONCE: u32 = 3;
/// Segments that one acknowledgement is for at most (`net.ipv4.tcp_comp_sack_nr`).
const MOST: u32 = 44;
/// Longest delay (`net.ipv4.tcp_comp_sack_delay_ns`), what the timer may add (`tcp_comp_sack_slack_ns`), and the
/// percentage of a round trip that the delay is otherwise (`tcp_comp_sack_rtt_percent`).
const LONGEST: Nanos = Nanos::from_millis(1);
const SLACK: Nanos = Nanos::from_micros(10);
const RTT_PERCENT: u64 = 33;

/// Acknowledgements of the data behind a hole.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Compression {
    /// Whether the segment being processed is behind the hole.
    pending: bool,
    /// Next position expected, where the hole begins.
    start: u64,
    /// Acknowledgements sent at once (`dup_ack_counter`).
    at_once: u32,
    /// Segments whose acknowledgement waits (`compressed_ack`).
    waiting: u32,
}

impl Compression {
    /// Accounts for a segment that arrived while data is missing from `start` on.
    pub(crate) fn arrived(&mut self, start: u64) {
        self.pending = true;
        if self.start != start {
            self.start = start;
            self.at_once = 0;
        }
    }

    /// Whether the acknowledgement of the segment being processed may wait ([`delay`](Compression::delay)).
    #[inline]
    pub(crate) fn is_pending(&self) -> bool {
        self.pending
    }

    /// Delay of the acknowledgement of the segment being processed, with round-trip time `rtt`; `None`: it is sent at
    /// once.
    pub(crate) fn delay(&mut self, rtt: Nanos) -> Option<Nanos> {
        self.pending = false;
        if self.waiting >= MOST {
            return None;
        }
        if self.at_once < AT_ONCE {
            self.at_once += 1;
            return None;
        }
        self.waiting += 1;
        Some(Nanos(rtt.0 / 100 * RTT_PERCENT).min(LONGEST) + SLACK)
    }

    /// Whether an acknowledgement waits.
    pub(crate) fn is_waiting(&self) -> bool {
        self.waiting > 0
    }

    /// Accounts for an acknowledgement that was sent.
    pub(crate) fn sent(&mut self) {
        self.pending = false;
        self.waiting = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fourth_acknowledgement_of_a_hole_waits_for_a_millisecond_or_a_third_of_a_round_trip() {
        let mut hole = Compression::default();
        let mut next = |start, rtt| {
            hole.arrived(start);
            let delay = hole.delay(rtt);
            if delay.is_none() {
                hole.sent();
            }
            delay
        };
        let ms = Nanos::from_millis;
        for _ in 0..3 {
            assert_eq!(next(1, ms(50)), None);
        }
        assert_eq!(next(1, ms(50)), Some(Nanos::from_micros(1_010)));
        assert_eq!(next(1, ms(2)), Some(Nanos::from_micros(670)));
        for _ in 2..44 {
            assert!(next(1, ms(50)).is_some());
        }
        assert_eq!(next(1, ms(50)), None);
        assert!(next(1, ms(50)).is_some());
        // Another hole starts over.
        assert_eq!(next(1449, ms(50)), None);
    }
}
