//! What a comparison found: the stable schema behind `--json`, which tables, CSV and the HTML page draw from.
//!
//! `docs/json.md` documents every field for users; change the two together, and raise [`SCHEMA`] when a field changes
//! its meaning. Fractions are 0 to 1, times are seconds, `None` (JSON `null`) means "no observation".

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the JSON schema.
pub const SCHEMA: u32 = 1;

/// Name of the number that leads everywhere: the mean response time of the connections of the first range of sizes, which a
/// lost SYN hurts most.
pub const HEADLINE: &str = "response_time_by_size.0.mean_s";

/// One scenario under several schemes.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Comparison {
    /// Version of the JSON schema, [`SCHEMA`].
    pub version: u32,
    /// Version of gentle that produced it.
    pub gentle: String,
    /// The command line that gives these results again; `None`: they were not made by the command.
    pub command: Option<String>,
    /// What was simulated.
    pub scenario: ScenarioSummary,
    /// True when the run was stopped early: `results` then covers the seeds that every scheme in it had finished.
    pub interrupted: bool,
    /// Labels of the schemes that had finished no seed which others had when the run was stopped.
    pub left_out: Vec<String>,
    /// The seeds that every entry of `results` covers, in the order of `Series::values`.
    pub seeds: Vec<u64>,
    /// Label of the scheme that the others are compared with; `None` without results.
    pub reference: Option<String>,
    /// Name of the number that leads everywhere, [`HEADLINE`].
    pub headline: &'static str,
    /// One entry a scheme, in the order in which they were asked for.
    pub results: Vec<SchemeResult>,
}

/// What was simulated, in enough detail to do it again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScenarioSummary {
    /// Its name: `real`, or the file's name without its ending.
    pub name: String,
    /// Its title, for people.
    pub title: String,
    /// Where it comes from: a paper's table, a file.
    pub source: String,
    /// TCP profile of the end hosts.
    pub profile: String,
    /// TCP knobs that differ from the profile, as written.
    pub tcp: BTreeMap<String, String>,
    /// How long a host waits for the answer to its first SYN, seconds; several where workloads differ, ascending.
    pub initial_rto_s: Vec<f64>,
    /// Length of the arrival process, seconds.
    pub duration_s: f64,
    /// Part of it at the start that is left out of every number, seconds.
    pub warmup_s: f64,
    /// How long connections may go on after the last arrival, seconds.
    pub drain_s: f64,
    /// The seeds that were asked for.
    pub seeds: Vec<u64>,
    /// Whether every seed starts the same connections: only what queues and links draw at random differs.
    pub replayed: bool,
    /// The link whose queue is under test.
    pub down: LinkSummary,
    /// The reverse link.
    pub up: LinkSummary,
    /// The workloads, each in one line.
    pub workloads: Vec<String>,
    /// Assumptions where the source is silent, each in one sentence.
    #[serde(rename = "choices")]
    pub assumptions: Vec<String>,
}

/// One direction of the bottleneck.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LinkSummary {
    /// Rate at the start, bits per second.
    pub rate_bps: u64,
    /// One-way delay, seconds.
    pub delay_s: f64,
    /// The queue, as written; for `down` the one a single run (`gentle sim`) uses.
    pub qdisc: String,
    /// What connections and packets that start on their own ask of the link, as a share of its rate at the start: full
    /// packets with all headers, once each, without ACKs and handshakes.
    pub load: f64,
    /// Long-lived connections whose data goes this way, on top of `load`: they take what they get.
    pub long_flows: u64,
}

