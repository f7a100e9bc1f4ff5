//! Response time with slow start until the first loss.

use crate::path::{Path, ResponseTime};
use serde::{Deserialize, Serialize};

/// Form of the model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Form {
    /// Section IV of spa-2018: [`Path::response_time`].
    #[default]
    Published,
    /// [`Path::until_first_loss`].
    FirstLoss {
        /// Retransmission timeout of data in seconds: see [`Form::first_loss`].
        timeout_s: f64,
    },
}

/// Lower bound of the variance term of a retransmission timeout: `TCP_RTO_MIN` of Linux.
const MIN_VARIANCE_S: f64 = 0.2;

/// Packets after a lost one whose acknowledgements show the loss (RFC 5681, section 3.2).
const DUPLICATE_ACKS: f64 = 3.0;

/// Retransmissions of a data segment whose timeouts are summed.
const TIMEOUTS: i32 = 7;

/// Smallest window after a loss, segments (RFC 5681, equation 4).
const SMALLEST_WINDOW: f64 = 2.0;

impl Form {
    /// [`Form::FirstLoss`] with the timeout of Linux after the handshake: SRTT + max(200 ms, 4·RTTVAR), where RTTVAR is
    /// half of the first round-trip time (RFC 6298, section 2.2).
    pub fn first_loss(rtt_s: f64) -> Form {
        Form::FirstLoss { timeout_s: rtt_s + MIN_VARIANCE_S.max(2.0 * rtt_s) }
    }
}

impl Path {
    /// Mean response time of a transfer of `segments` full segments, in the form `form`.
    pub fn response_time_by(&self, form: Form, segments: f64) -> ResponseTime {
        match form {
            Form::Published => self.response_time(segments),
            Form::FirstLoss { timeout_s } => self.until_first_loss(segments, timeout_s),
        }
    }

    /// Mean response time of a transfer of `segments` full segments where slow start lasts until the first loss.
    ///
    /// It differs from [`Path::response_time`] in four points:
    ///
    /// - Slow start ends with the first loss, wherever that happens, and not at [`Path::largest_window`]. Each round
    ///   trip of slow start counts with the probability that the first loss is in it.
    /// - After the first loss the window halves. If it is above the mean window of congestion avoidance, it halves
    ///   again every 1/p segments until it is not; if it is below, it grows linearly. Then the rest is sent at
    ///   [`Path::throughput`].
    /// - The first loss costs a round trip, or, if fewer than three packets follow it, the timeout `timeout_s` in
    ///   seconds, which doubles if the retransmission is lost. Later losses cost a round trip, as published.
    /// - FIN rides on the last segment. A transfer that fits into the initial window is sent before the connection is
    ///   closed; its FIN is a separate packet in the same window. Either way FIN takes no round trip.
    pub fn until_first_loss(&self, segments: f64, timeout_s: f64) -> ResponseTime {
        let (rtt, p, growth) = (self.rtt_s, self.loss, self.growth());
        let packets = if segments <= self.initial_window { segments + 1.0 } else { segments };
        let timeout: f64 = (0..TIMEOUTS).map(|n| libm::pow(2.0 * p, f64::from(n)) * timeout_s).sum();
        let mut time = ResponseTime {
            handshake_s: rtt + self.mean_wait_s(),
            slow_start_s: 0.0,
            congestion_avoidance_s: 0.0,
            recovery_s: 0.0,
            fin_s: 0.0,
        };
        // Packets sent before the round, its window, and the probability that none of those packets was lost.
        let (mut sent, mut window, mut intact) = (0.0, self.initial_window, 1.0);
        while sent < packets && intact > 0.0 {
            let in_round = window.min(packets - sent);
            let all_arrive = libm::pow(1.0 - p, in_round);
            let lost = intact * (1.0 - all_arrive);
            time.slow_start_s += intact * rtt;
            if lost > 0.0 {
                // Packets of the round before the lost one, on average.
                let before = (1.0 - p) / p - in_round * all_arrive / (1.0 - all_arrive);
                let left = (packets - (sent + before + 1.0) - window).max(0.0);
                let (sending_s, recovery_s) = self.after_first_loss(left, window);
                time.congestion_avoidance_s += lost * sending_s;
                // Packets of the round that enough others follow.
                let followed = (packets - DUPLICATE_ACKS - sent).clamp(0.0, in_round);
                let in_time = intact * (1.0 - libm::pow(1.0 - p, followed));
                time.recovery_s += lost * recovery_s + in_time * rtt + (lost - in_time) * timeout;
            }
            sent += in_round;
            intact *= all_arrive;
            window *= growth;
        }
        time
    }

