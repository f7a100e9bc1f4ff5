//! A bound on what a priority queue may take from the queue behind it, so that a flood of SYNs cannot starve data.
//!
//! A bucket of credit: while data waits, a packet of priority of L bytes costs L·(100 − share), and a packet of data of
//! L bytes earns L·share. Priority is first while there is credit. So over any time in which data always waits, priority
//! sends at most `share` percent of all bytes, and [`BURST`] once. Handshakes of real traffic never use it up.

use crate::plumbing::options::{Kind, OptionSpec};

pub(crate) const SHARE: OptionSpec = OptionSpec {
    name: "share",
    kind: Kind::Count(1, 100),
    default: Some("25"),
    help: "percent of the bytes that the priority queue may send while data waits, beyond a burst of 15140 bytes; 100: no bound, as published",
};

/// Bytes that priority may send at once while data waits: ten full frames, an initial window of RFC 6928.
const BURST: i64 = 15_140;

/// The credit of a priority queue.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Share {
    percent: i64,
    /// In hundredths of a byte; up to a packet below zero.
    credit: i64,
}

impl Share {
    /// Full credit, for `percent` between 1 and 100.
    pub(crate) fn new(percent: u8) -> Share {
        let percent = i64::from(percent.clamp(1, 100));
        Share {
            percent,
            credit: BURST * (100 - percent),
        }
    }

    /// Whether there is a bound.
    pub(crate) fn is_bounded(&self) -> bool {
        self.percent < 100
    }

    /// Whether data that waits goes before packets of priority.
    pub(crate) fn is_used_up(&self) -> bool {
        self.credit <= 0 && self.is_bounded()
    }

    /// Priority sends `bytes` while data waits.
    pub(crate) fn priority_sends(&mut self, bytes: u32) {
        self.credit -= i64::from(bytes) * (100 - self.percent);
    }

    /// Data sends `bytes`.
    pub(crate) fn data_sends(&mut self, bytes: u32) {
        let max = BURST * (100 - self.percent);
        self.credit = max.min(self.credit + i64::from(bytes) * self.percent);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_then_as_much_as_data_earns() {
        let mut share = Share::new(25);
        let mut sent = 0;
        while !share.is_used_up() {
            share.priority_sends(74);
            sent += 74;
        }
        assert_eq!(sent, 205 * 74);
        // 1514 bytes of data earn a third of that in priority.
        let mut priority = 0;
        for _ in 0..1000 {
            share.data_sends(1514);
            while !share.is_used_up() {
                share.priority_sends(74);
                priority += 74;
            }
        }
        let expected = 1_514_000 / 3;
        assert!((priority - expected as i64).abs() < 200, "{priority}");
    }

    #[test]
    fn credit_is_not_saved_beyond_the_burst() {
        let mut share = Share::new(50);
        for _ in 0..1000 {
            share.data_sends(1514);
        }
        share.priority_sends(BURST as u32 - 1);
        assert!(!share.is_used_up());
        share.priority_sends(1);
        assert!(share.is_used_up());
    }

    #[test]
    fn a_hundred_percent_is_no_bound() {
        let mut share = Share::new(100);
        share.priority_sends(u32::MAX);
        assert!(!share.is_used_up());
    }
}