/// Everything measured for one scheme. Where not said otherwise, connections are those that started after the warm-up,
/// over all seeds, and a mean is the mean of the seeds' means.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SchemeResult {
    /// Name of the scheme, `codel`.
    pub scheme: String,
    /// The scheme as asked for, `codel target=20ms`: the label for people.
    pub label: String,
    /// Every option in force.
    pub options: BTreeMap<String, String>,
    /// How many seeds were run.
    pub seeds: u32,
    /// True when two or more seeds gave the same results in everything: nothing that matters was drawn at random, and there
    /// are no confidence intervals.
    pub seeds_alike: bool,
    /// Connections started.
    pub connections: u64,
    /// Connections that completed: the initiator knows that everything, FIN included, has arrived.
    pub completed: u64,
    /// Connections that had not completed when the drain ended.
    pub unfinished: u64,
    /// Connections given up by TCP (too many retransmissions).
    pub failed: u64,
    /// First SYN sent until completion, over completed connections.
    pub response_time_s: Distribution,
    /// The same by size of the connection.
    pub response_time_by_size: Vec<SizeBin>,
    /// Round-trip times as senders measure them (no samples from retransmitted segments).
    pub rtt_s: Mean,
    /// First SYN sent until the initiator is established.
    pub handshake_s: Distribution,
    /// Time in the queue under test, over packets that left it.
    pub queue_delay_s: Distribution,
    /// Packets lost, of those offered to the queues (random loss on the link included).
    pub loss: Loss,
    /// Half-widths of the 95 % confidence intervals of `loss`.
    pub loss_ci95: Loss,
    /// Retransmissions.
    pub retransmission: Retransmission,
    /// Half-widths of the 95 % confidence intervals of `retransmission`.
    pub retransmission_ci95: Retransmission,
    /// Share of the capacity of the link under test that was used between warm-up and the last arrival.
    pub utilization: Option<f64>,
    /// Half-width of its 95 % confidence interval.
    pub utilization_ci95: Option<f64>,
    /// Payload that all long-lived flows together received, bits per second; absent without long-lived flows.
    pub long_goodput_bps: Mean,
    /// Goodput of long-lived flows, Jain's index; absent without long-lived flows.
    pub jain_index: Option<f64>,
    /// Packets dropped by the queue under test, by reason, over all seeds.
    pub drops: BTreeMap<&'static str, u64>,
    /// Packets marked with ECN by the queue under test, over all seeds.
    pub marks: u64,
    /// The two directions apart.
    pub links: Links,
    /// Connections of the scenario's groups of workloads on their own; empty without groups.
    pub groups: Vec<GroupResult>,
    /// Curves for plots.
    pub curves: Curves,
    /// The scalar results seed by seed.
    pub by_seed: Vec<Series>,
    /// The scalar results that are judged against those of the reference and of all others, by name.
    pub paired: BTreeMap<String, Paired>,
}

/// One scalar result, seed by seed.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Series {
    /// Its path in the JSON of a scheme's result: `loss.syn`, `response_time_by_size.0.mean_s`.
    pub name: String,
    /// Which end of its range is the good one; `None`: depends on what one wants.
    pub better: Option<Better>,
    /// A value for each of [`Comparison::seeds`].
    pub values: Vec<Option<f64>>,
}

/// Which end of a range is the good one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// The lower.
    Lower,
    /// The higher.
    Higher,
}

/// How a number compares with the reference's, paired by seed: every seed gives both schemes the same connections, so what
/// the connections have in common does not count as noise.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct Paired {
    /// Mean over seeds of this scheme's value less the reference's; `None` for the reference itself.
    pub difference: Option<f64>,
    /// Half-width of its 95 % confidence interval (Student's t over the seeds' differences), taken by itself; `None` where
    /// all differences are the same or there are fewer than two.
    pub ci95: Option<f64>,
    /// How likely differences like these are if there is none (paired t-test, two-sided), corrected by Holm's method for the
    /// number of schemes that are compared with the reference.
    pub p: Option<f64>,
    /// What follows from `p` at 5 %; `None`: nothing does.
    pub verdict: Option<Verdict>,
    /// Whether this scheme can be the best of all: no other is significantly better. False for all where that is so of every
    /// scheme, or of a scheme that leaves connections unfinished which others finish.
    pub best: bool,
}

/// A scheme against the reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Better than the reference.
    Better,
    /// Worse than the reference.
    Worse,
}

/// What became of the connections of one group of workloads; fields are those of [`SchemeResult`].
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct GroupResult {
    /// Its name.
    pub group: String,
    /// Connections started.
    pub connections: u64,
    /// Connections that completed.
    pub completed: u64,
    /// Connections that had not completed when the drain ended.
    pub unfinished: u64,
    /// Connections given up by TCP.
    pub failed: u64,
    /// First SYN sent until completion, over completed connections.
    pub response_time_s: Distribution,
    /// The same by size of the connection.
    pub response_time_by_size: Vec<SizeBin>,
    /// Round-trip times as senders measure them.
    pub rtt_s: Mean,
    /// First SYN sent until the initiator is established.
    pub handshake_s: Distribution,
    /// Retransmissions.
    pub retransmission: Retransmission,
    /// Half-widths of the 95 % confidence intervals of `retransmission`.
    pub retransmission_ci95: Retransmission,
}

