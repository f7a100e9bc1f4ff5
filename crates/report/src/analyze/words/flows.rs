//! Captured connections as flows: inferred values, and connections left out.

use crate::format::{count, percent, plural};
use gentle_trace::results::Flows;
use std::collections::BTreeMap;

/// Sentences about the flows.
pub(super) fn sentences(found: &Flows) -> Vec<String> {
    let connections = plural(found.connections, "connection", "connections");
    let mut sentences = Vec::new();
    if found.flows == 0 {
        sentences.push(format!("None of {connections} can be replayed."));
    } else {
        let share = found.flow_bytes as f64 / found.payload_bytes as f64;
        sentences.push(format!(
            "{} of {connections} can be replayed, with {} of the TCP payload.",
            count(found.flows),
            percent(share)
        ));
    }
    sentences.extend(left_out(&found.left_out));
    if found.flows == 0 {
        return sentences;
    }
    let mut carries = "A flow carries the larger direction of its connection".to_owned();
    if found.other_way_bytes > 0 {
        let share = found.other_way_bytes as f64 / found.payload_bytes as f64;
        carries += &format!("; the payload of the other direction ({}) is left out", percent(share));
    }
    sentences.push(carries + ".");
    sentences.push(
        "Each flow starts at its first SYN and sends without pauses, because a capture cannot distinguish application idle time from network delay.".to_owned(),
    );
    if found.open_at_end > 0 {
        sentences.push(format!(
            "{} still open at the end of the capture: only the captured part counts.",
            plural(found.open_at_end, "connection was", "connections were")
        ));
    }
    sentences.push(round_trips(found));
    sentences.push(if found.local {
        "Data towards the local prefixes goes down, data from them up.".to_owned()
    } else {
        "Data from server to client goes down, data from client to server up.".to_owned()
    });
    sentences
}

fn left_out(reasons: &BTreeMap<&'static str, u64>) -> Option<String> {
    let parts: Vec<String> = [
        ("no-syn", "without a SYN in the capture"),
        ("not-established", "without a complete handshake in the capture"),
        ("no-data", "without data"),
        ("not-across", "not between a local and another address"),
        ("too-many", "beyond the maximum number of flows"),
    ]
    .into_iter()
    .filter_map(|(reason, words)| Some(format!("{} {words}", count(*reasons.get(reason)?))))
    .collect();
    (!parts.is_empty()).then(|| format!("Left out: {}.", parts.join(", ")))
}

fn round_trips(found: &Flows) -> String {
    if found.rtt_unknown > 0 {
        let flows = plural(found.rtt_unknown, "flow is", "flows are");
        return format!("No round-trip time was measured: {flows} without one.");
    }
    let mut sentence = "Round-trip times are measured from the handshakes and include their queueing delay".to_owned();
    let inferred: Vec<String> = [
        (found.rtt_of_server, "takes the median of its server", "take the median of their server"),
        (found.rtt_of_trace, "takes the median of the capture", "take the median of the capture"),
    ]
    .into_iter()
    .filter(|(n, ..)| *n > 0)
    .map(|(n, one, several)| plural(n, one, several))
    .collect();
    if !inferred.is_empty() {
        sentence += &format!("; of flows whose handshake was retransmitted, {}", inferred.join(", "));
    }
    sentence + "."
}
