//! Transmission over a link whose rate follows a recording.

use gentle_experiment::{OPPORTUNITY, RateTrace};
use gentle_units::Instant;
use std::sync::Arc;

/// Place in a [`RateTrace`]. The rest of an opportunity is for packets that wait at that moment; nothing is saved up.
pub(crate) struct Opportunities {
    trace: Arc<RateTrace>,
    /// Next opportunity.
    next: u64,
    /// Time of the last opportunity that was used, and what it has left, bytes.
    at: Instant,
    left: u32,
}

impl Opportunities {
    pub(crate) fn new(trace: Arc<RateTrace>) -> Opportunities {
        Opportunities { trace, next: 0, at: Instant::ZERO, left: 0 }
    }

    /// The next opportunity to begin with a packet at `now` or later.
    pub(crate) fn next_from(&mut self, now: Instant) -> Instant {
        if self.at == now && self.left > 0 {
            return now;
        }
        if self.trace.at(self.next) < now {
            self.next = self.trace.first_from(now);
        }
        self.trace.at(self.next)
    }

    /// When a packet of so many bytes, whose transmission begins at `now`, has been sent. `carried` learns how many bytes
    /// leave when.
    pub(crate) fn send(&mut self, now: Instant, bytes: u32, mut carried: impl FnMut(Instant, u32)) -> Instant {
        if self.at < now {
            self.left = 0;
            self.next_from(now);
        }
        let mut needed = bytes;
        loop {
            let taken = needed.min(self.left);
            carried(self.at, taken);
            self.left -= taken;
            needed -= taken;
            if needed == 0 {
                return self.at;
            }
            self.at = self.trace.at(self.next);
            self.next += 1;
            self.left = OPPORTUNITY;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_share_opportunities_and_take_several() {
        let trace = RateTrace::parse("5\n10\n10\n20\n").unwrap();
        let mut link = Opportunities::new(Arc::new(trace));
        let ms = Instant::from_millis;
        let mut used = Vec::new();
        let mut send = |at: Instant, bytes: u32| link.send(at, bytes, |at, bytes| used.push((at, bytes)));
        assert_eq!(send(ms(0), 1_000), ms(5));
        // The rest of an opportunity serves packets that wait at that moment, not packets that come later.
        assert_eq!(send(ms(5), 504), ms(5));
        assert_eq!(send(ms(5), 4), ms(10));
        assert_eq!(send(ms(10), 1_500), ms(10));
        assert_eq!(send(ms(10), 1_504), ms(10));
        assert_eq!(send(ms(11), 1), ms(20));
        assert_eq!(send(ms(21), 2_000), ms(30));
        // The packet takes the rest of the opportunity at 30 ms, and those at 30, 40, 45, 50, 50, 60, 65, 70 and 70 ms.
        assert_eq!(send(ms(30), 9 * 1_504), ms(70));
        assert!(used.is_sorted_by_key(|(at, _)| *at));
        let at = |time: u64| -> u32 {
            let used = used.iter().filter(|(at, _)| *at == ms(time));
            used.map(|(_, bytes)| bytes).sum()
        };
        assert_eq!([5, 10, 20, 30, 40, 50, 70].map(at), [1_504, 3_008, 1, 3_008, 1_504, 3_008, 1_504 + 496]);
        assert_eq!(link.next_from(ms(70)), ms(70));
        assert_eq!(link.next_from(ms(71)), ms(80));
    }
}
