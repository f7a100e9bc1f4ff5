//! What a comparison found: the stable schema behind `--json`, which tables, CSV and the HTML page draw from.
//!
//! `docs/json.md` documents every field for users; change the two together, and raise [`SCHEMA`] when a field changes
//! its meaning. Fractions are 0 to 1, times are seconds, `None` (JSON `null`) means "no observation".

use serde::Serialize;
use std::collections::BTreeMap;

/// Version of the JSON schema.
pub const SCHEMA: u32 = 1;

/// One scenario under several schemes.
#[derive(Debug, Clone, Serialize)]
pub struct Comparison {
    /// Version of the JSON schema, [`SCHEMA`].
    pub version: u32,
    /// Version of gentle that produced it.
    pub gentle: String,
    /// What was simulated.
    pub scenario: ScenarioSummary,
    /// True when the run was stopped early: `results` then covers the runs that had finished.
    pub interrupted: bool,
    /// One entry a scheme, in the order in which they were asked for.
    pub results: Vec<SchemeResult>,
}

/// What was simulated, in enough detail to do it again.
#[derive(Debug, Clone, Serialize)]
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
    /// Length of the arrival process, seconds.
    pub duration_s: f64,
    /// Part of it at the start that is left out of every number, seconds.
    pub warmup_s: f64,
    /// How long connections may go on after the last arrival, seconds.
    pub drain_s: f64,
    /// The seeds that were run.
    pub seeds: Vec<u64>,
    /// The link whose queue is under test.
    pub down: LinkSummary,
    /// The way back.
    pub up: LinkSummary,
    /// The workloads, each in one line.
    pub workloads: Vec<String>,
    /// Choices made where the source is silent, each in one sentence.
    pub choices: Vec<String>,
}

/// One direction of the bottleneck.
#[derive(Debug, Clone, Serialize)]
pub struct LinkSummary {
    /// Rate at the start, bits per second.
    pub rate_bps: u64,
    /// One-way delay, seconds.
    pub delay_s: f64,
    /// The queue, as written; for `down` the one a single run (`gentle sim`) uses.
    pub qdisc: String,
}

/// Everything measured for one scheme. Where not said otherwise, connections are those that started after the warm-up,
/// over all seeds, and a mean is the mean of the seeds' means.
#[derive(Debug, Clone, Serialize)]
pub struct SchemeResult {
    /// Name of the scheme, `codel`.
    pub scheme: String,
    /// The scheme as asked for, `codel target=20ms`: the label for people.
    pub label: String,
    /// Every option in force.
    pub options: BTreeMap<String, String>,
    /// How many seeds were run.
    pub seeds: u32,
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
    /// The scalar results seed by seed, for the CSV file.
    #[serde(skip)]
    pub by_seed: Vec<SeedResult>,
}

/// What became of the connections of one group of workloads; fields are those of [`SchemeResult`].
#[derive(Debug, Clone, Serialize)]
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
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Mean {
    /// Mean of the seeds' means.
    pub mean: Option<f64>,
    /// Half-width of the interval (Student's t); `None` with fewer than two seeds.
    pub ci95: Option<f64>,
}

/// Mean and percentiles; percentiles are over all seeds together, to three significant digits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
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
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SizeBin {
    /// Smallest size, segments.
    pub min_segments: u64,
    /// Largest size, segments; `None`: no bound.
    pub max_segments: Option<u64>,
    /// Completed connections in the range.
    pub n: u64,
    /// Mean response time.
    pub mean_s: Option<f64>,
    /// Half-width of its 95 % confidence interval.
    pub ci95_s: Option<f64>,
}

/// Loss of packets by kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Loss {
    /// All packets.
    pub all: Option<f64>,
    /// Segments with payload (a FIN on one included).
    pub data: Option<f64>,
    /// SYNs.
    pub syn: Option<f64>,
    /// SYN/ACKs.
    pub synack: Option<f64>,
}

/// Retransmissions, as papers.md 1.2 defines them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
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
#[derive(Debug, Clone, Serialize)]
pub struct Links {
    /// The link under test.
    pub down: LinkResult,
    /// The way back.
    pub up: LinkResult,
}

/// One direction of the bottleneck, over all seeds.
#[derive(Debug, Clone, Default, Serialize)]
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
}

/// Curves for plots.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Curves {
    /// Response time at the percentiles 0, 1, … 99, 99.5, 99.9, 100 as pairs (value in seconds, fraction).
    pub response_time_cdf: Vec<(f64, f64)>,
    /// Time in the queue under test, likewise.
    pub queue_delay_cdf: Vec<(f64, f64)>,
    /// Mean response time over size, in ranges of about equal width on a logarithmic axis.
    pub response_time_by_size: Vec<SizeBin>,
    /// Time in the queue under test over the first seed's run.
    pub queue_over_time: Vec<QueuePoint>,
}

/// The queue under test in one slice of time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct QueuePoint {
    /// Start of the slice, seconds.
    pub t_s: f64,
    /// Mean time in the queue of the packets that left in the slice, seconds; `None`: none left.
    pub mean_s: Option<f64>,
    /// Longest time, seconds.
    pub max_s: Option<f64>,
}

/// The scalar results of one run.
#[derive(Debug, Clone, PartialEq)]
pub struct SeedResult {
    /// The seed.
    pub seed: u64,
    /// Name of the number, as in the JSON path (`loss.syn`), and its value.
    pub values: Vec<(&'static str, Option<f64>)>,
}
