//! Counters specific to a kind of qdisc.

use schemars::JsonSchema;
use serde::Serialize;

/// Counter or gauge specific to a kind of qdisc.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Counter {
    /// Name of the field in the kernel, with its unit if it has one.
    pub name: &'static str,
    /// Count since the qdisc was created, or current value of a gauge.
    pub value: u64,
}

/// Names of values that rise and fall (gauges); all others are monotonic.
const GAUGES: [&str; 34] = [
    "above",
    "avg_dq_rate",
    "band0_packets",
    "band1_packets",
    "band2_packets",
    "capacity_estimate_bytes_per_second",
    "count",
    "cumul_ns",
    "delay_c_us",
    "delay_l_us",
    "delay_ns",
    "delay_us",
    "dq_rate_estimating",
    "dropping",
    "expiry_ns",
    "flows",
    "inactive_flows",
    "interval_ns",
    "lastcount",
    "ldelay_us",
    "max_memory_used_bytes",
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
    "throttled_flows",
    "unthrottle_latency_ns",
];

/// Suffixes of gauges that exist once per queue.
const GAUGE_SUFFIXES: [&str; 7] = [
    "_avg_delay_us",
    "_bulk_flows",
    "_peak_delay_us",
    "_sparse_flows",
    "_unresponsive_flows",
    "_qlen",
    "_backlog_bytes",
];

impl Counter {
    /// Whether the value is monotonic, so that the difference between two readings counts the events between them.
    pub fn is_total(&self) -> bool {
        !GAUGES.contains(&self.name) && !GAUGE_SUFFIXES.iter().any(|suffix| self.name.ends_with(suffix))
    }
}

#[cfg(test)]
mod tests {
    use super::Counter;

    #[test]
    fn gauges_are_not_totals() {
        let is_total = |name| Counter { name, value: 1 }.is_total();
        for name in ["ecn_mark", "syn", "tin1_ack_drops"] {
            assert!(is_total(name), "{name}");
        }
        for name in ["ldelay_us", "prob", "syn_qlen", "tin3_peak_delay_us"] {
            assert!(!is_total(name), "{name}");
        }
    }
}
