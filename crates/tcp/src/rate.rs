//! Delivery rate estimation (draft-ietf-ccwg-bbr, section 4.1; `tcp_rate_gen` and `tcp_rate_skb_delivered` of
//! `net/ipv4/tcp_input.c`).
//!
//! Each segment carries a snapshot of what had been delivered when it was sent. When it is acknowledged, the difference
//! over the longer of the times that sending and acknowledging took is a sample of the rate at which the network
//! delivers.

use crate::scoreboard::Sent;
use gentle_units::{Instant, Nanos};
use std::collections::VecDeque;

/// State of delivery when a segment was last sent.
#[derive(Debug, Clone, Copy)]
struct Snapshot {
    /// Segments delivered, and time of the last delivery; `None`: the segment has been delivered.
    delivered: Option<(u32, Instant)>,
    /// Send time of the segment whose delivery was the last.
    first_sent: Instant,
    app_limited: bool,
}

/// Sample of the delivery rate, from one acknowledgement.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RateSample {
    /// Segments delivered before the snapshot of the sampled segment, and since; `None`: no segment gave a sample.
    pub(crate) delivered: Option<(u32, u32)>,
    /// Duration over which these were delivered, µs; `None`: unknown or implausibly short.
    pub(crate) interval_us: Option<u64>,
    /// Segments newly delivered and newly marked lost by this acknowledgement.
    pub(crate) acked: u32,
    pub(crate) lost: u32,
    /// Segments in flight before it.
    pub(crate) prior_in_flight: u32,
    /// Round-trip time of the segment delivered last, µs.
    pub(crate) rtt_us: Option<u64>,
    /// Whether the application, not the network, may have limited the rate.
    pub(crate) app_limited: bool,
    /// Whether the receiver is likely to have delayed the acknowledgement of a lone segment.
    pub(crate) delayed: bool,
}

/// Segment that an acknowledgement being processed has delivered: the one sent last.
#[derive(Debug, Clone, Copy)]
struct Latest {
    delivered: u32,
    delivered_at: Instant,
    app_limited: bool,
    end: u64,
    send_us: u64,
}

/// Estimator of the delivery rate of a connection.
#[derive(Debug, Clone)]
pub(crate) struct DeliveryRate {
    /// Segments delivered over the life of the connection, the SYN or SYN/ACK included.
    pub(crate) delivered: u32,
    /// Time of the last delivery.
    pub(crate) delivered_at: Instant,
    first_sent: Instant,
    /// Samples are limited by the application until more than this number is delivered; 0: they are not.
    pub(crate) app_limited: u32,
    /// One for each segment of the scoreboard, in its order.
    snapshots: VecDeque<Snapshot>,
    latest: Option<Latest>,
}

/// Microseconds from `earlier` to `later` on a clock of whole ones, as the kernel's time stamps are.
pub(crate) fn micros_between(earlier: Instant, later: Instant) -> u64 {
    let micros = |time: Instant| time.since_origin().as_micros();
    micros(later).saturating_sub(micros(earlier))
}

impl DeliveryRate {
    pub(crate) fn new() -> DeliveryRate {
        DeliveryRate {
            delivered: 1,
            delivered_at: Instant::ZERO,
            first_sent: Instant::ZERO,
            app_limited: 0,
            snapshots: VecDeque::new(),
            latest: None,
        }
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot {
            delivered: Some((self.delivered, self.delivered_at)),
            first_sent: self.first_sent,
            app_limited: self.app_limited > 0,
        }
    }

    /// Accounts for `count` new segments sent at `now`; `idle`: nothing was outstanding before.
    pub(crate) fn sent(&mut self, now: Instant, count: u32, idle: bool) {
        if idle {
            self.first_sent = now;
            self.delivered_at = now;
        }
        let snapshot = self.snapshot();
        self.snapshots.extend(std::iter::repeat_n(snapshot, count as usize));
    }

    /// Accounts for a retransmission of the segment at `index`.
    pub(crate) fn sent_again(&mut self, index: usize) {
        let snapshot = self.snapshot();
        if let Some(old) = self.snapshots.get_mut(index) {
            *old = snapshot;
        }
    }

    /// Accounts for the delivery of the segment at `index`.
    pub(crate) fn delivered(&mut self, index: usize, segment: &Sent) {
        let Some(snapshot) = self.snapshots.get_mut(index) else {
            return;
        };
        let Some((delivered, delivered_at)) = snapshot.delivered.take() else {
            return;
        };
        let later = self.latest.is_none_or(|latest| (segment.sent, segment.end()) > (self.first_sent, latest.end));
        if later {
            self.latest = Some(Latest {
                delivered,
                delivered_at,
                app_limited: snapshot.app_limited,
                end: segment.end(),
                send_us: micros_between(snapshot.first_sent, segment.sent),
            });
            self.first_sent = segment.sent;
        }
    }

