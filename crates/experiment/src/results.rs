//! Results of a comparison: the stable schema of `--json` and the source of tables, CSV and the HTML page.
//!
//! `docs/reference/json.md` documents the fields for users; its list of metrics is made from [`crate::measure`]. Raise [`SCHEMA`] when the meaning
//! of a field changes. Fractions are 0 to 1, times are in seconds, `None` (JSON `null`) means "no observation".

pub use crate::measure::application::ApplicationResult;
pub use crate::measure::connections::{GroupResult, Retransmission};
pub use crate::measure::links::{GroupLinkResult, GroupLinks, LinkResult, Links, Loss};
pub use crate::measure::scheme::SchemeResult;
pub use gentle_units::interned::Name;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the JSON schema.
pub const SCHEMA: u32 = 2;

/// Name of the primary result: the mean response time of the connections of the first range of sizes, which a lost SYN
/// delays most.
pub const HEADLINE: &str = "response_time_by_size.0.mean_s";

/// [`LinkSummary::qdisc`] of a reverse link that also has the scheme under test.
pub const TESTED: &str = "the scheme under test";

/// One scenario under several schemes.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// Version of the JSON schema, [`SCHEMA`].
    pub version: u32,
    /// Version of gentle that produced the comparison.
    pub gentle: String,
    /// Command line that reproduces the results; `None` if they were made without the command.
    pub command: Option<String>,
    /// The scenario.
    pub scenario: ScenarioSummary,
    /// True if the comparison was interrupted: `results` then covers the seeds that every scheme in it had finished.
    pub interrupted: bool,
    /// Labels of the schemes that are missing in `results` because they had not finished the compared seeds.
    pub left_out: Vec<String>,
    /// Seeds that every entry of `results` covers, in the order of `Series::values`.
    pub seeds: Vec<u64>,
    /// Label of the scheme that the others are compared with; `None` without results.
    pub reference: Option<String>,
    /// Name of the primary result, [`HEADLINE`].
    #[serde(deserialize_with = "gentle_units::interned::name")]
    pub headline: Name,
    /// One entry per scheme, in the order of the call.
    pub results: Vec<SchemeResult>,
}

/// Summary of a scenario, detailed enough to reproduce it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScenarioSummary {
    /// Name: `real`, or the file name without extension.
    pub name: String,
    /// Title for readers.
    pub title: String,
    /// Source: a table of a paper, or a file.
    pub source: String,
    /// TCP profile of the end hosts.
    pub profile: String,
    /// TCP knobs that differ from the profile, as written.
    pub tcp: BTreeMap<String, String>,
    /// Initial RTO of the hosts that connect, seconds; several, ascending, if workloads differ.
    pub initial_rto_s: Vec<f64>,
    /// Length of the arrival process, seconds.
    pub duration_s: f64,
    /// Warm-up at the start, left out of all results, seconds.
    pub warmup_s: f64,
    /// Maximum time that connections may continue after the last arrival, seconds.
    pub drain_s: f64,
    /// Requested seeds.
    pub seeds: Vec<u64>,
    /// True if every seed starts the same connections: seeds then differ only in the random decisions of queues and
    /// links.
    pub replayed: bool,
    /// The link under test.
    pub down: LinkSummary,
    /// The reverse link.
    pub up: LinkSummary,
    /// One-line descriptions of the workloads.
    pub workloads: Vec<String>,
    /// Assumptions where the source is silent, one sentence each.
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
    /// Queue, as written; for `down` the queue of a single run (`gentle sim`); [`TESTED`] if it is the queue of `down`.
    pub qdisc: String,
    /// Offered load as a fraction of the rate at the start: data packets with all headers, counted once, without ACKs,
    /// handshakes and long-lived connections.
    pub load: f64,
    /// Number of long-lived connections that send data in this direction, in addition to `load`.
    pub long_flows: u64,
}

/// A scalar result by seed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Series {
    /// Path in the JSON of a scheme's result: `loss.syn`, `response_time_by_size.0.mean_s`.
    pub name: String,
    /// Direction of improvement; `None` if it depends on the purpose.
    pub better: Option<Better>,
    /// Values in the order of [`Comparison::seeds`].
    pub values: Vec<Option<f64>>,
}

/// Direction of improvement of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// Lower values are better.
    Lower,
    /// Higher values are better.
    Higher,
}

/// Numbers by which harm to a part of the traffic is measured: paths in the results of the part, each with the direction that is better.
pub(crate) type HarmNumbers = &'static [(&'static str, Better)];

