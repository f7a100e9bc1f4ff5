//! Counts and connect times of a target.

use crate::connect::{Connect, Outcome, VERSION};
use hdrhistogram::Histogram;
use schemars::JsonSchema;
use serde::Serialize;
use std::net::SocketAddr;

/// Longest time that the histogram distinguishes, microseconds; above the longest timeout.
const LONGEST_US: u64 = 200_000_000;

/// Line of `gentle probe --json`: a connect, or, last, the summary.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum ProbeLine {
    /// A connect.
    Connect(Connect),
    /// The summary.
    Summary(SummaryLine),
}

/// Last line: the summary.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SummaryLine {
    /// Version of this format, 1.
    pub version: u32,
    /// One entry per target and address family.
    pub summary: Vec<TargetSummary>,
}

impl SummaryLine {
    /// Line with these summaries.
    pub fn new(summary: Vec<TargetSummary>) -> SummaryLine {
        SummaryLine { version: VERSION, summary }
    }
}

/// Connects to a target in one address family.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TargetSummary {
    /// Target as given.
    pub target: String,
    /// Address and port used last; `None` if the name has no address.
    #[schemars(with = "Option<String>")]
    pub address: Option<SocketAddr>,
    /// Connects that ended.
    pub connects: u64,
    /// Connects with outcome `connected`.
    pub connected: u64,
    /// Connects with outcome `refused`.
    pub refused: u64,
    /// Connects with outcome `unreachable`.
    pub unreachable: u64,
    /// Connects with outcome `timed-out`.
    pub timed_out: u64,
    /// Connects with outcome `unresolved`.
    pub unresolved: u64,
    /// Connects with outcome `error`.
    pub errors: u64,
    /// Connects not started, because 16 were under way or the machine was busy.
    pub skipped: u64,
    /// Completed connects that lost a SYN or SYN/ACK.
    pub with_loss: u64,
    /// SYNs lost on the path, or ignored by the server, before one was answered.
    pub lost_syns: u64,
    /// SYN/ACKs lost on the path.
    pub lost_synacks: u64,
    /// Losses of which the side is unknown.
    pub lost_unknown: u64,
    /// Completed connects whose SYN/ACK arrived after a needless retransmission of the SYN.
    pub late: u64,
    /// SYNs without an answer in connects that timed out.
    pub unanswered: u64,
    /// Mean time by which connects with a loss were longer than the median of the others, seconds; `None` unless there are
    /// both.
    pub loss_cost_s: Option<f64>,
    /// Connect times of completed connects; `None` if there are none.
    pub connect_s: Option<ConnectTimes>,
}

impl TargetSummary {
    /// Connects that ended without a completed handshake.
    pub fn failed(&self) -> u64 {
        self.connects - self.connected
    }
}

/// Distribution of the connect times, seconds. Percentiles have two significant digits or more.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct ConnectTimes {
    /// Fastest connect.
    pub min: f64,
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Slowest connect.
    pub max: f64,
}

/// Running counts of a lane.
#[derive(Debug)]
pub(crate) struct Tally {
    summary: TargetSummary,
    /// Connect times in microseconds, of connects without and with a loss.
    without_loss: Histogram<u64>,
    all: Histogram<u64>,
    /// Sum of the connect times of connects with a loss, seconds.
    with_loss_s: f64,
    fastest_s: f64,
    slowest_s: f64,
}

impl Default for Tally {
    fn default() -> Tally {
        Tally {
            summary: TargetSummary {
                target: String::new(),
                address: None,
                connects: 0,
                connected: 0,
                refused: 0,
                unreachable: 0,
                timed_out: 0,
                unresolved: 0,
                errors: 0,
                skipped: 0,
                with_loss: 0,
                lost_syns: 0,
                lost_synacks: 0,
                lost_unknown: 0,
                late: 0,
                unanswered: 0,
                loss_cost_s: None,
                connect_s: None,
            },
            without_loss: histogram(),
            all: histogram(),
            with_loss_s: 0.0,
            fastest_s: f64::INFINITY,
            slowest_s: 0.0,
        }
    }
}

