//! Transmission over a link whose rate follows a recording.

use gentle_experiment::{OPPORTUNITY, RateTrace};
use gentle_units::Nanos;
use std::sync::Arc;

/// Place in a [`RateTrace`]. The rest of an opportunity is for packets that wait at that moment; nothing is saved up.
pub(crate) struct Opportunities {
    trace: Arc<RateTrace>,
    /// Next opportunity.
    next: u64,
    /// Time of the last opportunity that was used, and what it has left, bytes.
    at: Nanos,
    left: u32,
}

impl Opportunities {
    pub(crate) fn new(trace: Arc<RateTrace>) -> Opportunities {
        Opportunities {
            trace,
            next: 0,
            at: Nanos::ZERO,
            left: 0,
        }
    }

    /// When a packet of so many bytes, whose transmission begins at `now`, has been sent.
    pub(crate) fn send(&mut self, now: Nanos, bytes: u32) -> Nanos {
        if self.at < now {
            self.left = 0;
            self.next = self.next.max(self.trace.first_from(now));
        }
        let mut needed = bytes;
        while needed > self.left {
            needed -= self.left;
            self.at = self.trace.at(self.next);
            self.next += 1;
            self.left = OPPORTUNITY;
        }
        self.left -= needed;
        self.at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_share_opportunities_and_take_several() {
        let trace = RateTrace::parse("5\n10\n10\n20\n").unwrap();
        let mut link = Opportunities::new(Arc::new(trace));
        let ms = Nanos::from_millis;
        assert_eq!(link.send(ms(0), 1_000), ms(5));
        // The rest of an opportunity serves packets that wait at that moment, not packets that come later.
        assert_eq!(link.send(ms(5), 504), ms(5));
        assert_eq!(link.send(ms(5), 4), ms(10));
        assert_eq!(link.send(ms(10), 1_500), ms(10));
        assert_eq!(link.send(ms(10), 1_504), ms(10));
        assert_eq!(link.send(ms(11), 1), ms(20));
        assert_eq!(link.send(ms(21), 2_000), ms(30));
        // The packet takes the rest of the opportunity at 30 ms, and those at 30, 40, 45, 50, 50, 60, 65, 70 and 70 ms.
        assert_eq!(link.send(ms(30), 9 * 1_504), ms(70));
    }
}
