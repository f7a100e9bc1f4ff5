//! What the engine is asked for.

use super::KernelError;
use crate::paths::PathRecord;
use crate::timing::Timing;
use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;
use std::time::Duration;

/// Which connections get which first timeout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// The first timeout, 2 ms to 120 s; the kernel rounds it up to its ticks.
    pub delay: Duration,
    /// For SYNs: connections that this host opens.
    pub syn: bool,
    /// For SYN/ACKs: connections that this host accepts.
    pub syn_ack: bool,
    /// The ports of the accepting side, at most [`Settings::MAX_PORTS`] ranges; none: all.
    pub ports: Vec<RangeInclusive<u16>>,
    /// Networks of the other side that are treated on their own; the longest prefix decides. At most
    /// [`Settings::MAX_NETWORKS`].
    pub networks: Vec<Network>,
    /// What becomes of other sides in none of these networks.
    pub others: Treatment,
    /// SYNs are repeated more often than `net.ipv4.tcp_syn_retries` says, so that `connect` gives up no sooner than with
    /// the kernel's own timeout.
    pub patient: bool,
}

/// A network, and what becomes of connections with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Network {
    /// Its prefix.
    pub prefix: IpNet,
    /// What becomes of its connections.
    pub treatment: Treatment,
}

/// What becomes of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Treatment {
    /// Its first timeout is [`Settings::delay`].
    Default,
    /// Its first timeout is this one.
    Delay(Duration),
    /// It stays as it is.
    Exclude,
}

impl Settings {
    /// Each range takes three instructions of the program.
    pub const MAX_PORTS: usize = 1_000;
    /// The kernel's memory for them is some megabytes then.
    pub const MAX_NETWORKS: usize = 16_384;
    /// The kernel cuts longer ones down to this (`TCP_RTO_MAX`, include/net/tcp.h).
    pub(super) const LONGEST: Duration = Duration::from_secs(120);
    /// Two ticks with the most that a kernel has in a second.
    pub(super) const SHORTEST: Duration = Duration::from_millis(2);

    /// Every connection's SYNs and SYN/ACKs, and nothing else is changed.
    pub fn everything(delay: Duration) -> Settings {
        Settings {
            delay,
            syn: true,
            syn_ack: true,
            ports: Vec::new(),
            networks: Vec::new(),
            others: Treatment::Default,
            patient: false,
        }
    }

    /// The first timeout that a treatment means; `None`: the kernel's own.
    pub(super) fn timeout(&self, treatment: Treatment) -> Option<Duration> {
        match treatment {
            Treatment::Default => Some(self.delay),
            Treatment::Delay(delay) => Some(delay),
            Treatment::Exclude => None,
        }
    }

    pub(super) fn check(&self) -> Result<(), KernelError> {
        if !(self.syn || self.syn_ack) {
            return Err(KernelError::Nothing);
        }
        let own = self.networks.iter().map(|network| network.treatment);
        for treatment in own.chain([Treatment::Default, self.others]) {
            match self.timeout(treatment) {
                Some(delay) if !(Self::SHORTEST..=Self::LONGEST).contains(&delay) => {
                    return Err(KernelError::Delay(delay));
                }
                _ => {}
            }
        }
        for (what, have, most) in [
            ("ranges of ports", self.ports.len(), Self::MAX_PORTS),
            ("networks", self.networks.len(), Self::MAX_NETWORKS),
        ] {
            if have > most {
                return Err(KernelError::TooMany { what, have, most });
            }
        }
        Ok(())
    }
}

/// The first timeout where nothing was learned, as `timing` bounds it; a fixed one is taken as it is.
pub fn unlearned_delay(timing: &Timing) -> Duration {
    let delay = timing.fixed.unwrap_or_else(|| timing.delay(None, 0, 0));
    Duration::from_nanos(delay.0)
}

/// A network with the delay that a wire engine has learned of it, as `timing` bounds it.
pub fn learned_network(record: &PathRecord, timing: &Timing) -> Network {
    let delay = timing.delay(Some(record.learned()), 0, 0);
    Network {
        prefix: record.prefix,
        treatment: Treatment::Delay(Duration::from_nanos(delay.0)),
    }
}
