//! Settings of the kernel engine.

use super::error::KernelError;
use crate::paths::PathRecord;
use crate::timing::Timing;
use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;
use std::time::Duration;

/// Connections to change, and their initial RTO.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// Initial RTO, 2 ms to 120 s; the kernel rounds it up to its ticks.
    pub delay: Duration,
    /// Apply to SYNs: connections that this host opens.
    pub syn: bool,
    /// Apply to SYN/ACKs: connections that this host accepts.
    pub syn_ack: bool,
    /// Server ports; empty: all.
    pub ports: Vec<RangeInclusive<u16>>,
    /// Remote networks with a separate treatment; the longest prefix decides. At most [`Settings::MAX_NETWORKS`].
    pub networks: Vec<Network>,
    /// Treatment of remote addresses in none of these networks.
    pub others: Treatment,
    /// Retransmit SYNs more often than `net.ipv4.tcp_syn_retries`, so that `connect` gives up no sooner than with the
    /// kernel's own initial RTO. The serialized name is that of programs installed by earlier versions.
    #[serde(rename = "patient")]
    pub extend_retries: bool,
}

/// Network with the treatment of its connections.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Network {
    /// Prefix of the network.
    pub prefix: IpNet,
    /// Treatment of its connections.
    pub treatment: Treatment,
}

/// Treatment of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Treatment {
    /// Initial RTO of [`Settings::delay`].
    Default,
    /// Initial RTO of this value.
    Delay(Duration),
    /// No change.
    Exclude,
}

impl Settings {
    /// Maximum number of networks; they then take some megabytes of kernel memory.
    pub const MAX_NETWORKS: usize = 16_384;
    /// Longest initial RTO: the kernel truncates longer ones to this value (`TCP_RTO_MAX`, include/net/tcp.h).
    pub(super) const MAX_RTO: Duration = Duration::from_secs(120);
    /// Shortest initial RTO: two ticks at the highest tick rate of a kernel.
    pub(super) const MIN_RTO: Duration = Duration::from_millis(2);

    /// Settings that apply `delay` to the SYNs and SYN/ACKs of all connections and change nothing else.
    pub fn everything(delay: Duration) -> Settings {
        Settings {
            delay,
            syn: true,
            syn_ack: true,
            ports: Vec::new(),
            networks: Vec::new(),
            others: Treatment::Default,
            extend_retries: false,
        }
    }

    /// Initial RTO of a treatment; `None`: the kernel's own.
    pub(super) fn timeout(&self, treatment: Treatment) -> Option<Duration> {
        match treatment {
            Treatment::Default => Some(self.delay),
            Treatment::Delay(delay) => Some(delay),
            Treatment::Exclude => None,
        }
    }

    pub(super) fn check(&self) -> Result<(), KernelError> {
        if !(self.syn || self.syn_ack) {
            return Err(KernelError::NothingSelected);
        }
        let own = self.networks.iter().map(|network| network.treatment);
        for treatment in own.chain([Treatment::Default, self.others]) {
            match self.timeout(treatment) {
                Some(delay) if !(Self::MIN_RTO..=Self::MAX_RTO).contains(&delay) => {
                    return Err(KernelError::DelayOutOfRange { delay, min: Self::MIN_RTO, max: Self::MAX_RTO });
                }
                _ => {}
            }
        }
        let (have, max) = (self.networks.len(), Self::MAX_NETWORKS);
        if have > max {
            return Err(KernelError::TooMany { what: "networks", have, max });
        }
        Ok(())
    }
}

/// Initial RTO where nothing was learned, within the bounds of `timing`; a fixed delay is used unchanged.
pub fn unlearned_delay(timing: &Timing) -> Duration {
    let delay = timing.fixed.unwrap_or_else(|| timing.delay(None, 0, 0));
    Duration::from_nanos(delay.0)
}

/// Network with the delay that a wire engine has learned for it, within the bounds of `timing`.
pub fn learned_network(record: &PathRecord, timing: &Timing) -> Network {
    let delay = timing.delay(Some(record.learned()), 0, 0);
    Network { prefix: record.prefix, treatment: Treatment::Delay(Duration::from_nanos(delay.0)) }
}
