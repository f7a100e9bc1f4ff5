//! The queueing delay as the paper measures it (section IV.B): the round-trip time that a returning ACK shows, minus that
//! of the path.

use crate::lab::Observation;
use gentle_experiment::{Direction, RunSpec};
use gentle_sim::{Packet, Tap};
use gentle_tcp::Seq;
use gentle_units::{Instant, Nanos};
use std::collections::{HashMap, VecDeque};

/// Resolution of the distribution.
const STEP: Nanos = Nanos::from_micros(10);
/// Round-trip times from here on count as this long.
const LONGEST: Nanos = Nanos::from_secs(10);

/// Round-trip times by ACKs.
#[derive(Debug, Clone)]
pub(super) struct AckDelay {
    from: Instant,
    to: Instant,
    /// Ends and times of the segments that are not acknowledged, by connection.
    sent: HashMap<u32, VecDeque<(Seq, Instant)>>,
    /// ACKs by round-trip time, in steps.
    found: Vec<u32>,
}

impl AckDelay {
    /// Median of the round-trip times, seconds; `None` without one.
    pub(super) fn median(&self) -> Option<f64> {
        let total: u64 = self.found.iter().map(|n| u64::from(*n)).sum();
        let mut before = 0;
        let step = self.found.iter().position(|n| {
            before += u64::from(*n);
            2 * before >= total && total > 0
        })?;
        Some(step as f64 * STEP.as_secs_f64())
    }

    fn acknowledged(&mut self, now: Instant, connection: u32, ack: Seq) {
        let Some(sent) = self.sent.get_mut(&connection) else {
            return;
        };
        // The newest segment that the ACK covers made the receiver send it.
        let mut newest = None;
        while let Some((_, at)) = sent.pop_front_if(|(end, _)| *end <= ack) {
            newest = Some(at);
        }
        if let Some(at) = newest.filter(|_| now >= self.from && now < self.to) {
            let step = (now.saturating_since(at).min(LONGEST).0 / STEP.0) as usize;
            if step >= self.found.len() {
                self.found.resize(step + 1, 0);
            }
            self.found[step] += 1;
        }
    }
}

impl Observation for AckDelay {
    fn of(run: &RunSpec<'_>) -> AckDelay {
        AckDelay {
            from: run.scenario.measures_from(),
            to: run.scenario.stops_at(),
            sent: HashMap::new(),
            found: Vec::new(),
        }
    }
}

impl Tap for AckDelay {
    fn offered(&mut self, now: Instant, direction: Direction, packet: &Packet) {
        let segment = packet.segment();
        if let Some(connection) = packet.connection()
            && direction == Direction::Down
            && segment.len > 0
            && !segment.retransmitted
        {
            let sent = self.sent.entry(connection).or_default();
            sent.push_back((segment.seq + segment.len, now));
        }
    }

    fn delivered(&mut self, now: Instant, direction: Direction, packet: &Packet) {
        if let Some(connection) = packet.connection()
            && direction == Direction::Up
        {
            self.acknowledged(now, connection, packet.segment().ack);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_segment_that_an_ack_covers_gives_its_time() {
        let sent = [(1000, 0), (2000, 10), (3000, 20)];
        let sent = sent.map(|(end, ms)| (Seq(end), Instant::from_millis(ms)));
        let mut delay = AckDelay {
            from: Instant::ZERO,
            to: Instant::from_secs(1),
            sent: HashMap::from([(7, VecDeque::from(sent))]),
            found: Vec::new(),
        };
        assert_eq!(delay.median(), None);
        delay.acknowledged(Instant::from_millis(110), 7, Seq(2000));
        delay.acknowledged(Instant::from_millis(120), 7, Seq(2000));
        delay.acknowledged(Instant::from_millis(130), 8, Seq(2000));
        let median = delay.median();
        assert!(median.is_some_and(|median| (median - 0.1).abs() < 1e-9), "{median:?}");
        assert_eq!(delay.sent[&7].len(), 1);
    }
}
