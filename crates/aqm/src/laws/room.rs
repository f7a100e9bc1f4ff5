//! A limit in time that adapts to the flows: as short as keeps the link busy.
//!
//! After a drop, flows that fill the queue reduce their windows. If the queue then runs empty, it was too short for them,
//! and the limit grows by half. If it does not within [`REACTION`], it was longer than needed, and the limit shrinks by an
//! eighth. (CUBIC reduces its window by 30 %: Linux, `net/ipv4/tcp_cubic.c`.)

use gentle_units::{Instant, Nanos};

/// Time in which a drop has its effect on the queue: the RTT of most paths, and the queue itself.
const REACTION: Nanos = Nanos::from_millis(500);

/// An adaptive limit in time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Room {
    time: Nanos,
    least: Nanos,
    most: Nanos,
    /// Time at which the effect of a drop is judged; `None`: no drop is waiting for that.
    verdict: Option<Instant>,
}

impl Room {
    /// A limit of `most`, which may shrink to a tenth of that.
    pub(crate) fn new(most: Nanos) -> Room {
        Room {
            time: most,
            least: Nanos(most.0 / 10),
            most,
            verdict: None,
        }
    }

    /// The current limit.
    pub(crate) fn time(&self) -> Nanos {
        self.time
    }

    /// The longest limit.
    pub(crate) fn most(&self) -> Nanos {
        self.most
    }

    /// The queue has dropped a packet, because it was longer than the limit.
    pub(crate) fn overflowed(&mut self, now: Instant) {
        if self.verdict.is_none() {
            self.verdict = Some(now + REACTION);
        }
    }

    /// The queue has run empty. True if the limit changes.
    #[inline]
    pub(crate) fn emptied(&mut self) -> bool {
        self.verdict.take().is_some() && self.grow()
    }

    /// Judges the effect of a drop if it is time to; `reducible` returns whether the queue is filled by flows that last
    /// long enough to react to drops. True if the limit changes.
    #[inline]
    pub(crate) fn judge(&mut self, now: Instant, reducible: impl FnOnce() -> bool) -> bool {
        if self.verdict.is_none_or(|at| now < at) {
            return false;
        }
        self.verdict = None;
        if !reducible() {
            return self.grow();
        }
        let before = self.time;
        self.time = Nanos(before.0 - before.0 / 8).max(self.least);
        self.time != before
    }

    fn grow(&mut self) -> bool {
        let before = self.time;
        self.time = Nanos(before.0 + before.0 / 2).min(self.most);
        self.time != before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_shrinks_while_drops_do_not_empty_the_queue_and_grows_when_they_do() {
        let mut room = Room::new(Nanos::from_millis(80));
        let ms = Instant::from_millis;
        assert!(!room.judge(ms(0), || true) && !room.emptied());
        room.overflowed(ms(0));
        room.overflowed(ms(400));
        assert!(!room.judge(ms(499), || true));
        assert!(room.judge(ms(500), || true));
        assert_eq!(room.time(), Nanos::from_millis(70));
        room.overflowed(ms(600));
        assert!(room.emptied());
        assert_eq!(room.time(), Nanos::from_millis(80));
        for second in 1..100 {
            room.overflowed(ms(1000 * second));
            room.judge(ms(1000 * second + 500), || true);
        }
        assert_eq!(room.time(), Nanos::from_millis(8));
        // Flows too short to react are no reason to shorten it.
        room.overflowed(ms(200_000));
        assert!(room.judge(ms(201_000), || false));
        assert_eq!(room.time(), Nanos::from_millis(12));
    }
}
