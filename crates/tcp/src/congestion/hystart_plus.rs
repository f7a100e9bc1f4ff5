//! HyStart++: RFC 9406. Growing delay slows slow start down, for as long as it takes to find out whether the path is
//! full; then slow start continues, or congestion avoidance begins.

use super::{Progress, Window};
use crate::profile::Profile;
use gentle_units::Nanos;

/// Constants of RFC 9406, section 4.3.
const MIN_RTT_THRESH: Nanos = Nanos::from_millis(4);
const MAX_RTT_THRESH: Nanos = Nanos::from_millis(16);
const MIN_RTT_DIVISOR: u64 = 8;
const N_RTT_SAMPLE: u32 = 8;
const CSS_GROWTH_DIVISOR: u32 = 4;
const CSS_ROUNDS: u8 = 5;
/// Segments by which one acknowledgement raises the window at most; paced senders have no such limit.
const L: u32 = 8;

/// Conservative slow start (CSS).
#[derive(Debug, Clone, Copy)]
struct Conservative {
    /// Round-trip time above which the path is taken for full.
    baseline: Nanos,
    /// Rounds begun, the one in which it started included.
    rounds: u8,
    /// Segments delivered towards the next increment of the window.
    credit: u32,
}

/// State in the initial slow start of a connection.
#[derive(Debug, Clone)]
pub(crate) struct HyStartPlus {
    limit: u32,
    round_end: u64,
    last_round_min: Nanos,
    round_min: Nanos,
    samples: u32,
    conservative: Option<Conservative>,
}

impl HyStartPlus {
    /// State of a connection of `profile`; `None`: it does without.
    pub(crate) fn new(profile: &Profile) -> Option<Box<HyStartPlus>> {
        let applies = profile.hystart_plus && !profile.congestion_control.is_rate_based();
        applies.then(|| {
            Box::new(HyStartPlus {
                limit: if profile.pacing { u32::MAX } else { L },
                round_end: 0,
                last_round_min: Nanos::MAX,
                round_min: Nanos::MAX,
                samples: 0,
                conservative: None,
            })
        })
    }

    /// Takes the RTT sample of an acknowledgement in slow start; returns whether slow start ends.
    pub(crate) fn ends_slow_start(&mut self, progress: &Progress, rtt: Nanos) -> bool {
        let mut over = false;
        if progress.una > self.round_end {
            self.round_end = progress.nxt;
            self.last_round_min = std::mem::replace(&mut self.round_min, Nanos::MAX);
            self.samples = 0;
            if let Some(css) = &mut self.conservative {
                css.rounds += 1;
                over = css.rounds > CSS_ROUNDS;
            }
        }
        self.round_min = self.round_min.min(rtt);
        self.samples += 1;
        if self.samples < N_RTT_SAMPLE {
            return over;
        }
        match self.conservative {
            Some(css) if self.round_min < css.baseline => self.conservative = None,
            Some(_) => return over,
            None if self.last_round_min != Nanos::MAX => {
                let threshold = Nanos(self.last_round_min.0 / MIN_RTT_DIVISOR).clamp(MIN_RTT_THRESH, MAX_RTT_THRESH);
                if self.round_min >= self.last_round_min + threshold {
                    self.conservative = Some(Conservative { baseline: self.round_min, rounds: 1, credit: 0 });
                }
            }
            None => {}
        }
        false
    }

    /// Segments by which `delivered` ones raise the window in slow start.
    pub(crate) fn growth(&mut self, window: &Window, delivered: u32) -> u32 {
        if !window.in_slow_start() {
            return delivered;
        }
        let most = delivered.min(self.limit);
        match &mut self.conservative {
            None => most,
            Some(css) => {
                css.credit += most;
                let grow = css.credit / CSS_GROWTH_DIVISOR;
                css.credit %= CSS_GROWTH_DIVISOR;
                grow
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gentle_units::Instant;

    fn ms(n: u64) -> Nanos {
        Nanos::from_millis(n)
    }

    /// A connection whose n-th round has ten acknowledgements with the n-th round-trip time; returns the state and the
    /// round in which slow start ended.
    fn rounds(rtts: &[u64]) -> (HyStartPlus, Option<usize>) {
        let profile = Profile { hystart_plus: true, ..Profile::default() };
        let mut state = *HyStartPlus::new(&profile).unwrap();
        for (n, &rtt) in rtts.iter().enumerate() {
            for i in 0..10 {
                let progress =
                    Progress { now: Instant::ZERO, delivered: 1, una: 1 + 10 * n as u64 + i, nxt: 10 * (n as u64 + 1) };
                if state.ends_slow_start(&progress, ms(rtt)) {
                    return (state, Some(n));
                }
            }
        }
        (state, None)
    }

    #[test]
    fn a_rise_of_an_eighth_slows_it_down_for_five_rounds() {
        let (state, ended) = rounds(&[100, 111, 120]);
        assert!(state.conservative.is_none() && ended.is_none());
        let (state, ended) = rounds(&[100, 113]);
        assert!(state.conservative.is_some() && ended.is_none());
        let (_, ended) = rounds(&[100, 113, 113, 113, 113, 113, 113, 113]);
        assert_eq!(ended, Some(6), "the round of the rise and four more");
    }

    #[test]
    fn it_resumes_when_the_delay_falls() {
        let (state, ended) = rounds(&[100, 120, 120, 110]);
        assert!(state.conservative.is_none() && ended.is_none());
    }

    #[test]
    fn growth_is_limited_and_then_quartered() {
        let window = Window { cwnd: 20, credit: 0, ssthresh: u32::MAX };
        let (mut state, _) = rounds(&[100]);
        assert_eq!(state.growth(&window, 20), 8);
        let (mut state, _) = rounds(&[100, 120]);
        let grown: u32 = (0..10).map(|_| state.growth(&window, 2)).sum();
        assert_eq!(grown, 5);
    }
}
