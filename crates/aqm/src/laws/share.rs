//! Limits on the bytes that handshake packets may take from waiting data, against floods of SYNs.
//!
//! Two token buckets. Every packet of L bytes that is sent earns L·share tokens, and a handshake packet of L bytes that finds
//! packets waiting costs L·100. As long as the first bucket has tokens, a handshake packet goes first. Beyond that it is
//! data, and earns and costs in the second bucket, in which handshakes may have half of the rest. Beyond that it is refused.
//! So a flood that takes no more of the link than that costs no handshake, and data keeps half of the rest whatever arrives.
//! Handshakes of real traffic never empty the first bucket. An empty queue takes every packet.

use crate::plumbing::options::{Kind, OptionSpec};

pub(crate) const SHARE: OptionSpec = OptionSpec {
    name: "share",
    kind: Kind::Count(1, 100),
    default: Some("25"),
    help: "percentage of the bytes that handshake packets may take first while packets wait, beyond a burst of 15140 bytes; more of them queue as data, up to half of the rest; 100: no limit, as published",
};

/// Burst of handshake packets in bytes while packets wait: ten full frames, the initial window of RFC 6928.
const BURST: i64 = 15_140;

/// Tokens for a byte: percentages come in halves.
const WHOLE: i64 = 200;
const FULL: i64 = BURST * WHOLE;

/// Where a handshake packet goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Admission {
    First,
    AsData,
    Refused,
}

/// Token buckets of handshake packets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PriorityShare {
    percent: i64,
    /// Tokens for packets that go first, and for all handshake packets; up to a packet below zero.
    first: i64,
    all: i64,
}

impl PriorityShare {
    /// Full buckets for a share of `percent`, 1 to 100.
    pub(crate) fn new(percent: u8) -> PriorityShare {
        PriorityShare { percent: i64::from(percent.clamp(1, 100)), first: FULL, all: FULL }
    }

    /// True if the share is below 100 %.
    pub(crate) fn is_limited(&self) -> bool {
        self.percent < 100
    }

    /// Where a handshake packet of `bytes` goes, which finds packets waiting or not. One that finds none takes nothing from
    /// another packet: it goes first and costs nothing, also with empty buckets, as nothing else might ever fill them.
    pub(crate) fn admit(&mut self, bytes: u32, waiting: bool) -> Admission {
        let cost = i64::from(bytes) * WHOLE;
        if !waiting || !self.is_limited() {
            Admission::First
        } else if self.first > 0 {
            self.first -= cost;
            self.all -= cost;
            Admission::First
        } else if self.all > 0 {
            self.all -= cost;
            Admission::AsData
        } else {
            Admission::Refused
        }
    }

    /// Adds the tokens that a packet of `bytes` earns when it is sent.
    pub(crate) fn on_sent(&mut self, bytes: u32) {
        let bytes = i64::from(bytes);
        self.first = FULL.min(self.first + bytes * 2 * self.percent);
        self.all = FULL.min(self.all + bytes * (100 + self.percent));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_then_the_share_first_and_half_of_the_rest_as_data() {
        let mut share = PriorityShare::new(25);
        let mut sent = 0;
        while share.admit(74, true) == Admission::First {
            sent += 74;
        }
        assert_eq!(sent, 205 * 74);
        let (mut first, mut as_data) = (0, 0);
        for _ in 0..1000 {
            share.on_sent(1514);
            loop {
                match share.admit(74, true) {
                    Admission::First => first += 74,
                    Admission::AsData => as_data += 74,
                    Admission::Refused => break,
                }
            }
        }
        assert!((378_500_i64 - first).abs() < 200, "{first}");
        assert!((567_750_i64 - as_data).abs() < 200, "{as_data}");
    }

    #[test]
    fn tokens_are_not_saved_beyond_the_burst() {
        let mut share = PriorityShare::new(50);
        for _ in 0..1000 {
            share.on_sent(1514);
        }
        assert_eq!(share.admit(BURST as u32 - 1, true), Admission::First);
        assert_eq!(share.admit(1, true), Admission::First);
        assert_eq!(share.admit(1, true), Admission::Refused);
    }

    #[test]
    fn a_packet_that_finds_nothing_waiting_costs_nothing() {
        let mut share = PriorityShare::new(1);
        for _ in 0..1000 {
            assert_eq!(share.admit(1514, false), Admission::First);
        }
    }

    #[test]
    fn with_empty_buckets_too_a_packet_that_finds_nothing_waiting_goes_first() {
        let mut share = PriorityShare::new(25);
        while share.admit(74, true) != Admission::Refused {}
        assert_eq!(share.admit(74, false), Admission::First);
        assert_eq!(share.admit(74, true), Admission::Refused);
    }

    #[test]
    fn a_hundred_percent_is_no_limit() {
        let mut share = PriorityShare::new(100);
        for _ in 0..2 {
            assert_eq!(share.admit(u32::MAX, true), Admission::First);
        }
    }
}
