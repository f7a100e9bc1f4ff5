//! Connections that the filters of spa-2018 remove.

/// Connections that the filter with this name removes.
pub(super) fn description(filter: &str) -> &'static str {
    match filter {
        "syn-seen" => "connections without a captured SYN",
        "delay-45s" => "connections with more than 45 s of retransmission delay in a direction",
        "syn-flood" => {
            "connections of addresses with at least 1,000 connections without data and 1,000 times more of them than with data"
        }
        _ => "connections without a full three-way handshake or without data",
    }
}