/// Mean with its 95 % confidence interval over seeds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct Mean {
    /// Mean of the seeds' means.
    pub mean: Option<f64>,
    /// Half-width of the interval (Student's t); `None` with fewer than two seeds.
    pub ci95: Option<f64>,
}

/// Mean and percentiles; percentiles are over all seeds together, to three significant digits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct Distribution {
    /// Mean of the seeds' means.
    pub mean: Option<f64>,
    /// Half-width of its 95 % confidence interval.
    pub ci95: Option<f64>,
    /// Median.
    pub p50: Option<f64>,
    /// 95th percentile.
    pub p95: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
}

/// Response time of the connections of one range of sizes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct SizeBin {
    /// Smallest size, segments.
    pub min_segments: u64,
    /// Largest size, segments; `None`: no bound.
    pub max_segments: Option<u64>,
    /// Completed connections in the range.
    pub n: u64,
    /// Connections in the range that were left open when the drain ended or given up by TCP.
    pub unfinished: u64,
    /// Mean response time.
    pub mean_s: Option<f64>,
    /// Half-width of its 95 % confidence interval.
    pub ci95_s: Option<f64>,
}

/// Loss of packets by kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct Loss {
    /// All packets.
    pub all: Option<f64>,
    /// Segments with payload (a FIN on one included).
    pub data: Option<f64>,
    /// SYNs.
    pub syn: Option<f64>,
    /// SYN/ACKs.
    pub synack: Option<f64>,
    /// SYNs and SYN/ACKs together.
    pub handshake: Option<f64>,
}

/// Retransmissions, as Braud, Heusse and Duda 2018 define them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct Retransmission {
    /// Retransmitted packets of all packets that carry SYN, FIN or data.
    pub packet_probability: Option<f64>,
    /// Retransmitted SYNs and SYN/ACKs of all SYNs and SYN/ACKs.
    pub syn_probability: Option<f64>,
    /// Share of SYNs and SYN/ACKs among retransmissions.
    pub syn_share: Option<f64>,
    /// Share of connections that retransmitted a SYN or SYN/ACK.
    pub connections_with_syn_loss: Option<f64>,
    /// Time between the transmissions of a retransmitted packet, added up per connection: mean over all connections.
    pub delay_mean_s: Option<f64>,
    /// The part of `delay_mean_s` that SYNs and SYN/ACKs contribute.
    pub delay_mean_syn_part_s: Option<f64>,
    /// Mean over connections that retransmitted a SYN or SYN/ACK.
    pub delay_mean_with_syn_loss_s: Option<f64>,
    /// Mean over those that did not.
    pub delay_mean_without_syn_loss_s: Option<f64>,
}

/// Both directions.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct Links {
    /// The link under test.
    pub down: LinkResult,
    /// The reverse link.
    pub up: LinkResult,
}

/// One direction of the bottleneck, over all seeds.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct LinkResult {
    /// Packets offered to the queue.
    pub offered: u64,
    /// Packets sent.
    pub sent: u64,
    /// Packets dropped by reason, `loss` being random loss on the link.
    pub drops: BTreeMap<&'static str, u64>,
    /// Share of the capacity used between warm-up and the last arrival.
    pub utilization: Option<f64>,
    /// Time in the queue.
    pub queue_delay_s: Distribution,
    /// Loss by kind.
    pub loss: Loss,
    /// Half-widths of the 95 % confidence intervals of `loss`.
    pub loss_ci95: Loss,
}

/// Curves for plots.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct Curves {
    /// Response time at the fractions 0, 0.01, … 0.99, 0.995, 0.998, 0.999 … and 1 as pairs (value in seconds, fraction); the tail
    /// is as fine as observations lie beyond.
    pub response_time_cdf: Vec<(f64, f64)>,
    /// Time in the queue under test, likewise.
    pub queue_delay_cdf: Vec<(f64, f64)>,
    /// Mean response time over size, in ranges of about equal width on a logarithmic axis.
    pub response_time_by_size: Vec<SizeBin>,
    /// Time in the queue under test over the first seed's run.
    pub queue_over_time: Vec<QueuePoint>,
}

/// The queue under test in one slice of time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct QueuePoint {
    /// Start of the slice, seconds.
    pub t_s: f64,
    /// Mean time in the queue of the packets that left in the slice, seconds; `None`: none left.
    pub mean_s: Option<f64>,
    /// Longest time, seconds.
    pub max_s: Option<f64>,
}
