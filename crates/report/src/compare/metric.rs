//! Metrics of a table, one column each, in reading order.

use super::applications::keep_observed;
use crate::format::{Quantity, Scale, sizes};
use gentle_experiment::results::{Comparison, Distribution, HEADLINE, LinkResult, Mean, Paired, SchemeResult, SizeBin};

/// Number and half-width of its 95 % confidence interval.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Measured {
    pub(crate) value: Option<f64>,
    pub(crate) ci95: Option<f64>,
    /// Whether the number is a sample statistic, which has an interval unless all seeds gave the same value.
    pub(crate) sampled: bool,
}

impl Measured {
    pub(super) fn bare(value: Option<f64>) -> Self {
        Self { value, ..Self::default() }
    }

    pub(super) fn sampled(value: Option<f64>, ci95: Option<f64>) -> Self {
        Self { value, ci95, sampled: true }
    }

    pub(super) fn count(n: u64) -> Self {
        Self::bare(Some(n as f64))
    }
}

impl From<Distribution> for Measured {
    fn from(d: Distribution) -> Self {
        Self::sampled(d.mean, d.ci95)
    }
}

impl From<Mean> for Measured {
    fn from(m: Mean) -> Self {
        Self::sampled(m.mean, m.ci95)
    }
}

/// Column of a table.
pub(crate) struct Metric {
    /// First line of the head: the subject.
    pub(crate) subject: String,
    /// Second line of the head: the statistic of the subject.
    pub(crate) detail: &'static str,
    /// Explanation of the metric: below tables, in the help and in `docs/columns.md`.
    pub(crate) explanation: &'static str,
    /// Rank of the column: the highest ranks are dropped first if there is little room; rank 0 stays.
    pub(crate) rank: u8,
    /// Name of the scalar result that is tested for differences between schemes; `None` if there is no test.
    name: Option<String>,
    /// Whether the column shows the difference to the reference.
    paired: bool,
    pub(super) quantity: Quantity,
    measure: Box<dyn Fn(&SchemeResult) -> Measured>,
}

impl Metric {
    pub(super) fn rank(mut self, rank: u8) -> Self {
        self.rank = rank;
        self
    }

    pub(super) fn about(mut self, explanation: &'static str) -> Self {
        self.explanation = explanation;
        self
    }

    pub(super) fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Value of each scheme.
    pub(crate) fn measure(&self, results: &[SchemeResult]) -> Vec<Measured> {
        results.iter().map(&self.measure).collect()
    }

    /// Value of one scheme, with unit and digits for it alone.
    pub(crate) fn of_scheme(&self, result: &SchemeResult) -> (Measured, Scale) {
        let measured = (self.measure)(result);
        (measured, self.scale(&[measured]))
    }

    /// Unit and digits for `values`.
    pub(crate) fn scale(&self, values: &[Measured]) -> Scale {
        Scale::of(self.quantity, values.iter().filter_map(|m| m.value))
    }

    /// Whether each of `results` is the best; see [`Paired::best`].
    pub(crate) fn best(&self, results: &[SchemeResult]) -> Vec<bool> {
        let best = |r: &SchemeResult| self.of(r).is_some_and(|paired| paired.best);
        results.iter().map(best).collect()
    }

    /// Whether chance may have made each of `results` worse than the best; see [`Paired::undecided`].
    pub(super) fn undecided(&self, results: &[SchemeResult]) -> Vec<bool> {
        let undecided = |r: &SchemeResult| self.of(r).is_some_and(|paired| paired.undecided);
        results.iter().map(undecided).collect()
    }

    /// Whether each scheme can be ranked by the metric; see [`Comparison::ranked`].
    pub(super) fn ranked(&self, comparison: &Comparison) -> Vec<bool> {
        match &self.name {
            Some(name) => comparison.ranked(name),
            None => vec![true; comparison.results.len()],
        }
    }

    fn of<'a>(&self, result: &'a SchemeResult) -> Option<&'a Paired> {
        result.paired.get(self.name.as_ref()?)
    }

    /// Text of a cell; `reference` is the label of the reference scheme. If intervals are requested and all seeds gave
    /// the same value, a dash replaces the interval.
    pub(crate) fn show(
        &self,
        scale: &Scale,
        result: &SchemeResult,
        reference: Option<&str>,
        measured: Measured,
        intervals: bool,
    ) -> String {
        let value = match self.paired {
            true => scale.show_signed(measured.value),
            false => scale.show(measured.value),
        };
        if self.paired && reference == Some(&result.label) {
            return "reference".to_owned();
        }
        let several = measured.sampled && measured.value.is_some() && result.seeds > 1;
        let interval = match measured.ci95 {
            _ if !intervals || !several => String::new(),
            ci95 => format!(" ±{}", scale.show(ci95)),
        };
        let mark = match self.of(result).filter(|_| self.paired) {
            Some(paired) if paired.verdict.is_some() => " *",
            _ => "",
        };
        format!("{value}{interval}{mark}")
    }
}

