//! Numbers of connections: of all, or of a group.

use super::Metric;
use super::links::ratio;
use super::sample::{Pooled, Sample};
use super::table::{metrics, results};
use crate::metrics::tally::{BySize, Tally};
use crate::results::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

results! {
    /// Results of one group of workloads: of its connections, with the fields of [`SchemeResult`], and of its packets.
    #[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
    pub struct GroupResult of Tally {
        /// Name of the group.
        group: String;
        /// Connections started.
        connections: u64 = count(|tally| tally.connections) => Count [
            "" Shown => (
                "connections", "", 3, "connections of the group that began in the measured time, all seeds together"
            ),
        ];
        /// Connections that completed.
        completed: u64 = count(|tally| tally.completed);
        /// Connections that had not completed when the drain ended.
        unfinished: u64 = count(|tally| tally.unfinished);
        /// Connections aborted by TCP.
        failed: u64 = count(|tally| tally.failed);
        /// Time from the first SYN to completion, over completed connections.
        response_time_s: Distribution = times(|tally| &tally.response) => Time [
            ".mean" Lower => (
                "response", "mean", 0,
                "from the first SYN until the initiator knows that all its data and its FIN have arrived"
            ),
            ".p95" Shown => ("response", "p95", 4, "95 % of the connections took at most this long"),
        ];
        /// Response time by size of the connection.
        response_time_by_size: Vec<SizeBin> = part(|tally| &tally.by_size);
        /// Round-trip times measured by senders.
        rtt_s: Mean = mean(|tally| tally.rtt.mean());
        /// Time from the first SYN to the state ESTABLISHED of the initiator.
        handshake_s: Distribution = times(|tally| &tally.handshake) => Time [
            ".mean" Shown => ("handshake", "mean", 5, "from the first SYN until the initiator has the SYN/ACK"),
        ];
        /// Retransmissions.
        retransmission /
        /// Half-widths of the 95 % confidence intervals of `retransmission`.
        retransmission_ci95: Retransmission = part(|tally| tally) => Share [
            ".connections_with_syn_loss" Shown => ("SYN rtx", "", 1, "connections that retransmitted a SYN or SYN/ACK"),
        ];
        /// Packets of the group on each link.
        links: GroupLinks;
    }
}

impl GroupResult {
    /// Numbers of a group's connections, named by their path in its results.
    pub fn metrics() -> Vec<Metric> {
        metrics(Self::ENTRIES)
    }
}

results! {
    /// Retransmissions. The probabilities and sums are as in Braud, Heusse and Duda 2018.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
    pub struct Retransmission of Tally {
        /// Retransmitted packets as a fraction of all packets with SYN, FIN or data.
        packet_probability: Option<f64> = mean(|tally| ratio(tally.segments_retransmitted, tally.segments_sent))
            => Share ["" Lower];
        /// Retransmitted SYNs and SYN/ACKs as a fraction of all SYNs and SYN/ACKs.
        syn_probability: Option<f64> = mean(|tally| ratio(tally.syn_retransmitted, tally.syn_sent)) => Share ["" Lower];
        /// SYNs and SYN/ACKs as a fraction of all retransmissions.
        syn_share: Option<f64> = mean(|tally| ratio(tally.syn_retransmitted, tally.segments_retransmitted))
            => Share ["" Either (without_interval)];
        /// Fraction of connections that retransmitted a SYN or SYN/ACK.
        connections_with_syn_loss: Option<f64> = mean(|tally| ratio(tally.delay_with_syn_loss.n, tally.connections))
            => Share ["" Lower (without_interval)];
        /// Retransmission delay: time of a connection in which a retransmission was awaited, from the previous transmission of
        /// the segment on. Each moment counts once, so it is at most the response time. Mean over all connections, seconds.
        delay_mean_s: Option<f64> = mean(|tally| tally.delay.mean()) => Time [
            "" Lower => (
                "rtx delay", "mean", 6, "time of a connection spent waiting for retransmissions; each moment counts once"
            ),
        ];
        /// Part of `delay_mean_s` in which a SYN or SYN/ACK was awaited.
        delay_mean_syn_part_s: Option<f64> = mean(|tally| tally.delay_syn_part.mean()) => Time [
            "" Lower => (
                "rtx delay", "SYN part", 7, "the part of the retransmission delay spent waiting for a SYN or SYN/ACK"
            ),
        ];
        // The scheme determines which connections these means cover, so the values of two schemes are not comparable.
        /// Mean retransmission delay of connections that retransmitted a SYN or SYN/ACK, seconds.
        delay_mean_with_syn_loss_s: Option<f64> = mean(|tally| tally.delay_with_syn_loss.mean())
            => Time ["" Either (without_interval)];
        /// Mean retransmission delay of connections that retransmitted neither, seconds.
        delay_mean_without_syn_loss_s: Option<f64> = mean(|tally| tally.delay_without_syn_loss.mean())
            => Time ["" Either (without_interval)];
        /// Retransmission delay as Braud, Heusse and Duda 2018 define it: sum over the retransmissions of a connection of the
        /// time since the previous transmission. Segments that wait at the same time count separately, so it can exceed the
        /// response time. Mean over all connections, seconds.
        delay_sum_mean_s: Option<f64> = mean(|tally| tally.delay_sum.mean()) => Time ["" Lower (without_interval)];
        /// Part of `delay_sum_mean_s` due to SYNs and SYN/ACKs.
        delay_sum_mean_syn_part_s: Option<f64> = mean(|tally| tally.delay_sum_syn_part.mean())
            => Time ["" Lower (without_interval)];
    }
}

impl Pooled<Sample<'_, BySize>> for Vec<SizeBin> {
    /// Response times of all ranges, including those without connections.
    fn pooled(sizes: Sample<'_, BySize>) -> (Self, Self) {
        let ranges = sizes.first().map_or(0, |sizes| sizes.bins.len());
        let range = |index: usize| {
            let Mean { mean, ci95 } = sizes.mean(|sizes| sizes.sums[index].mean());
            let (min_segments, max_segments) = sizes.first()?.bins.range(index);
            Some(SizeBin {
                min_segments,
                max_segments,
                n: sizes.count(|sizes| sizes.sums[index].n),
                unfinished: sizes.count(|sizes| sizes.open[index]),
                mean_s: mean,
                ci95_s: ci95,
            })
        };
        ((0..ranges).filter_map(range).collect(), Vec::new())
    }
}
