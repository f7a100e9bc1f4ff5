//! Attempts that are listed one by one, in logs and captures: all slow ones, and failed ones as long as they are few.

use gentle_trace::live::Attempt;
use gentle_units::{Instant, Nanos};

/// Time for which a failed attempt occupies the list: 20 per second on average.
const SPACING: Nanos = Nanos::from_millis(50);
/// Number of failed attempts that can be listed at once after a pause.
const BURST: u64 = 1_000;

/// Limit on the failed attempts that are listed. A flood or a scan fails thousands of times per second, which would fill disks
/// and push other attempts out of captures; spoofed connections cannot be completed, so slow attempts need no limit.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    /// Time until which the list is occupied.
    occupied: Instant,
    /// Number of failed attempts that were not listed.
    unlisted: u64,
}

impl Listing {
    /// Whether an attempt decided at `now` is listed.
    pub(crate) fn lists(&mut self, now: Instant, attempt: &Attempt) -> bool {
        if !attempt.has_failed() {
            return attempt.slow;
        }
        let occupied = self.occupied.max(now) + SPACING;
        let fits = occupied <= now + Nanos(SPACING.0 * BURST);
        match fits {
            true => self.occupied = occupied,
            false => self.unlisted += 1,
        }
        fits
    }

    /// Number of failed attempts that were not listed so far.
    pub(crate) fn unlisted(&self) -> u64 {
        self.unlisted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gentle_trace::row::Outcome;

    fn attempt(outcome: Outcome, slow: bool) -> Attempt {
        Attempt {
            time: 0.0,
            client: "192.0.2.1:1024".parse().unwrap(),
            server: "192.0.2.2:80".parse().unwrap(),
            client_name: None,
            name: None,
            outcome,
            slow,
            syns: 1,
            synacks: 0,
            connect_s: None,
            waited_s: 0.0,
            cause: None,
        }
    }

    #[test]
    fn a_flood_is_listed_in_part_and_slow_attempts_always() {
        let (failed, slow) = (attempt(Outcome::Unanswered, false), attempt(Outcome::Succeeded, true));
        let prompt = attempt(Outcome::Succeeded, false);
        let mut listing = Listing::default();
        let start = Instant(1_000_000_000_000);
        // 10,000 per second for 100 s.
        let mut listed = 0;
        for n in 0..1_000_000 {
            let now = start + Nanos::from_micros(100 * n);
            listed += u64::from(listing.lists(now, &failed));
            assert!(listing.lists(now, &slow) && !listing.lists(now, &prompt));
        }
        assert_eq!(listed, 1_000 + 100 * 20 - 1);
        assert_eq!(listing.unlisted(), 1_000_000 - listed);
        // After a pause, a burst is listed again.
        let later = start + Nanos::from_secs(1_000);
        let burst = (0..2_000).filter(|_| listing.lists(later, &failed)).count();
        assert_eq!(burst, 1_000);
    }
}
