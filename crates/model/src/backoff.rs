//! Waiting for the retransmission of a SYN: which timeout follows which.

use serde::{Deserialize, Serialize};

/// Timeouts of a handshake: the wait before each retransmission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Backoff {
    /// Every wait is the initial RTO, without an end: the formula of spa-2018, section IV.
    Constant,
    /// The first `linear` retransmissions follow after the initial RTO each (`tcp_syn_linear_timeouts` of Linux,
    /// `tcp_syn_backoff` of FreeBSD); after them the wait doubles (RFC 6298, section 5.5), also the first time for
    /// `linear: 0`, where the first wait is the initial RTO. The attempt is abandoned after `retries` retransmissions
    /// more than the linear ones.
    Doubling {
        /// Retransmissions before the wait begins to double.
        linear: u32,
        /// Retransmissions besides.
        retries: u32,
    },
}

/// The longest wait: TCP_RTO_MAX of Linux, TCPTV_REXMTMAX of FreeBSD is 64 s.
const LONGEST_WAIT_S: f64 = 120.0;

impl Backoff {
    /// Wait in seconds between the `n`th transmission of a SYN and the next, with `n` counted from 0.
    fn timeout_s(self, initial_rto_s: f64, n: u32) -> f64 {
        match self {
            Backoff::Constant => initial_rto_s,
            Backoff::Doubling { linear, .. } => {
                let doublings = n.saturating_sub(linear).min(60);
                let doubled = initial_rto_s * (1u64 << doublings) as f64;
                doubled.min(LONGEST_WAIT_S.max(initial_rto_s))
            }
        }
    }

    /// Wait in seconds of a connection whose handshake fails `losses` times before it succeeds.
    pub fn wait_s(self, initial_rto_s: f64, losses: u32) -> f64 {
        match self {
            Backoff::Constant => initial_rto_s * f64::from(losses),
            Backoff::Doubling { .. } => (0..losses).map(|n| self.timeout_s(initial_rto_s, n)).sum(),
        }
    }

    /// Most retransmissions of a SYN; `None`: there is no limit.
    pub fn retries(self) -> Option<u32> {
        match self {
            Backoff::Constant => None,
            Backoff::Doubling { linear, retries } => Some(linear.saturating_add(retries)),
        }
    }

    /// Mean wait in seconds of the connections that succeed, where each attempt fails with probability `loss`.
    ///
    /// For [`Backoff::Constant`] it is RTO·(1/(1−p) − 1). With a limit of `n` retransmissions it is the mean of the wait
    /// after k failures, k from 0 to n, with weights p^k.
    pub fn mean_wait_s(self, initial_rto_s: f64, loss: f64) -> f64 {
        let Some(retries) = self.retries() else {
            return initial_rto_s * loss / (1.0 - loss);
        };
        let (mut weight, mut weights, mut waits, mut wait) = (1.0, 0.0, 0.0, 0.0);
        for n in 0..=retries {
            weights += weight;
            waits += weight * wait;
            wait += self.timeout_s(initial_rto_s, n);
            weight *= loss;
            // Terms from here on are too small to change the sums.
            if weight * wait < waits * f64::EPSILON * f64::EPSILON {
                break;
            }
        }
        waits / weights
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINUX_3_16: Backoff = Backoff::Doubling { linear: 0, retries: 6 };
    const LINUX_7_2: Backoff = Backoff::Doubling { linear: 4, retries: 6 };

    #[test]
    fn waits_are_those_of_the_stacks() {
        let waits = |backoff: Backoff, rto| (0..=7).map(|n| backoff.wait_s(rto, n)).collect::<Vec<_>>();
        // handshake-2009, section 2: a SYN is sent again after 3, 9 and 21 s.
        assert_eq!(waits(LINUX_3_16, 3.0)[..4], [0.0, 3.0, 9.0, 21.0]);
        // tcp_syn_linear_timeouts: after 1, 2, 3, 4 s, then 1, 2 and 4 s later.
        assert_eq!(waits(LINUX_7_2, 1.0), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 7.0, 11.0]);
        assert_eq!(waits(Backoff::Constant, 3.0)[..3], [0.0, 3.0, 6.0]);
    }

    #[test]
    fn doubling_without_a_limit_is_the_geometric_sum() {
        // The sum of p^k·2^(k-1)·RTO is RTO·p/(1 - 2p), as long as no wait reaches the longest.
        let loss = 0.01;
        let many = Backoff::Doubling { linear: 0, retries: 6 };
        let expected = loss / (1.0 - 2.0 * loss);
        assert!((many.mean_wait_s(1.0, loss) - expected).abs() < 1e-9 * expected);
    }

    #[test]
    fn no_loss_is_no_wait_and_all_lost_is_the_longest() {
        for backoff in [Backoff::Constant, LINUX_3_16, LINUX_7_2] {
            assert_eq!(backoff.mean_wait_s(1.0, 0.0), 0.0);
        }
        // Near certain loss every number of failures is as likely as any other.
        let waits: f64 = (0..=6).map(|n| LINUX_3_16.wait_s(1.0, n)).sum::<f64>() / 7.0;
        assert!((LINUX_3_16.mean_wait_s(1.0, 1.0) - waits).abs() < 1e-9);
    }
}
