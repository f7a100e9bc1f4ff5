//! Counters specific to one kind of queue.

use schemars::JsonSchema;
use serde::Serialize;

/// A counter that only some kind of queue has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Counter {
    /// The kernel's name, with the unit where there is one.
    pub name: &'static str,
    /// How much it has counted, or the state that it stands for.
    pub value: u64,
}

/// Names of values that rise and fall (gauges); all others are monotonic.
const STATES: [&str; 26] = [
    "above",
    "avg_dq_rate",
    "capacity_estimate_bytes_per_second",
    "count",
    "cumul_ns",
    "delay_ns",
    "delay_us",
    "dq_rate_estimating",
    "dropping",
    "expiry_ns",
    "held",
    "held_bytes",
    "interval_ns",
    "lastcount",
    "ldelay_us",
    "max_p",
    "maxpacket_bytes",
    "maxq",
    "memory_limit_bytes",
    "memory_usage_bytes",
    "memory_used_bytes",
    "new_flows_len",
    "old_flows_len",
    "overflow",
    "prob",
    "qavg_bytes",
];

/// Suffixes of gauges that exist once per queue.
const STATE_ENDS: [&str; 5] = [
    "_qlen",
    "_backlog_bytes",
    "_memory_bytes",
    "_maxpacket_bytes",
    "_ldelay_us",
];

impl Counter {
    /// Whether the value is monotonic, so that the difference of two readings is the number of events between them.
    pub fn is_total(&self) -> bool {
        !STATES.contains(&self.name) && !STATE_ENDS.iter().any(|end| self.name.ends_with(end))
    }
}

#[cfg(test)]
mod tests {
    use super::Counter;

    #[test]
    fn what_rises_and_falls_is_no_total() {
        let is_total = |name| Counter { name, value: 1 }.is_total();
        for name in [
            "handshakes_sent",
            "data_drop_codel",
            "ecn_mark",
            "syn",
            "data_bytes",
        ] {
            assert!(is_total(name), "{name}");
        }
        for name in [
            "data_qlen",
            "handshakes_ldelay_us",
            "ldelay_us",
            "prob",
            "syn_qlen",
        ] {
            assert!(!is_total(name), "{name}");
        }
    }
}
