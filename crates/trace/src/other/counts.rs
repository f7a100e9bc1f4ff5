//! Handshake counts of one protocol.

use crate::results::OtherHandshakes;
use crate::sum::sum;
use crate::tally::Distribution;
use gentle_units::Nanos;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Handshake counts of one protocol.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Counts {
    attempts: u64,
    successes: u64,
    retransmissions: BTreeMap<Cow<'static, str>, u64>,
    attempts_with_loss: u64,
    time_lost_ns: u128,
    rtt: Distribution,
    versions: BTreeMap<String, u64>,
}

sum! { Counts { attempts, successes, retransmissions, attempts_with_loss, time_lost_ns, rtt, versions } }

impl Counts {
    /// Counts a new attempt.
    pub(super) fn attempt(&mut self) {
        self.attempts += 1;
    }

    /// Counts a new attempt of a protocol that has versions.
    pub(super) fn attempt_of(&mut self, version: impl ToString) {
        self.attempt();
        *self.versions.entry(version.to_string()).or_default() += 1;
    }

    /// Counts a completed handshake that lost the time `lost` to retransmission.
    pub(super) fn success(&mut self, lost: Nanos) {
        self.successes += 1;
        self.time_lost_ns += u128::from(lost.0);
    }

    /// Counts a retransmitted packet of `kind`; `lossy` is whether the attempt had a retransmission before, and is set.
    pub(super) fn retransmission(&mut self, kind: &'static str, lossy: &mut bool) {
        *self.retransmissions.entry(kind.into()).or_default() += 1;
        self.attempts_with_loss += u64::from(!*lossy);
        *lossy = true;
    }

    /// Records the time from an attempt's first packet to its first answer, without retransmission.
    pub(super) fn rtt(&mut self, time: Nanos) {
        self.rtt.record(time);
    }

    /// Results; `None` if there was no attempt.
    pub(super) fn result(self) -> Option<OtherHandshakes> {
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