/// Histogram of 30 kB.
fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LONGEST_US, 2).expect("the bounds are in order")
}

impl Tally {
    pub(crate) fn skipped(&mut self, count: u64) {
        self.summary.skipped += count;
    }

    pub(crate) fn add(&mut self, connect: &Connect) {
        let s = &mut self.summary;
        s.connects += 1;
        s.unanswered += u64::from(connect.unanswered);
        let count = match connect.outcome {
            Outcome::Connected => &mut s.connected,
            Outcome::Refused => &mut s.refused,
            Outcome::Unreachable => &mut s.unreachable,
            Outcome::TimedOut => &mut s.timed_out,
            Outcome::Unresolved => &mut s.unresolved,
            Outcome::Error => &mut s.errors,
        };
        *count += 1;
        if connect.outcome != Outcome::Connected {
            return;
        }
        s.lost_syns += u64::from(connect.lost_syns);
        s.lost_synacks += u64::from(connect.lost_synacks);
        s.lost_unknown += u64::from(connect.lost_unknown);
        s.late += u64::from(connect.late);
        let time = connect.connect_s;
        let us = (time * 1e6) as u64;
        self.all.saturating_record(us);
        self.fastest_s = self.fastest_s.min(time);
        self.slowest_s = self.slowest_s.max(time);
        if connect.has_loss() {
            s.with_loss += 1;
            self.with_loss_s += time;
        } else {
            self.without_loss.saturating_record(us);
        }
    }

    pub(crate) fn summary(&self, target: &str, address: Option<SocketAddr>) -> TargetSummary {
        let seconds = |histogram: &Histogram<u64>, quantile: f64| {
            let us = histogram.value_at_quantile(quantile) as f64;
            // A bucket can extend beyond the extreme times.
            (us / 1e6).clamp(self.fastest_s, self.slowest_s)
        };
        let has_times = !self.all.is_empty();
        let loss_cost_s = (self.summary.with_loss > 0 && !self.without_loss.is_empty())
            .then(|| self.with_loss_s / self.summary.with_loss as f64 - seconds(&self.without_loss, 0.5));
        TargetSummary {
            target: target.to_owned(),
            address,
            loss_cost_s,
            connect_s: has_times.then(|| ConnectTimes {
                min: self.fastest_s,
                p50: seconds(&self.all, 0.5),
                p95: seconds(&self.all, 0.95),
                p99: seconds(&self.all, 0.99),
                max: self.slowest_s,
            }),
            ..self.summary.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connect(outcome: Outcome, connect_s: f64, lost_syns: u32) -> Connect {
        Connect {
            version: VERSION,
            time: 0.0,
            target: "a:80".to_owned(),
            address: None,
            outcome,
            connect_s,
            rtt_s: None,
            syns: 1 + lost_syns,
            lost_syns,
            lost_synacks: 0,
            lost_unknown: 0,
            late: false,
            unanswered: 0,
            error: None,
        }
    }

    #[test]
    fn times_cover_completed_connects() {
        let mut tally = Tally::default();
        assert_eq!(tally.summary("a:80", None).connect_s, None);
        for ms in 10..=108 {
            tally.add(&connect(Outcome::Connected, f64::from(ms) / 1e3, 0));
        }
        tally.add(&connect(Outcome::Connected, 1.059, 1));
        tally.add(&connect(Outcome::TimedOut, 10.0, 0));
        let summary = tally.summary("a:80", None);
        let counts = (summary.connects, summary.connected, summary.failed(), summary.with_loss, summary.lost_syns);
        assert_eq!(counts, (101, 100, 1, 1, 1));
        let times = summary.connect_s.expect("times");
        assert_eq!((times.min, times.max), (0.010, 1.059));
        let near = |value: f64, expected: f64| (value - expected).abs() < 0.01 * expected;
        assert!(near(times.p50, 0.059) && near(times.p95, 0.104) && near(times.p99, 0.108), "{times:?}");
        assert!(near(summary.loss_cost_s.expect("a loss"), 1.0), "{summary:?}");
    }
}