/// What there is to show.
pub(super) struct Shown<'a> {
    /// Ranges of connection sizes.
    pub(super) bins: &'a [SizeBin],
    /// Whether there are connections in the first range.
    pub(super) leads: bool,
    /// Whether there is a scheme to compare with.
    pub(super) several: bool,
    /// Whether a scheme leaves connections unfinished.
    pub(super) open: bool,
    /// Whether there are long-lived flows on the link under test, and on the reverse link.
    pub(super) long: [bool; 2],
    /// Whether packets are marked.
    pub(super) marks: bool,
    /// Whether connections are given up.
    pub(super) failed: bool,
}

impl Shown<'_> {
    fn of(comparison: &Comparison) -> Shown<'_> {
        let results = &comparison.results;
        let any = |is: fn(&SchemeResult) -> bool| results.iter().any(is);
        Shown {
            bins: results.first().map_or(&[][..], |r| &r.response_time_by_size),
            leads: any(|r| {
                let first = r.response_time_by_size.first();
                first.is_some_and(|bin| bin.n + bin.unfinished > 0)
            }),
            several: results.len() > 1,
            open: any(|r| r.unfinished > 0),
            long: [
                any(|r| r.links.down.long_goodput_bps.mean.is_some()),
                any(|r| r.links.up.long_goodput_bps.mean.is_some()),
            ],
            marks: any(|r| r.marks > 0),
            failed: any(|r| r.failed > 0),
        }
    }
}

/// All columns for `comparison`, in reading order.
pub(crate) fn metrics(comparison: &Comparison) -> Vec<Metric> {
    let mut all = columns(&Shown::of(comparison));
    if comparison.results.iter().all(|r| r.connections == 0) {
        // Without connections only the links are left.
        let of_connections = |name: &str| {
            ["response_time", "retransmission", "unfinished", "failed"].iter().any(|start| name.starts_with(start))
        };
        all.retain(|metric| !metric.name.as_deref().is_some_and(of_connections));
        keep_observed(&mut all, comparison);
        if let Some(first) = all.first_mut() {
            first.rank = 0;
        }
    }
    all
}