    /// Seconds to send `left` segments after the first loss in a window of `window`, and to repair further losses.
    fn after_first_loss(&self, left: f64, window: f64) -> (f64, f64) {
        let mean_window = self.throughput() * self.rtt_s;
        let (mut left, mut window) = (left, (window / 2.0).max(SMALLEST_WINDOW));
        let (mut sending_s, mut recovery_s) = (0.0, 0.0);
        while left > 0.0 && window > mean_window {
            let until_loss = left.min(1.0 / self.loss);
            left -= until_loss;
            sending_s += until_loss / window * self.rtt_s;
            recovery_s += if left > 0.0 { self.rtt_s } else { 0.0 };
            window /= 2.0;
        }
        recovery_s += left * self.loss * self.rtt_s;
        // A smaller window grows by a segment for each `segments_per_ack` round trips: after t of them w·t + t²/(2b)
        // segments have been sent.
        let b = self.segments_per_ack;
        let rounds = (mean_window - window).max(0.0) * b;
        let until_mean = rounds * (window + mean_window) / 2.0;
        if left < until_mean {
            let rounds = b * ((window * window + 2.0 * left / b).sqrt() - window);
            return (sending_s + rounds * self.rtt_s, recovery_s);
        }
        let rest = left - until_mean;
        (sending_s + rounds * self.rtt_s + rest / self.throughput(), recovery_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Backoff;
    use proptest::prelude::*;

    /// A current Linux over 100 ms.
    fn linux(loss: f64) -> Path {
        Path { loss, initial_window: 10.0, ..Path::default() }
    }

    fn total(path: &Path, segments: u32) -> f64 {
        let form = Form::first_loss(path.rtt_s);
        path.response_time_by(form, f64::from(segments)).total_s()
    }

    #[test]
    fn without_loss_it_is_slow_start_without_a_round_trip_for_fin() {
        let path = linux(0.0);
        for (segments, rounds) in [(1, 1.0), (9, 1.0), (10, 2.0), (11, 2.0), (30, 2.0), (31, 3.0)] {
            let expected = (1.0 + rounds) * 0.1;
            assert!((total(&path, segments) - expected).abs() < 1e-9, "{segments}");
        }
    }

    #[test]
    fn a_loss_among_the_last_packets_takes_the_timeout() {
        // One segment and its FIN: both arrive, or the first that is lost takes the timeout, which doubles.
        let path = linux(0.1);
        let timeout: f64 = (0..7).map(|n| 0.3 * libm::pow(0.2, f64::from(n))).sum();
        let expected = 0.2 + (1.0 - 0.9 * 0.9) * timeout;
        assert!((total(&path, 1) - expected).abs() < 1e-9);
        assert_eq!(Form::first_loss(0.1), Form::FirstLoss { timeout_s: 0.1 + 0.2 });
        assert_eq!(Form::first_loss(0.01), Form::FirstLoss { timeout_s: 0.01 + 0.2 });
    }

    proptest! {
        #[test]
        fn times_are_plausible(
            rtt_s in 0.001_f64..2.0,
            loss in 0.0_f64..0.3,
            handshake_loss in 0.0_f64..0.9,
            initial_window in 1_u32..20,
            segments_per_ack in 1.0_f64..4.0,
            segments in 1_u32..20_000,
        ) {
            let path = Path {
                rtt_s,
                loss,
                handshake_loss,
                backoff: Backoff::Constant,
                initial_window: initial_window.into(),
                segments_per_ack,
                ..Path::default()
            };
            let form = Form::first_loss(rtt_s);
            let time = path.response_time_by(form, segments.into());
            let parts = [time.handshake_s, time.slow_start_s, time.congestion_avoidance_s, time.recovery_s, time.fin_s];
            prop_assert!(parts.iter().all(|part| *part >= 0.0 && part.is_finite()), "{time:?}");
            // Never faster than without loss.
            let clean = Path { loss: 0.0, ..path };
            let clean = clean.response_time_by(form, segments.into());
            prop_assert!(time.total_s() >= clean.total_s() * (1.0 - 1e-9), "{time:?} {clean:?}");
            // A very long transfer has the rate of congestion avoidance.
            let lossy = Path { loss: loss.max(0.001), ..path };
            let each = lossy.response_time_by(form, 1e12).total_s() / 1e12;
            let expected = 1.0 / lossy.throughput() + lossy.loss * rtt_s;
            prop_assert!((each / expected - 1.0).abs() < 1e-6);
        }
    }
}
