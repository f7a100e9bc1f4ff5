//! Response time on a path of constant round-trip time and independent loss.

use crate::backoff::Backoff;
use serde::{Deserialize, Serialize};

/// A path and the stacks at its ends: all inputs of the model.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Path {
    /// Round-trip time in seconds, queueing included.
    pub rtt_s: f64,
    /// Probability that a data packet is lost.
    pub loss: f64,
    /// Probability that an attempt of the handshake fails because its SYN or SYN/ACK is lost. About twice `loss` where
    /// handshake packets are lost like others: see [`Path::like_other_packets`].
    pub handshake_loss: f64,
    /// Initial RTO in seconds: 1 s by RFC 6298, 3 s by RFC 2988 before.
    pub initial_rto_s: f64,
    /// Waits between the attempts of a handshake.
    pub backoff: Backoff,
    /// Initial window in segments: 1 in spa-2018, 10 by RFC 6928.
    pub initial_window: f64,
    /// Segments for each acknowledgement: 1, or 2 with delayed ACKs (RFC 9293, section 3.8.6.3).
    pub segments_per_ack: f64,
}

impl Default for Path {
    /// 100 ms without loss; a stack of RFC 6298 with the window and the acknowledgements of spa-2018.
    fn default() -> Path {
        Path {
            rtt_s: 0.1,
            loss: 0.0,
            handshake_loss: 0.0,
            initial_rto_s: 1.0,
            backoff: Backoff::Doubling { linear: 0, retries: 6 },
            initial_window: 1.0,
            segments_per_ack: 1.0,
        }
    }
}

/// A value of a [`Path`] that the model has no answer for.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{name} {value}: expected {expected}")]
pub struct InvalidPath {
    /// Quantity, as named in messages.
    pub name: &'static str,
    /// The value that was given.
    pub value: f64,
    /// Accepted range, in words.
    pub expected: &'static str,
}

/// Parts of a mean response time, in seconds, from the SYN to the acknowledgement of the FIN.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ResponseTime {
    /// A round trip for SYN and SYN/ACK, and the mean wait for lost ones.
    pub handshake_s: f64,
    /// Round trips of slow start.
    pub slow_start_s: f64,
    /// Data sent at the throughput of congestion avoidance.
    pub congestion_avoidance_s: f64,
    /// A round trip for each lost data packet.
    pub recovery_s: f64,
    /// A round trip for the FIN and its acknowledgement.
    pub fin_s: f64,
}

impl ResponseTime {
    /// Sum of the parts.
    pub fn total_s(&self) -> f64 {
        self.handshake_s + self.slow_start_s + self.congestion_avoidance_s + self.recovery_s + self.fin_s
    }
}

impl Path {
    /// Probability that an attempt of the handshake fails where SYN and SYN/ACK are lost with probability `loss` each, like
    /// other packets: 1 − (1 − p)², which spa-2018 rounds to 2p.
    pub fn like_other_packets(loss: f64) -> f64 {
        loss * (2.0 - loss)
    }

    /// Checks the values.
    ///
    /// # Errors
    /// The first value outside its range.
    pub fn check(&self) -> Result<(), InvalidPath> {
        let checks = [
            ("round-trip time", self.rtt_s, self.rtt_s > 0.0, "more than 0 s"),
            ("loss", self.loss, (0.0..1.0).contains(&self.loss), "a probability from 0 to less than 1"),
            (
                "loss of handshakes",
                self.handshake_loss,
                (0.0..1.0).contains(&self.handshake_loss),
                "a probability from 0 to less than 1",
            ),
            ("initial RTO", self.initial_rto_s, self.initial_rto_s > 0.0, "more than 0 s"),
            ("initial window", self.initial_window, self.initial_window >= 1.0, "at least one segment"),
            ("segments per acknowledgement", self.segments_per_ack, self.segments_per_ack >= 1.0, "at least one"),
        ];
        for (name, value, right, expected) in checks {
            if !(right && value.is_finite()) {
                return Err(InvalidPath { name, value, expected });
            }
        }
        Ok(())
    }

    /// Wait in seconds of a connection whose handshake fails `losses` times.
    pub fn wait_s(&self, losses: u32) -> f64 {
        self.backoff.wait_s(self.initial_rto_s, losses)
    }

    /// Mean wait in seconds for lost SYNs and SYN/ACKs, over the connections that succeed.
    pub fn mean_wait_s(&self) -> f64 {
        self.backoff.mean_wait_s(self.initial_rto_s, self.handshake_loss)
    }

