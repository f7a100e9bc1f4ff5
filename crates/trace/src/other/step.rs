//! Timing of one step of a handshake: a message and its retransmissions, until the handshake continues.

use gentle_units::{Instant, Nanos};

/// Times of a message that is sent until the other side answers.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Step {
    first: Option<Instant>,
    again: Option<Instant>,
    over: bool,
}

impl Step {
    /// Records the first transmission; later calls have no effect.
    pub(super) fn begin(&mut self, time: Instant) {
        self.first.get_or_insert(time);
    }

    /// Records a retransmission.
    pub(super) fn again(&mut self, time: Instant) {
        if !self.over {
            self.again = Some(time);
        }
    }

    /// Ends the step: the handshake went on, and later retransmissions cost no time.
    pub(super) fn end(&mut self) {
        self.over = true;
    }

    /// Time of the first transmission.
    pub(super) fn first(&self) -> Option<Instant> {
        self.first
    }

    /// Time from the first transmission to the last one before the handshake went on.
    pub(super) fn lost(&self) -> Nanos {
        match (self.first, self.again) {
            (Some(first), Some(again)) => again.saturating_since(first),
            _ => Nanos::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_sent_before_the_handshake_went_on_was_waited_for() {
        let mut step = Step::default();
        assert_eq!(step.lost(), Nanos::ZERO);
        step.begin(Instant::from_secs(10));
        step.begin(Instant::from_secs(11));
        assert_eq!(step.first(), Some(Instant::from_secs(10)));
        step.again(Instant::from_secs(13));
        step.again(Instant::from_secs(17));
        step.end();
        step.again(Instant::from_secs(25));
        assert_eq!(step.lost(), Nanos::from_secs(7));
    }

    #[test]
    fn a_clock_that_goes_back_loses_no_time() {
        let mut step = Step::default();
        step.begin(Instant::from_secs(10));
        step.again(Instant::from_secs(9));
        assert_eq!(step.lost(), Nanos::ZERO);
    }
}
