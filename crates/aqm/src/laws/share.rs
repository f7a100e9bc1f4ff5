//! Limit on the share of bytes that a priority queue may take from the queue below it, against floods of SYNs.
//!
//! A token bucket: while data waits, a priority packet of L bytes costs L·(100 − share) tokens and a data packet of L
//! bytes earns L·share. Priority packets go first while the bucket is not empty. In any period in which data always
//! waits, priority packets therefore take at most `share` percent of all bytes plus one [`BURST`]. Handshakes of real
//! traffic never empty the bucket.

use crate::plumbing::options::{Kind, OptionSpec};

pub(crate) const SHARE: OptionSpec = OptionSpec {
    name: "share",
    kind: Kind::Count(1, 100),
    default: Some("25"),
    help: "percentage of the bytes that the priority queue may send while data waits, beyond a burst of 15140 bytes; 100: no limit, as published",
};

/// Burst of priority packets in bytes while data waits: ten full frames, the initial window of RFC 6928.
const BURST: i64 = 15_140;

/// Token bucket of a priority queue.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PriorityShare {
    percent: i64,
    /// Tokens in hundredths of a byte; up to a packet below zero.
    credit: i64,
}

impl PriorityShare {
    /// A full bucket for a share of `percent`, 1 to 100.
    pub(crate) fn new(percent: u8) -> PriorityShare {
        let percent = i64::from(percent.clamp(1, 100));
        PriorityShare {
            percent,
            credit: BURST * (100 - percent),
        }
    }

    /// True if the share is below 100 %.
    pub(crate) fn is_limited(&self) -> bool {
        self.percent < 100
    }

    /// True if waiting data goes before priority packets.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.credit <= 0 && self.is_limited()
    }

    /// Charges for a priority packet of `bytes` sent while data waits.
    pub(crate) fn on_priority_sent(&mut self, bytes: u32) {
        self.credit -= i64::from(bytes) * (100 - self.percent);
    }

    /// Adds the tokens that a data packet of `bytes` earns.
    pub(crate) fn on_data_sent(&mut self, bytes: u32) {
        let max = BURST * (100 - self.percent);
        self.credit = max.min(self.credit + i64::from(bytes) * self.percent);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_then_as_much_as_data_earns() {
        let mut share = PriorityShare::new(25);
        let mut sent = 0;
        while !share.is_exhausted() {
            share.on_priority_sent(74);
            sent += 74;
        }
        assert_eq!(sent, 205 * 74);
        // 1514 bytes of data earn a third of that in priority.
        let mut priority = 0;
        for _ in 0..1000 {
            share.on_data_sent(1514);
            while !share.is_exhausted() {
                share.on_priority_sent(74);
                priority += 74;
            }
        }
        let expected = 1_514_000 / 3;
        assert!((priority - expected as i64).abs() < 200, "{priority}");
    }

    #[test]
    fn credit_is_not_saved_beyond_the_burst() {
        let mut share = PriorityShare::new(50);
        for _ in 0..1000 {
            share.on_data_sent(1514);
        }
        share.on_priority_sent(BURST as u32 - 1);
        assert!(!share.is_exhausted());
        share.on_priority_sent(1);
        assert!(share.is_exhausted());
    }

    #[test]
    fn a_hundred_percent_is_no_bound() {
        let mut share = PriorityShare::new(100);
        share.on_priority_sent(u32::MAX);
        assert!(!share.is_exhausted());
    }
}