    /// Accounts for the cumulative acknowledgement of the first segment.
    pub(crate) fn acknowledged(&mut self, segment: &Sent) {
        self.delivered(0, segment);
        self.snapshots.pop_front();
    }

    /// Ends the processing of an acknowledgement, which delivered `acked` segments and proved `lost` ones lost.
    pub(crate) fn sample(&mut self, now: Instant, acked: u32, lost: u32, min_rtt: Option<Nanos>) -> RateSample {
        self.delivered = self.delivered.wrapping_add(acked);
        if self.app_limited > 0 && self.delivered > self.app_limited {
            self.app_limited = 0;
        }
        if acked > 0 {
            self.delivered_at = now;
        }
        let mut sample = RateSample { acked, lost, ..RateSample::default() };
        if let Some(latest) = self.latest.take() {
            sample.delivered = Some((latest.delivered, self.delivered.wrapping_sub(latest.delivered)));
            sample.app_limited = latest.app_limited;
            // Compressed acknowledgements make the one phase short, a burst of segments the other.
            let interval = latest.send_us.max(micros_between(latest.delivered_at, now));
            let shortest = min_rtt.map_or(0, Nanos::as_micros);
            sample.interval_us = (interval > 0 && interval >= shortest).then_some(interval);
        }
        sample
    }

    /// Marks the samples to come as limited by the application (`tp->app_limited`).
    pub(crate) fn limit_by_application(&mut self, in_flight: u32) {
        self.app_limited = self.delivered.wrapping_add(in_flight).max(1);
    }

    /// Forgets the segments of a connection that is over.
    pub(crate) fn release(&mut self) {
        self.snapshots = VecDeque::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scoreboard::Scoreboard;

    fn ms(n: u64) -> Nanos {
        Nanos::from_millis(n)
    }

    /// Sends `count` segments of 1000 bytes at `now`.
    fn send(rate: &mut DeliveryRate, board: &mut Scoreboard, now: Instant, count: u64) {
        let idle = board.is_empty();
        for _ in 0..count {
            let start = board.len() as usize;
            let start = match start.checked_sub(1).and_then(|last| board.get(last)) {
                Some(last) => last.end(),
                None => 1,
            };
            board.push(start, 1000, 0, now);
        }
        rate.sent(now, count as u32, idle);
    }

    fn acknowledge(rate: &mut DeliveryRate, board: &mut Scoreboard, now: Instant, count: u32) -> RateSample {
        for _ in 0..count {
            let segment = board.pop().unwrap();
            rate.acknowledged(&segment);
        }
        rate.sample(now, count, 0, Some(ms(100)))
    }

    #[test]
    fn a_window_is_delivered_in_a_round_trip() {
        let (mut rate, mut board) = (DeliveryRate::new(), Scoreboard::new());
        send(&mut rate, &mut board, Instant::from_millis(1000), 10);
        let first = acknowledge(&mut rate, &mut board, Instant::from_millis(1100), 2);
        assert_eq!(first.delivered, Some((1, 2)));
        assert_eq!(first.interval_us, Some(100_000));
        send(&mut rate, &mut board, Instant::from_millis(1100), 4);
        // The rest of the first window spreads over 40 ms; the interval counts from its sending.
        let rest = acknowledge(&mut rate, &mut board, Instant::from_millis(1140), 8);
        assert_eq!(rest.delivered, Some((1, 10)));
        assert_eq!(rest.interval_us, Some(140_000));
        // The segment sent at 1100 ms began after two had been delivered.
        let second = acknowledge(&mut rate, &mut board, Instant::from_millis(1210), 4);
        assert_eq!(second.delivered, Some((3, 12)));
        assert_eq!(second.interval_us, Some(110_000));
    }

    #[test]
    fn samples_shorter_than_the_round_trip_are_invalid() {
        let (mut rate, mut board) = (DeliveryRate::new(), Scoreboard::new());
        send(&mut rate, &mut board, Instant::from_millis(1000), 1);
        let early = acknowledge(&mut rate, &mut board, Instant::from_millis(1050), 1);
        assert_eq!(early.interval_us, None);
        assert_eq!(early.delivered, Some((1, 1)));
    }

    #[test]
    fn an_application_limits_what_is_sent_while_it_is_idle() {
        let (mut rate, mut board) = (DeliveryRate::new(), Scoreboard::new());
        rate.limit_by_application(0);
        send(&mut rate, &mut board, Instant::from_millis(1000), 4);
        assert!(acknowledge(&mut rate, &mut board, Instant::from_millis(1100), 2).app_limited);
        assert_eq!(rate.app_limited, 0, "delivered more than was in flight");
        send(&mut rate, &mut board, Instant::from_millis(1100), 4);
        assert!(acknowledge(&mut rate, &mut board, Instant::from_millis(1110), 2).app_limited);
        assert!(!acknowledge(&mut rate, &mut board, Instant::from_millis(1200), 4).app_limited);
    }
}