    /// Throughput of congestion avoidance in segments per second: (1/RTT)·√(3/(2bp)), with b segments for each
    /// acknowledgement (Mathis et al. 1997; spa-2018, section IV, has b = 1). Infinite without loss.
    pub fn throughput(&self) -> f64 {
        (1.5 / (self.segments_per_ack * self.loss)).sqrt() / self.rtt_s
    }

    /// Window in segments at which congestion avoidance loses a packet: 4/3 of its mean, throughput times RTT. Infinite
    /// without loss.
    pub fn largest_window(&self) -> f64 {
        4.0 / 3.0 * self.throughput() * self.rtt_s
    }

    /// Growth of the window in slow start for each round trip: a segment more for each acknowledgement, so 2 with an
    /// acknowledgement for each segment, 1.5 with one for two (Cardwell et al. 2000, section 3.2).
    pub(crate) fn growth(&self) -> f64 {
        1.0 + 1.0 / self.segments_per_ack
    }

    /// Mean response time of a transfer of `segments` full segments by a connection that its initiator opens, writes and
    /// closes.
    ///
    /// Slow start goes from the initial window to [`Path::largest_window`]; what remains is sent at
    /// [`Path::throughput`] (spa-2018, section IV). A transfer that ends within slow start takes whole round trips,
    /// ⌈log₂(S + 1)⌉ for an initial window of 1. No transfer takes fewer round trips than slow start alone would:
    /// without that, one that just leaves slow start would be faster with more loss, since the paper's number of round trips is
    /// not whole.
    pub fn response_time(&self, segments: f64) -> ResponseTime {
        let (rtt, growth) = (self.rtt_s, self.growth());
        let rounds = |windows: f64| libm::log(windows) / libm::log(growth);
        let rounds_for = |segments: f64| rounds(1.0 + segments * (growth - 1.0) / self.initial_window);
        let whole_rounds = (rounds_for(segments) - 1e-9).ceil().max(1.0);
        let recovery_s = segments * self.loss * rtt;
        let largest = self.largest_window().max(self.initial_window);
        let slow_start_rounds = rounds(largest / self.initial_window) + 1.0;
        let in_slow_start = self.initial_window * (libm::pow(growth, slow_start_rounds) - 1.0) / (growth - 1.0);
        let (slow_start_s, congestion_avoidance_s) = if segments <= in_slow_start {
            (whole_rounds * rtt, 0.0)
        } else {
            let slow_start = slow_start_rounds * rtt;
            let avoidance = (segments - in_slow_start) / self.throughput();
            (slow_start, avoidance.max(whole_rounds * rtt - slow_start))
        };
        ResponseTime {
            handshake_s: rtt + self.mean_wait_s(),
            slow_start_s,
            congestion_avoidance_s,
            recovery_s,
            fin_s: rtt,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The conditions of spa-2018, Fig. 3, as far as the paper gives them.
    fn published() -> Path {
        Path { loss: 0.02, handshake_loss: 0.0, backoff: Backoff::Constant, ..Path::default() }
    }

    #[test]
    fn the_terms_are_those_of_the_paper() {
        let path = published();
        // X = (1/RTT)·√(3/(2p)), W_max = (4/3)·√(3/(2p)).
        let throughput = (3.0_f64 / 0.04).sqrt() / 0.1;
        assert!((path.throughput() - throughput).abs() < 1e-9);
        let largest = 4.0 / 3.0 * (3.0_f64 / 0.04).sqrt();
        assert!((path.largest_window() - largest).abs() < 1e-9);
        // t = t_syn + n_ss·RTT + (S − (2^n_ss − 1))/X + S·p·RTT + t_fin.
        let rounds = libm::log2(largest) + 1.0;
        let expected = 0.1 + rounds * 0.1 + (1000.0 - (libm::pow(2.0, rounds) - 1.0)) / throughput + 2.0 + 0.1;
        assert!((path.response_time(1000.0).total_s() - expected).abs() < 1e-9);
    }

    #[test]
    fn a_short_transfer_takes_whole_rounds_of_slow_start() {
        let path = Path::default();
        for (segments, rounds) in [(1.0, 1.0), (2.0, 2.0), (3.0, 2.0), (4.0, 3.0), (7.0, 3.0), (8.0, 4.0)] {
            let expected = (rounds + 2.0) * 0.1;
            assert!((path.response_time(segments).total_s() - expected).abs() < 1e-9, "{segments}");
        }
        let of_today = Path { initial_window: 10.0, segments_per_ack: 2.0, ..Path::default() };
        // 10, 15 and 22.5 segments in three rounds.
        for (segments, rounds) in [(10.0, 1.0), (11.0, 2.0), (25.0, 2.0), (26.0, 3.0), (47.0, 3.0)] {
            let expected = (rounds + 2.0) * 0.1;
            assert!((of_today.response_time(segments).total_s() - expected).abs() < 1e-9, "{segments}");
        }
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let wrong = |change: fn(&mut Path)| {
            let mut path = Path::default();
            change(&mut path);
            path.check().unwrap_err().to_string()
        };
        assert_eq!(Path::default().check(), Ok(()));
        assert_eq!(wrong(|p| p.loss = 1.0), "loss 1: expected a probability from 0 to less than 1");
        assert_eq!(wrong(|p| p.rtt_s = f64::INFINITY), "round-trip time inf: expected more than 0 s");
        assert_eq!(wrong(|p| p.rtt_s = f64::NAN), "round-trip time NaN: expected more than 0 s");
        assert_eq!(wrong(|p| p.initial_window = 0.5), "initial window 0.5: expected at least one segment");
    }

    prop_compose! {
        fn paths()(
            rtt_s in 0.001_f64..2.0,
            loss in 0.0_f64..0.5,
            handshake_loss in 0.0_f64..0.9,
            initial_rto_s in 0.1_f64..10.0,
            backoff in prop_oneof![
                Just(Backoff::Constant),
                (0_u32..6, 0_u32..12).prop_map(|(linear, retries)| Backoff::Doubling { linear, retries }),
            ],
            initial_window in 1.0_f64..20.0,
            segments_per_ack in 1.0_f64..4.0,
        ) -> Path {
            Path { rtt_s, loss, handshake_loss, initial_rto_s, backoff, initial_window, segments_per_ack }
        }
    }

    proptest! {
        #[test]
        fn more_of_what_is_bad_is_never_faster(
            path in paths(), segments in 1.0_f64..20_000.0, more in 0.0_f64..0.4, which in 0..6_u8,
        ) {
            let before = path.response_time(segments).total_s();
            let (mut path, mut segments) = (path, segments);
            match which {
                0 => path.rtt_s += more,
                1 => path.loss += more,
                2 => path.handshake_loss = (path.handshake_loss + more).min(0.99),
                3 => path.initial_rto_s += more,
                4 => segments += more * 1000.0,
                _ => path.segments_per_ack += more,
            }
            let after = path.response_time(segments).total_s();
            prop_assert!(after >= before * (1.0 - 1e-9), "{before} s, then {after} s");
        }

        #[test]
        fn a_larger_initial_window_is_never_slower_without_loss(
            path in paths(), segments in 1.0_f64..20_000.0, more in 0.0_f64..20.0,
        ) {
            let path = Path { loss: 0.0, ..path };
            let larger = Path { initial_window: path.initial_window + more, ..path };
            let (before, after) = (path.response_time(segments), larger.response_time(segments));
            prop_assert!(after.total_s() <= before.total_s() * (1.0 + 1e-9));
        }

        #[test]
        fn limits_are_right(path in paths(), segments in 1.0_f64..20_000.0) {
            // Without loss: slow start alone, between the exact number of round trips and one more.
            let clean = Path { loss: 0.0, handshake_loss: 0.0, ..path };
            let growth = 1.0 + 1.0 / path.segments_per_ack;
            let exact = (libm::log(1.0 + segments * (growth - 1.0) / path.initial_window) / libm::log(growth)).max(1.0);
            let rounds = clean.response_time(segments).total_s() / path.rtt_s - 2.0;
            prop_assert!(rounds > exact - 1e-6 && rounds < exact + 1.0 + 1e-6, "{rounds}, {exact}");
            // A very long transfer: throughput of congestion avoidance, and a round trip a loss.
            let lossy = Path { loss: path.loss.max(0.001), ..path };
            let long = 1e12;
            let each = lossy.response_time(long).total_s() / long;
            let expected = 1.0 / lossy.throughput() + lossy.loss * lossy.rtt_s;
            prop_assert!((each / expected - 1.0).abs() < 1e-6);
            // No round-trip time: the wait for the handshake is all that is left.
            let near = Path { rtt_s: 1e-12, ..path };
            let wait = near.backoff.mean_wait_s(near.initial_rto_s, near.handshake_loss);
            prop_assert!((near.response_time(segments).total_s() - wait).abs() < 1e-6);
        }

        #[test]
        fn parts_are_never_negative(path in paths(), segments in 1.0_f64..20_000.0) {
            let time = path.response_time(segments);
            for part in [time.handshake_s, time.slow_start_s, time.congestion_avoidance_s, time.recovery_s, time.fin_s] {
                prop_assert!(part >= 0.0 && part.is_finite());
            }
        }
    }
}
