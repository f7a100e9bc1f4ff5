//! Detection of token-bucket policers by BBR ("long-term" sampling, `bbr_lt_bw_sampling` of `net/ipv4/tcp_bbr.c`; see
//! Flach et al., "An Internet-Wide Analysis of Traffic Policing", SIGCOMM 2016).
//!
//! Two intervals between losses, in each of which a fifth of the segments was lost, at about the same rate of delivery:
//! a policer limits the connection to this rate.

use super::bbr::{GAIN_ONE, RATE_ONE, bytes_per_second};

/// Round trips of an interval, at least and at most.
const LEAST_ROUNDS: u8 = 4;
const MOST_ROUNDS: u8 = 4 * LEAST_ROUNDS;
/// Least ratio of lost to delivered segments, in 1/256.
const LOSSY: u64 = 50;
/// Two rates are the same if they differ by an eighth at most, or by this many bytes per second.
const RATE_RATIO: u64 = GAIN_ONE / 8;
const RATE_DIFFERENCE: u64 = 4000 / 8;
/// Round trips for which the rate of the policer is used.
const USED_ROUNDS: u8 = 48;

/// Counters of the connection when an interval ends.
pub(super) struct Interval {
    /// Time of the last delivery, ms.
    pub(super) at_ms: u64,
    /// Segments delivered and marked lost over the life of the connection.
    pub(super) delivered: u32,
    pub(super) lost: u32,
    pub(super) mss: u32,
}

/// State of the detection.
#[derive(Debug, Clone, Default)]
pub(super) struct Policer {
    samples: bool,
    found: bool,
    /// Rate of the last interval or, once found, of the policer; 0: none.
    rate: u32,
    rounds: u8,
    start_ms: u64,
    start_delivered: u32,
    start_lost: u32,
}

impl Policer {
    /// Rate of the policer, if one was found.
    pub(super) fn rate(&self) -> Option<u32> {
        self.found.then_some(self.rate)
    }

    /// Counts a round trip at the policer's rate; returns whether to look for more bandwidth again.
    pub(super) fn gives_up(&mut self) -> bool {
        self.rounds += 1;
        self.rounds >= USED_ROUNDS
    }

    fn begin(&mut self, now: &Interval) {
        self.start_ms = now.at_ms;
        self.start_delivered = now.delivered;
        self.start_lost = now.lost;
        self.rounds = 0;
    }

    /// Takes the state after an acknowledgement that proved `lost` segments lost; returns whether a policer was found.
    pub(super) fn sample(&mut self, now: &Interval, lost: u32, round_start: bool, app_limited: bool) -> bool {
        if !self.samples {
            // The first loss shows that the tokens are used up.
            if lost == 0 {
                return false;
            }
            self.begin(now);
            self.samples = true;
        }
        if app_limited {
            *self = Policer::default();
            return false;
        }
        self.rounds += u8::from(round_start);
        if self.rounds < LEAST_ROUNDS {
            return false;
        }
        if self.rounds > MOST_ROUNDS {
            *self = Policer::default();
            return false;
        }
        if lost == 0 {
            return false;
        }
        let delivered = u64::from(now.delivered.wrapping_sub(self.start_delivered));
        let lost = u64::from(now.lost.wrapping_sub(self.start_lost));
        if delivered == 0 || lost * GAIN_ONE < LOSSY * delivered {
            return false;
        }
        let elapsed_ms = now.at_ms.saturating_sub(self.start_ms);
        if elapsed_ms < 1 {
            return false;
        }
        let rate = delivered * RATE_ONE / (elapsed_ms * 1000);
        self.compare(now, rate.min(u64::from(u32::MAX)) as u32)
    }

    /// Ends an interval with this rate.
    fn compare(&mut self, now: &Interval, rate: u32) -> bool {
        if self.rate > 0 {
            let difference = u64::from(rate.abs_diff(self.rate));
            if difference * GAIN_ONE <= RATE_RATIO * u64::from(self.rate)
                || bytes_per_second(difference, GAIN_ONE, now.mss) <= RATE_DIFFERENCE
            {
                self.rate = ((u64::from(rate) + u64::from(self.rate)) / 2) as u32;
                self.found = true;
                self.rounds = 0;
                return true;
            }
        }
        self.rate = rate;
        self.begin(now);
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Intervals of five round trips of 100 ms, in each of which `delivered` segments arrive and `lost` are lost.
    fn found_after(intervals: &[(u32, u32)]) -> Option<usize> {
        let mut policer = Policer::default();
        let mut now = Interval { at_ms: 1000, delivered: 100, lost: 5, mss: 1448 };
        policer.sample(&now, 5, true, false);
        for (n, (delivered, lost)) in intervals.iter().enumerate() {
            for round in 0..5 {
                now.at_ms += 100;
                now.delivered += delivered / 5;
                now.lost += lost / 5;
                if policer.sample(&now, lost / 5, true, false) && round < 5 {
                    return Some(n);
                }
            }
        }
        None
    }

    #[test]
    fn two_lossy_intervals_at_one_rate_are_a_policer() {
        assert_eq!(found_after(&[(500, 150), (510, 150), (500, 150)]), Some(1));
        assert_eq!(found_after(&[(500, 50), (500, 50), (500, 50)]), None, "too few losses");
        assert_eq!(found_after(&[(250, 100), (500, 150), (1000, 300)]), None, "rates differ");
    }

    #[test]
    fn its_rate_is_used_for_a_while() {
        let mut policer = Policer { found: true, rate: 1000, ..Policer::default() };
        assert_eq!(policer.rate(), Some(1000));
        let rounds = (1..).find(|_| policer.gives_up());
        assert_eq!(rounds, Some(48));
    }
}
