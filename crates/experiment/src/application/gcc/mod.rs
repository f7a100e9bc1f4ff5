//! Google congestion control for calls (draft-ietf-rmcat-gcc-02): the delay-based controller runs at the receiver and
//! reports its estimate, the loss-based one at the sender.
//!
//! Where WebRTC differs from the draft in a way that decides whether a queue that grows slowly is noticed at all, this
//! follows WebRTC, and the place says so.

mod detector;
mod filter;
mod groups;
mod loss;
mod rate;

pub(super) use loss::LossBased;

use detector::Detector;
use filter::Filter;
use gentle_units::{Instant, Nanos};
use groups::Groups;
use rate::RateControl;

/// State of the path as the over-use detector sees it (section 5.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Usage {
    Normal,
    Over,
    Under,
}

/// Delay-based controller.
#[derive(Debug)]
pub(super) struct DelayBased {
    groups: Groups,
    filter: Filter,
    detector: Detector,
    rate: RateControl,
}

impl DelayBased {
    /// `start` is the first estimate, bits per second.
    pub(super) fn new(start: f64) -> DelayBased {
        DelayBased {
            groups: Groups::default(),
            filter: Filter::default(),
            detector: Detector::default(),
            rate: RateControl::new(start),
        }
    }

    /// Takes a packet of `bytes` that was sent at `sent` and arrives at `now`.
    pub(super) fn arrive(&mut self, now: Instant, sent: Instant, bytes: u32, rtt: Nanos) {
        self.rate.arrive(now, bytes);
        if let Some(change) = self.groups.add(now, sent) {
            let trend = self.filter.update(&change);
            let usage = self.detector.update(now, trend);
            self.rate.update(now, usage, rtt);
        }
    }

    /// Estimate of the available rate, bits per second.
    pub(super) fn estimate(&self) -> f64 {
        self.rate.estimate()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Nanos = Nanos::from_millis(40);

    /// Sends packets of 1,200 bytes at the estimate through a queue with `rate`; the estimate after each second.
    fn through(rate: impl Fn(u64) -> f64, seconds: u64) -> Vec<f64> {
        let mut control = DelayBased::new(300e3);
        let (mut now, mut free) = (0.0_f64, 0.0_f64);
        let mut estimates = Vec::new();
        while now < seconds as f64 {
            let second = now as u64;
            if estimates.len() < second as usize {
                estimates.push(control.estimate());
            }
            free = free.max(now) + 9_600.0 / rate(second);
            let arrival = Instant::from_secs_f64(free + 0.02);
            control.arrive(arrival, Instant::from_secs_f64(now), 1_200, RTT);
            now += 9_600.0 / control.estimate();
        }
        estimates
    }

    #[test]
    fn the_estimate_grows_until_the_delay_does_and_grows_back() {
        let estimates = through(|_| 2e6, 120);
        // 8 % a second from 300 kb/s.
        assert!(estimates[5] > 400e3 && estimates[5] < 500e3, "{estimates:?}");
        let settled = &estimates[60..];
        let mean = settled.iter().sum::<f64>() / settled.len() as f64;
        assert!(mean > 1.4e6 && mean < 2.1e6, "{mean} {estimates:?}");
        assert!(settled.iter().all(|rate| *rate < 2.4e6), "{estimates:?}");
    }

    #[test]
    fn a_slower_link_lowers_the_estimate() {
        let rate = |second| if (60..90).contains(&second) { 5e5 } else { 2e6 };
        let estimates = through(rate, 150);
        assert!(estimates[58] > 1e6, "{estimates:?}");
        assert!(estimates[62] < 6e5, "{estimates:?}");
        assert!(estimates[66..89].iter().all(|rate| *rate < 7e5), "{estimates:?}");
        assert!(estimates[140] > 1e6, "{estimates:?}");
    }
}
