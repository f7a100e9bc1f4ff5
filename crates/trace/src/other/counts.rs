//! What is counted of one protocol.

use crate::measure::Spread;
use crate::results::OtherHandshakes;
use gentle_units::Nanos;
use std::collections::BTreeMap;

/// Counts of one protocol.
#[derive(Debug, Default)]
pub(super) struct Counts {
    attempts: u64,
    successes: u64,
    retransmissions: BTreeMap<&'static str, u64>,
    attempts_with_loss: u64,
    time_lost_ns: u128,
    rtt: Spread,
    versions: BTreeMap<String, u64>,
}

impl Counts {
    /// An attempt begins.
    pub(super) fn attempt(&mut self) {
        self.attempts += 1;
    }

    /// An attempt begins, of a protocol that has versions.
    pub(super) fn attempt_of(&mut self, version: impl ToString) {
        self.attempt();
        *self.versions.entry(version.to_string()).or_default() += 1;
    }

    /// A handshake went through that lost so much time to retransmission.
    pub(super) fn success(&mut self, lost: Nanos) {
        self.successes += 1;
        self.time_lost_ns += u128::from(lost.0);
    }

    /// A packet of `kind` was retransmitted; `lossy` says whether the attempt had a retransmission before.
    pub(super) fn retransmission(&mut self, kind: &'static str, lossy: &mut bool) {
        *self.retransmissions.entry(kind).or_default() += 1;
        self.attempts_with_loss += u64::from(!*lossy);
        *lossy = true;
    }

    /// An attempt had its first answer after `time`, without retransmission.
    pub(super) fn rtt(&mut self, time: Nanos) {
        self.rtt.record(time);
    }

    /// The results; `None` if there was no attempt.
    pub(super) fn finish(self) -> Option<OtherHandshakes> {
        (self.attempts > 0).then(|| OtherHandshakes {
            attempts: self.attempts,
            successes: self.successes,
            retransmissions: self.retransmissions,
            attempts_with_loss: self.attempts_with_loss,
            time_lost_s: self.time_lost_ns as f64 / 1e9,
            rtt_s: self.rtt.quantiles(),
            versions: self.versions,
        })
    }
}