/// Comparison of a result with the reference's, paired by seed: with a given seed both schemes have the same
/// connections, so variation between seeds does not count as noise.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Paired {
    /// Mean over seeds of the difference, this scheme minus the reference; `None` for the reference itself.
    pub difference: Option<f64>,
    /// Half-width of the 95 % confidence interval of `difference`, not adjusted for multiple comparisons; `None` if all
    /// differences are equal or there are fewer than two.
    pub ci95: Option<f64>,
    /// How many times better than the reference: the mean of the reference divided by the mean of this scheme if lower
    /// values are better, the reverse if higher values are. `None` for the reference itself, and if the divisor is zero.
    pub factor: Option<f64>,
    /// Half-width of the 95 % confidence interval of `factor`, not adjusted for multiple comparisons.
    pub factor_ci95: Option<f64>,
    /// p-value of the two-sided paired test of the log ratios to the reference (of the differences, if a value is zero),
    /// adjusted by Holm's method for the number of schemes compared with the reference.
    pub p: Option<f64>,
    /// Verdict if `p` is below 5 % and the difference is more than 1 %; otherwise `None`.
    pub verdict: Option<Verdict>,
    /// True if this scheme is the best: it has the best number, or one within 1 % of it, and a scheme is significantly
    /// worse. False for a scheme that leaves connections unfinished that others finish.
    pub best: bool,
    /// True if others are the best by their numbers, but this one is not significantly worse.
    pub undecided: bool,
}

/// Significant difference from the reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Better than the reference.
    Better,
    /// Worse than the reference.
    Worse,
}

/// Harm that the rest of the traffic does to a part of it, by one number (Ware et al., "Beyond Jain's Fairness Index",
/// HotNets 2019): `(alone - together) / alone` if higher values are better, `(together - alone) / together` if lower
/// values are better.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Harm {
    /// Name of the application, or of the group.
    pub part: String,
    /// Kind of the application; `None`: a group of connections.
    pub kind: Option<String>,
    /// Path of the number in the results of the part: `delay_s.p99`, `transaction_s.p95`.
    pub number: String,
    /// The number when the part runs alone, under the same scheme and seeds.
    pub alone: Mean,
    /// The number with the rest of the traffic.
    pub together: Mean,
    /// Mean of the harm by seed: from 0 (no harm) to 1; negative if the part does better than alone.
    pub harm: Mean,
    /// Harm by seed, in the order of [`Comparison::seeds`].
    pub values: Vec<Option<f64>>,
}

/// Mean with its 95 % confidence interval over seeds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Mean {
    /// Mean of the seeds' means.
    pub mean: Option<f64>,
    /// Half-width of the interval; `None` with fewer than two seeds. From Student's t, widened because means of few
    /// seeds are skewed.
    pub ci95: Option<f64>,
}

impl Mean {
    /// Whether there was no observation.
    pub(crate) fn is_empty(&self) -> bool {
        self.mean.is_none()
    }

    /// Mean of `values`, one per seed, with its interval.
    pub fn over(values: impl Iterator<Item = f64>) -> Mean {
        crate::metrics::statistics::mean_of(values)
    }

    /// Half-width of the interval of the mean of `n` seeds, at least two, in standard deviations of a seed's mean. The interval
    /// contains the truth with the probability `confidence`, from 0 to 0.9999.
    pub fn half_width(n: usize, confidence: f64) -> f64 {
        crate::metrics::statistics::half_width(n, confidence)
    }
}

/// Mean and percentiles; percentiles are over all seeds together, to three significant digits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Distribution {
    /// Mean of the seeds' means.
    pub mean: Option<f64>,
    /// Half-width of the 95 % confidence interval of the mean.
    pub ci95: Option<f64>,
    /// Median.
    pub p50: Option<f64>,
    /// 95th percentile.
    pub p95: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
}

/// Response time of the connections of one range of sizes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SizeBin {
    /// Smallest size, segments.
    pub min_segments: u64,
    /// Largest size, segments; `None`: no bound.
    pub max_segments: Option<u64>,
    /// Completed connections in the range.
    pub n: u64,
    /// Connections in the range that were open when the drain ended or aborted by TCP.
    pub unfinished: u64,
    /// Mean response time, seconds.
    pub mean_s: Option<f64>,
    /// Half-width of the 95 % confidence interval of the mean, seconds.
    pub ci95_s: Option<f64>,
}

/// Curves for plots.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Curves {
    /// Distribution function of the response time as pairs (value in seconds, fraction), at the fractions 0, 0.01, …
    /// 0.99, 0.995, 0.998, 0.999 … and 1; fractions in the tail are left out if no observation lies beyond.
    pub response_time_cdf: Vec<(f64, f64)>,
    /// Distribution function of the sojourn time in the queue under test, at the same fractions.
    pub queue_delay_cdf: Vec<(f64, f64)>,
    /// Mean response time by size, in ranges of about equal width on a logarithmic axis.
    pub response_time_by_size: Vec<SizeBin>,
    /// Sojourn time in the queue under test over time, in the run of the first seed.
    pub queue_over_time: Vec<QueuePoint>,
}

/// Sojourn times in the queue under test in one time slice.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QueuePoint {
    /// Start of the slice, seconds.
    pub t_s: f64,
    /// Mean sojourn time of the packets that left in the slice, seconds; `None` if no packet left.
    pub mean_s: Option<f64>,
    /// Maximum sojourn time, seconds.
    pub max_s: Option<f64>,
}
