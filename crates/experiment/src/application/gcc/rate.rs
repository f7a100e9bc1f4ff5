//! Rate control: increase, hold, decrease (section 5.5).

use super::Usage;
use gentle_units::{Instant, Nanos};
use std::collections::VecDeque;

/// Window over which the incoming rate is measured, T.
const WINDOW: Nanos = Nanos::from_millis(500);
/// Factor of a decrease, beta.
const DECREASE: f64 = 0.85;
/// Multiplicative increase per second, eta.
const INCREASE: f64 = 1.08;
/// The estimate stays below this multiple of the incoming rate.
const MOST_ABOVE_INCOMING: f64 = 1.5;
/// Smoothing factor of the incoming rate at decreases.
const SMOOTHING: f64 = 0.95;
/// Standard deviations within which the incoming rate is near the last decreases.
const NEAR: f64 = 3.0;
/// Smallest variance of the incoming rate at decreases, as a multiple of its mean in kb/s: WebRTC's
/// `LinkCapacityEstimator`.
const SMALLEST_VARIANCE: f64 = 0.4;
/// Frames per second and bits of a full packet, from which the additive increase follows.
const FRAMES: f64 = 30.0;
const FULL_PACKET: f64 = 1200.0 * 8.0;
/// Smallest additive increase per response time, bits per second.
const SMALLEST_STEP: f64 = 1000.0;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Increase,
    Hold,
}

#[derive(Debug)]
pub(super) struct RateControl {
    state: State,
    /// A_hat, bits per second.
    estimate: f64,
    /// Packets of the window: arrival and length in bytes.
    arrived: VecDeque<(Instant, u32)>,
    bytes: u64,
    first_at: Option<Instant>,
    last_update: Option<Instant>,
    /// Mean and variance of the incoming rate at decreases, kb/s.
    decreases: Option<(f64, f64)>,
}

impl RateControl {
    pub(super) fn new(start: f64) -> RateControl {
        RateControl {
            state: State::Hold,
            estimate: start,
            arrived: VecDeque::new(),
            bytes: 0,
            first_at: None,
            last_update: None,
            decreases: None,
        }
    }

    pub(super) fn estimate(&self) -> f64 {
        self.estimate
    }

    /// Counts a packet of `bytes`.
    pub(super) fn arrive(&mut self, now: Instant, bytes: u32) {
        self.first_at.get_or_insert(now);
        self.arrived.push_back((now, bytes));
        self.bytes += u64::from(bytes);
        while let Some((at, bytes)) = self.arrived.front().copied()
            && at + WINDOW <= now
        {
            self.bytes -= u64::from(bytes);
            self.arrived.pop_front();
        }
    }

    /// R_hat, bits per second; `None`: not yet measured over a whole window.
    fn incoming(&self, now: Instant) -> Option<f64> {
        let known = now.saturating_since(self.first_at?) >= WINDOW;
        known.then(|| 8.0 * self.bytes as f64 / WINDOW.as_secs_f64())
    }

    /// Changes the estimate after a group of packets.
    pub(super) fn update(&mut self, now: Instant, usage: Usage, rtt: Nanos) {
        let since = now.saturating_since(self.last_update.replace(now).unwrap_or(now));
        let incoming = self.incoming(now);
        match usage {
            Usage::Over => {
                if let Some(incoming) = incoming {
                    self.estimate = self.estimate.min(DECREASE * incoming);
                    self.note_decrease(incoming / 1e3);
                }
                self.state = State::Hold;
            }
            Usage::Under => self.state = State::Hold,
            Usage::Normal if self.state == State::Hold => self.state = State::Increase,
            Usage::Normal => self.increase(since, incoming, rtt),
        }
    }

    fn increase(&mut self, since: Nanos, incoming: Option<f64>, rtt: Nanos) {
        let ms = since.as_secs_f64() * 1e3;
        let raised = if incoming.is_some_and(|incoming| self.is_near(incoming / 1e3)) {
            let bits_per_frame = self.estimate / FRAMES;
            let packets = (bits_per_frame / FULL_PACKET).ceil().max(1.0);
            let response_ms = 100.0 + rtt.as_secs_f64() * 1e3;
            let part = 0.5 * (ms / response_ms).min(1.0);
            self.estimate + (part * bits_per_frame / packets).max(SMALLEST_STEP * part)
        } else {
            self.estimate * libm::pow(INCREASE, (ms / 1e3).min(1.0))
        };
        let most = incoming.map_or(f64::MAX, |incoming| MOST_ABOVE_INCOMING * incoming);
        // A sender with less to send than it may keeps its estimate.
        self.estimate = raised.min(most.max(self.estimate));
    }

    /// Whether the incoming rate, kb/s, is near its value at the last decreases; above it, the link has become faster.
    fn is_near(&mut self, incoming: f64) -> bool {
        let Some((mean, variance)) = self.decreases else {
            return false;
        };
        let width = NEAR * variance.sqrt();
        if incoming > mean + width {
            self.decreases = None;
        }
        (incoming - mean).abs() <= width
    }

    fn note_decrease(&mut self, incoming: f64) {
        let (mean, variance) = match self.decreases {
            Some((mean, variance)) if (incoming - mean).abs() <= NEAR * variance.sqrt() => {
                let distance = incoming - mean;
                let mean = SMOOTHING * mean + (1.0 - SMOOTHING) * incoming;
                let variance = SMOOTHING * variance + (1.0 - SMOOTHING) * distance * distance;
                (mean, variance)
            }
            _ => (incoming, 0.0),
        };
        self.decreases = Some((mean, variance.max(SMALLEST_VARIANCE * mean)));
    }
}
