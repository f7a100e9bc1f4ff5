//! Recent connect times of an address without loss.

use std::collections::VecDeque;
use std::time::Duration;

/// Number of connect times kept.
const KEPT: usize = 64;

/// Fastest and slowest of the recent connects to an address that lost nothing and retransmitted nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recent {
    /// Shortest connect time.
    pub fastest: Duration,
    /// Longest connect time.
    pub slowest: Duration,
}

/// The last 64 connect times without loss.
#[derive(Debug, Default)]
pub(crate) struct RecentTimes(VecDeque<Duration>);

impl RecentTimes {
    pub(crate) fn add(&mut self, time: Duration) {
        if self.0.len() == KEPT {
            self.0.pop_front();
        }
        self.0.push_back(time);
    }

    /// Fastest and slowest time; `None` before the first.
    pub(crate) fn range(&self) -> Option<Recent> {
        Some(Recent { fastest: *self.0.iter().min()?, slowest: *self.0.iter().max()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_times_are_replaced() {
        let mut times = RecentTimes::default();
        assert_eq!(times.range(), None);
        for ms in 1..=100 {
            times.add(Duration::from_millis(ms));
        }
        let range = times.range().expect("times");
        assert_eq!((range.fastest.as_millis(), range.slowest.as_millis()), (37, 100));
    }
}
