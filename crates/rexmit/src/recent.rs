//! Distribution of recent handshake times.

use gentle_units::{Instant, Nanos};
use std::collections::BTreeMap;

/// Handshakes after which a half of the window ends early, so that a busy path forgets sooner: at one handshake per
/// second the window is 8 to 17 minutes long.
const MAX_PER_HALF: u32 = 500;

/// Number of handshakes of which one may exceed [`Recent::tail`]. The share of spurious copies that follows is half of
/// the budget; the other half is for changes of the path.
const ONE_IN: u32 = 100;

/// Handshake times of the current and the previous half of the window: a histogram with eight buckets per octave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Recent {
    current: HalfWindow,
    before: HalfWindow,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct HalfWindow {
    began: Instant,
    total: u32,
    /// Number of handshakes by bucket.
    counts: BTreeMap<u16, u32>,
}

impl HalfWindow {
    fn starting(began: Instant) -> HalfWindow {
        HalfWindow { began, ..HalfWindow::default() }
    }
}

impl Recent {
    /// Creates an empty distribution.
    pub(crate) fn new(now: Instant) -> Recent {
        Recent { current: HalfWindow::starting(now), before: HalfWindow::starting(now) }
    }

    /// Adds a handshake that took `time`; a half older than `window` is dropped.
    pub(crate) fn add(&mut self, now: Instant, time: Nanos, window: Nanos) {
        let since = now.saturating_since(self.current.began);
        if since >= window {
            *self = Recent::new(now);
        } else if since.0 >= window.0 / 2 || self.current.total >= MAX_PER_HALF {
            self.before = std::mem::replace(&mut self.current, HalfWindow::starting(now));
        }
        self.current.total += 1;
        *self.current.counts.entry(bucket(time)).or_default() += 1;
    }

    /// Time that at most one in a hundred handshakes exceeded; with fewer than a hundred handshakes, the longest.
    /// Rounded up to the end of its bucket, by at most an eighth. Zero if there was no handshake.
    pub(crate) fn tail(&self) -> Nanos {
        let mut longer = (self.current.total + self.before.total) / ONE_IN;
        let (current, before) = (&self.current.counts, &self.before.counts);
        let (mut current, mut before) = (current.iter().rev(), before.iter().rev());
        let (mut a, mut b) = (current.next(), before.next());
        loop {
            let (at, count) = match (a, b) {
                (Some(x), Some(y)) if x.0 < y.0 => {
                    b = before.next();
                    y
                }
                (Some(x), _) => {
                    a = current.next();
                    x
                }
                (None, Some(y)) => {
                    b = before.next();
                    y
                }
                (None, None) => return Nanos::ZERO,
            };
            match longer.checked_sub(*count) {
                Some(rest) => longer = rest,
                None => return end(*at),
            }
        }
    }

    /// Lower bound of the shortest handshake time; `None` if there was no handshake.
    pub(crate) fn shortest(&self) -> Option<Nanos> {
        let first = |half: &HalfWindow| half.counts.keys().next().copied();
        [first(&self.current), first(&self.before)].into_iter().flatten().min().map(start)
    }
}

/// Base-2 logarithm of the number of buckets per octave.
const STEPS: u32 = 3;

/// Bucket of a time: the four highest bits of its value in microseconds, and their position. Times below 8 us share a
/// bucket.
fn bucket(time: Nanos) -> u16 {
    let us = time.as_micros().max(1 << STEPS);
    let shift = us.ilog2() - STEPS;
    let step = (us >> shift) as u16 - (1 << STEPS);
    ((shift as u16) << STEPS) + step
}

fn start(bucket: u16) -> Nanos {
    let (shift, step) = (bucket >> STEPS, bucket & ((1 << STEPS) - 1));
    let us = (u64::from(step) + (1 << STEPS)) << shift;
    Nanos(us.saturating_mul(1_000))
}

fn end(bucket: u16) -> Nanos {
    start(bucket + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HOUR: Nanos = Nanos::from_secs(3_600);
    const MS: fn(u64) -> Nanos = Nanos::from_millis;

    #[test]
    fn one_in_a_hundred_may_take_longer() {
        let mut recent = Recent::new(Instant::ZERO);
        assert_eq!((recent.tail(), recent.shortest()), (Nanos::ZERO, None));
        recent.add(Instant::ZERO, MS(700), HOUR);
        for _ in 0..98 {
            recent.add(Instant::ZERO, MS(20), HOUR);
        }
        assert!(recent.tail() >= MS(700));
        recent.add(Instant::ZERO, MS(20), HOUR);
        assert!((MS(20)..MS(23)).contains(&recent.tail()));
        let shortest = recent.shortest().expect("there were some");
        assert!((MS(17)..=MS(20)).contains(&shortest), "{shortest}");
    }

    #[test]
    fn what_is_old_is_forgotten() {
        let mut recent = Recent::new(Instant::ZERO);
        recent.add(Instant::ZERO, MS(700), HOUR);
        for minute in 0..45 {
            recent.add(Instant::from_secs(60 * minute), MS(20), HOUR);
        }
        assert!(recent.tail() >= MS(700));
        recent.add(Instant::from_secs(61 * 60), MS(20), HOUR);
        assert!(recent.tail() < MS(23));
    }

    #[test]
    fn a_busy_path_forgets_sooner() {
        let mut recent = Recent::new(Instant::ZERO);
        for _ in 0..20 {
            recent.add(Instant::ZERO, MS(200), HOUR);
        }
        for _ in 0..2 * MAX_PER_HALF {
            recent.add(Instant::ZERO, MS(20), HOUR);
        }
        assert!(recent.tail() < MS(23), "{}", recent.tail());
    }

    proptest! {
        #[test]
        fn a_time_is_within_its_bucket(us in 8..u64::MAX / 2_000) {
            let time = Nanos(us * 1_000);
            let (start, end) = (start(bucket(time)), end(bucket(time)));
            prop_assert!(start <= time && time < end);
            prop_assert!(end.0 - start.0 <= time.0 / 8);
        }
    }
}
