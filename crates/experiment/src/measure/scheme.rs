//! Numbers of a scheme.

use super::Metric;
use super::links::{down, jain_index, long_goodput_bps, ratio, utilization};
use super::table::{metrics, results};
use crate::direction::Direction;
use crate::metrics::record::RunRecord;
use crate::results::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

results! {
    /// Results of one scheme. Unless stated otherwise, connections are those that started after the warm-up, over all
    /// seeds, and a mean is the mean of the seeds' means.
    #[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
    pub struct SchemeResult of RunRecord {
        /// Name of the scheme, `codel`.
        scheme: String;
        /// Scheme with the options given, `codel target=20ms`: the label in reports.
        label: String;
        /// Values of all options.
        options: BTreeMap<String, String>;
        /// Number of seeds.
        seeds: u32;
        /// True if two or more seeds have equal results: no relevant random decision was made, and there are no confidence
        /// intervals.
        seeds_alike: bool;
        /// Connections started.
        connections: u64 = count(|run| run.all.connections) => Count ["" Either];
        /// Connections that completed: all data and the FIN are acknowledged to the initiator.
        completed: u64 = count(|run| run.all.completed) => Count ["" Either];
        /// Connections that had not completed when the drain ended.
        unfinished: u64 = count(|run| run.all.unfinished) => Count [
            "" Lower => ("conn.", "unfinished", 1, "connections that had not completed when the drain ended"),
        ];
        /// Connections aborted by TCP (too many retransmissions).
        failed: u64 = count(|run| run.all.failed) => Count [
            "" Lower => ("conn.", "given up", 1, "connections that TCP gave up after too many retransmissions"),
        ];
        /// SYNs and SYN/ACKs as a fraction of all packets with SYN, FIN or data: an example of a metric, for tests.
        #[serde(default, skip_serializing_if = "Mean::is_empty")]
        #[schemars(skip)]
        handshake_share: Mean = mean(|run| ratio(run.all.syn_sent, run.all.segments_sent)) => Share [
            ".mean" Lower (unlisted) => ("segments", "handshake", 3, "SYNs and SYN/ACKs, of all segments with SYN, FIN or data"),
        ];
        /// Time from the first SYN to completion, over completed connections.
        response_time_s: Distribution = times(|run| &run.all.response) => Time [
            ".mean" Lower => (
                "response", "mean", 2,
                "from the first SYN until the initiator knows that all its data and its FIN have arrived"
            ),
            ".p50" Lower => ("response", "p50", 10, "half of the connections took at most this long"),
            ".p95" Lower => ("response", "p95", 5, "95 % of the connections took at most this long"),
            ".p99" Lower => ("response", "p99", 9, "99 % of the connections took at most this long"),
        ];
        /// Response time by size of the connection.
        response_time_by_size: Vec<SizeBin> = part(|run| &run.all.by_size);
        /// Round-trip times measured by senders (no samples from retransmitted segments).
        rtt_s: Mean = mean(|run| run.all.rtt.mean()) => Time [
            ".mean" Lower => ("RTT", "mean", 4, "round-trip time as the senders measure it"),
        ];
        /// Time from the first SYN to the state ESTABLISHED of the initiator.
        handshake_s: Distribution = times(|run| &run.all.handshake) => Time [".mean" Lower];
        /// Sojourn time in the queue under test, over packets that left it.
        queue_delay_s: Distribution = times(|run| &down(run).queue_delay) => Time [
            ".mean" Lower => ("queue", "mean", 8, "sojourn time in the queue under test"),
            ".p50" Lower,
            ".p95" Lower => (
                "queue", "p95", 11, "95 % of the packets had at most this sojourn time in the queue under test"
            ),
            ".p99" Lower,
        ];
        /// Lost packets as a fraction of those offered to the queues (including random loss on the link).
        loss /
        /// Half-widths of the 95 % confidence intervals of `loss`.
        loss_ci95: Loss = part(|run| &run.links[..]), all of Loss;
        /// Retransmissions.
        retransmission /
        /// Half-widths of the 95 % confidence intervals of `retransmission`.
        retransmission_ci95: Retransmission = part(|run| &run.all), all of Retransmission;
        /// Bytes that the link under test carried between warm-up and the last arrival, as a fraction of those that it could
        /// carry.
        utilization /
        /// Half-width of the 95 % confidence interval of `utilization`.
        utilization_ci95: Option<f64> = mean(|run| utilization(down(run))) => Share [
            "" Higher => ("link", "used", 12, "bytes that the link under test carried, of those that it could carry"),
        ];
        /// Goodput of the long-lived connections whose data uses the link under test: [`LinkResult::long_goodput_bps`].
        long_goodput_bps: Mean = mean(|run| long_goodput_bps(run, Direction::Down)) => Rate [
            ".mean" Higher => (
                "goodput", "long flows", 4,
                "payload that the long-lived flows of this direction received, as a share of what its link could carry",
                of "links.down.capacity_bps"
            ),
        ];
        /// Jain's fairness index of these connections: [`LinkResult::jain_index`].
        jain_index: Option<f64> = mean(|run| jain_index(run, Direction::Down)) => Index [
            "" Higher => ("fairness", "Jain", 12, "Jain's index over the goodput of the long-lived flows of this direction"),
        ];
        /// Packets dropped by the queue under test, by reason, over all seeds.
        #[serde(deserialize_with = "gentle_units::interned::keys")]
        drops: BTreeMap<Name, u64>;
        /// Packets marked with ECN by the queue under test, over all seeds.
        marks: u64 = count(|run| down(run).marked) => Count [
            "" Shown => ("ECN", "marks", 13, "packets marked by the queue under test"),
        ];
        /// Results of each direction.
        links: Links = part(|run| run)
            => Share [
                ".down.loss.all" Lower => (
                    "loss", "all", 4, "packets lost on the link under test, of all offered to its queue"
                ),
                ".down.loss.handshake" Lower => (
                    "loss", "SYN", 3, "SYNs and SYN/ACKs lost on the link under test, of those offered to its queue"
                ),
                ".up.loss.handshake" Lower,
            ]
            => Rate [
                ".up.long_goodput_bps.mean" Higher => (
                    "goodput up", "long flows", 4,
                    "payload that the long-lived flows of this direction received, as a share of what its link could carry",
                    of "links.up.capacity_bps"
                ),
            ]
            => Index [
                ".up.jain_index" Higher => (
                    "fairness up", "Jain", 12, "Jain's index over the goodput of the long-lived flows of this direction"
                ),
            ];
        /// Results of each group of workloads; empty without groups.
        groups: Vec<GroupResult>;
        /// Results of each application; empty without applications.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        applications: Vec<ApplicationResult>;
        /// Harm that the rest of the traffic does to each application and each group; empty unless requested.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        harm: Vec<Harm>;
        /// Curves for plots.
        curves: Curves;
        /// Scalar results by seed.
        by_seed: Vec<Series>;
        /// Paired comparisons with the reference and with all other schemes, by name of the scalar result.
        paired: BTreeMap<String, Paired>;
    }
}

impl SchemeResult {
    /// Numbers of a scheme in reading order: the order of the JSON, except that the losses on each link stand with the
    /// other losses.
    pub fn metrics() -> Vec<Metric> {
        let of_links = |metric: &Metric| metric.name.starts_with("links.") && metric.name.contains(".loss.");
        let (losses, mut all): (Vec<Metric>, Vec<Metric>) = metrics(Self::ENTRIES).into_iter().partition(of_links);
        let after = all.iter().rposition(|metric| metric.name.starts_with("loss.")).map_or(0, |last| last + 1);
        all.splice(after..after, losses);
        all
    }
}