/// Columns of what there is to show, in reading order.
pub(super) fn columns(shown: &Shown<'_>) -> Vec<Metric> {
    use Quantity::{Count, Share, Time};

    let &Shown { bins, leads, open, .. } = shown;
    let of_bin = |i: usize, bin: &SizeBin| {
        let subject = format!("{} seg", sizes(bin.min_segments, bin.max_segments));
        metric(&subject, "mean", Time, move |r| {
            let bin = r.response_time_by_size.get(i);
            bin.map_or(Measured::default(), |b| Measured::sampled(b.mean_s, b.ci95_s))
        })
        .named(format!("response_time_by_size.{i}.mean_s"))
        .about("response time of connections of this many segments")
    };
    let mut unfinished = Some(
        metric("conn.", "unfinished", Count, |r| Measured::count(r.unfinished))
            .named("unfinished")
            .rank(if open { 1 } else { 8 })
            .about("connections that had not completed when the drain ended"),
    );
    let mut all = Vec::new();
    // The leading column is the response time of the shortest connections, if there are any.
    if let Some(first) = bins.first().filter(|_| leads) {
        all.push(of_bin(0, first).rank(0));
        if shown.several {
            let subject = format!("{} seg", sizes(first.min_segments, first.max_segments));
            let mut difference = metric(&subject, "difference", Time, |r| {
                let paired = r.paired.get(HEADLINE).copied().unwrap_or_default();
                Measured::sampled(paired.difference, paired.ci95)
            })
            .named(HEADLINE)
            .rank(1)
            .about("mean over seeds of the difference to the reference");
            difference.paired = true;
            all.push(difference);
        }
    }
    if open {
        all.extend(unfinished.take());
    }
    all.extend([
        metric("response", "mean", Time, |r| r.response_time_s.into())
            .named("response_time_s.mean")
            .rank(if leads { 2 } else { 0 })
            .about("from the first SYN until the initiator knows that all its data and its FIN have arrived"),
        metric("response", "p50", Time, |r| Measured::bare(r.response_time_s.p50))
            .named("response_time_s.p50")
            .rank(10)
            .about("half of the connections took at most this long"),
        metric("response", "p95", Time, |r| Measured::bare(r.response_time_s.p95))
            .named("response_time_s.p95")
            .rank(5)
            .about("95 % of the connections took at most this long"),
        metric("response", "p99", Time, |r| Measured::bare(r.response_time_s.p99))
            .named("response_time_s.p99")
            .rank(9)
            .about("99 % of the connections took at most this long"),
    ]);
    let others = bins.iter().enumerate().skip(usize::from(leads));
    all.extend(others.map(|(i, bin)| {
        let rank = 12 + u8::try_from(i).unwrap_or(u8::MAX - 12);
        of_bin(i, bin).rank(rank)
    }));
    all.extend([
        metric("RTT", "mean", Time, |r| r.rtt_s.into())
            .named("rtt_s.mean")
            .rank(4)
            .about("round-trip time as the senders measure it"),
        metric("queue", "mean", Time, |r| r.queue_delay_s.into())
            .named("queue_delay_s.mean")
            .rank(8)
            .about("sojourn time in the queue under test"),
        metric("queue", "p95", Time, |r| Measured::bare(r.queue_delay_s.p95))
            .named("queue_delay_s.p95")
            .rank(11)
            .about("95 % of the packets had at most this sojourn time in the queue under test"),
        metric("loss", "all", Share, |r| {
            let down = &r.links.down;
            Measured::sampled(down.loss.all, down.loss_ci95.all)
        })
        .named("links.down.loss.all")
        .rank(4)
        .about("packets lost on the link under test, of all offered to its queue"),
        metric("loss", "SYN", Share, |r| {
            let down = &r.links.down;
            Measured::sampled(down.loss.handshake, down.loss_ci95.handshake)
        })
        .named("links.down.loss.handshake")
        .rank(3)
        .about("SYNs and SYN/ACKs lost on the link under test, of those offered to its queue"),
        metric("rtx delay", "mean", Time, |r| {
            let (mean, ci95) = (&r.retransmission, &r.retransmission_ci95);
            Measured::sampled(mean.delay_mean_s, ci95.delay_mean_s)
        })
        .named("retransmission.delay_mean_s")
        .rank(6)
        .about("time of a connection spent waiting for retransmissions; each moment counts once"),
        metric("rtx delay", "SYN part", Time, |r| {
            let (mean, ci95) = (&r.retransmission, &r.retransmission_ci95);
            Measured::sampled(mean.delay_mean_syn_part_s, ci95.delay_mean_syn_part_s)
        })
        .named("retransmission.delay_mean_syn_part_s")
        .rank(7)
        .about("the part of the retransmission delay spent waiting for a SYN or SYN/ACK"),
        metric("link", "used", Share, |r| Measured::sampled(r.utilization, r.utilization_ci95))
            .named("utilization")
            .rank(12)
            .about("bytes that the link under test carried, of those that it could carry"),
    ]);
    all.extend(long_flows(shown.long));
    if shown.marks {
        all.push(
            metric("ECN", "marks", Count, |r| Measured::count(r.marks))
                .rank(13)
                .about("packets marked by the queue under test"),
        );
    }
    all.extend(unfinished);
    if shown.failed {
        all.push(
            metric("conn.", "given up", Count, |r| Measured::count(r.failed))
                .named("failed")
                .rank(1)
                .about("connections that TCP gave up after too many retransmissions"),
        );
    }
    all
}

/// Long-lived flows of each direction that has any.
fn long_flows(has: [bool; 2]) -> Vec<Metric> {
    type Link = fn(&SchemeResult) -> &LinkResult;
    const DOWN: Link = |r| &r.links.down;
    const UP: Link = |r| &r.links.up;
    let links = [(DOWN, ["goodput", "fairness"], ""), (UP, ["goodput up", "fairness up"], "links.up.")];
    let used = links.into_iter().zip(has).filter(|(_, has)| *has);
    used.flat_map(|((of, [goodput, fairness], prefix), _)| {
        [
            metric(goodput, "long flows", Quantity::Share, move |r| {
                let link = of(r);
                let capacity = link.capacity_bps.filter(|capacity| *capacity > 0.0);
                let share = |bps: Option<f64>| Some(bps? / capacity?);
                let goodput = &link.long_goodput_bps;
                Measured::sampled(share(goodput.mean), share(goodput.ci95))
            })
            .named(format!("{prefix}long_goodput_bps.mean"))
            .rank(4)
            .about(
                "payload that the long-lived flows of this direction received, as a share of what its link could carry",
            ),
            metric(fairness, "Jain", Quantity::Index, move |r| Measured::bare(of(r).jain_index))
                .named(format!("{prefix}jain_index"))
                .rank(12)
                .about("Jain's index over the goodput of the long-lived flows of this direction"),
        ]
    })
    .collect()
}

pub(super) fn metric(
    subject: &str,
    detail: &'static str,
    quantity: Quantity,
    measure: impl Fn(&SchemeResult) -> Measured + 'static,
) -> Metric {
    Metric {
        subject: subject.to_owned(),
        detail,
        explanation: "",
        rank: 0,
        name: None,
        paired: false,
        quantity,
        measure: Box::new(measure),
    }
}
