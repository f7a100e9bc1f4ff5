//! The numbers a table shows, one column each, in reading order.

use crate::format::{Quantity, Scale, sizes};
use gentle_sim::results::{Comparison, Distribution, Mean, SchemeResult};

/// Which end of a metric's range is the good one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Better {
    Lower,
    Higher,
    /// Depends on what one wants: not judged.
    Neither,
}

/// A number and the half-width of its 95 % confidence interval.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Measured {
    pub(crate) value: Option<f64>,
    pub(crate) ci95: Option<f64>,
}

impl Measured {
    fn bare(value: Option<f64>) -> Self {
        Self { value, ci95: None }
    }

    fn count(n: u64) -> Self {
        Self::bare(Some(n as f64))
    }
}

impl From<Distribution> for Measured {
    fn from(d: Distribution) -> Self {
        Self {
            value: d.mean,
            ci95: d.ci95,
        }
    }
}

impl From<Mean> for Measured {
    fn from(m: Mean) -> Self {
        Self {
            value: m.mean,
            ci95: m.ci95,
        }
    }
}

/// One column.
pub(crate) struct Metric {
    /// First line of the head: the subject.
    pub(crate) subject: String,
    /// Second line of the head: which number of the subject.
    pub(crate) detail: &'static str,
    /// What it means, for a tip.
    pub(crate) explanation: &'static str,
    pub(crate) better: Better,
    /// Columns with a high rank leave first when there is little room; rank 0 stays.
    pub(crate) rank: u8,
    quantity: Quantity,
    measure: Box<dyn Fn(&SchemeResult) -> Measured>,
}

impl Metric {
    fn rank(mut self, rank: u8) -> Self {
        self.rank = rank;
        self
    }

    fn better(mut self, better: Better) -> Self {
        self.better = better;
        self
    }

    fn about(mut self, explanation: &'static str) -> Self {
        self.explanation = explanation;
        self
    }

    /// The number of each scheme.
    pub(crate) fn measure(&self, results: &[SchemeResult]) -> Vec<Measured> {
        results.iter().map(&self.measure).collect()
    }

    /// Unit and digits for `values`.
    pub(crate) fn scale(&self, values: &[Measured]) -> Scale {
        Scale::of(self.quantity, values.iter().filter_map(|m| m.value))
    }

    /// Which of `values` are the best, all that look the same as the best included; none when all look the same.
    pub(crate) fn best(&self, values: &[Measured]) -> Vec<bool> {
        let known = values.iter().filter_map(|m| m.value);
        let best = match self.better {
            Better::Lower => known.min_by(f64::total_cmp),
            Better::Higher => known.max_by(f64::total_cmp),
            Better::Neither => None,
        };
        let scale = self.scale(values);
        let Some(best) = best.map(|b| scale.show(Some(b))) else {
            return vec![false; values.len()];
        };
        let marks: Vec<bool> = values.iter().map(|m| scale.show(m.value) == best).collect();
        if marks.iter().all(|&m| m) {
            vec![false; values.len()]
        } else {
            marks
        }
    }
}

/// All columns for `comparison`, in reading order.
pub(crate) fn metrics(comparison: &Comparison) -> Vec<Metric> {
    use Better::{Higher, Neither};
    use Quantity::{Count, Index, Share, Time};

    let mut all = vec![
        metric("response", "mean", Time, |r| r.response_time_s.into())
            .rank(0)
            .about("first SYN sent until everything, FIN included, is known to have arrived"),
        metric("response", "p50", Time, |r| {
            Measured::bare(r.response_time_s.p50)
        })
        .rank(10)
        .about("half of the connections took at most this long"),
        metric("response", "p95", Time, |r| {
            Measured::bare(r.response_time_s.p95)
        })
        .rank(5)
        .about("95 % of the connections took at most this long"),
        metric("response", "p99", Time, |r| {
            Measured::bare(r.response_time_s.p99)
        })
        .rank(9)
        .about("99 % of the connections took at most this long"),
    ];
    let bins = comparison
        .results
        .first()
        .map_or(&[][..], |r| &r.response_time_by_size);
    for (i, bin) in bins.iter().enumerate() {
        let subject = format!("{} seg", sizes(bin.min_segments, bin.max_segments));
        let rank = if i == 0 {
            1
        } else {
            12 + u8::try_from(i).unwrap_or(u8::MAX - 12)
        };
        let of_bin = move |r: &SchemeResult| {
            let bin = r.response_time_by_size.get(i);
            bin.map_or(Measured::default(), |b| Measured {
                value: b.mean_s,
                ci95: b.ci95_s,
            })
        };
        all.push(
            metric(&subject, "mean", Time, of_bin)
                .rank(rank)
                .about("response time of connections of this many segments"),
        );
    }
    all.extend([
        metric("RTT", "mean", Time, |r| r.rtt_s.into())
            .rank(4)
            .about("round-trip time as the senders measure it"),
        metric("queue", "mean", Time, |r| r.queue_delay_s.into())
            .rank(8)
            .about("time in the queue under test"),
        metric("queue", "p95", Time, |r| {
            Measured::bare(r.queue_delay_s.p95)
        })
        .rank(11)
        .about("95 % of the packets spent at most this long in the queue under test"),
        metric("loss", "all", Share, |r| Measured {
            value: r.loss.all,
            ci95: r.loss_ci95.all,
        })
        .rank(3)
        .about("packets lost, of all offered to the queues"),
        metric("loss", "SYN", Share, |r| Measured {
            value: r.loss.syn,
            ci95: r.loss_ci95.syn,
        })
        .rank(2)
        .about("SYNs lost, of all SYNs offered to the queues"),
        metric("rtx delay", "mean", Time, |r| Measured {
            value: r.retransmission.delay_mean_s,
            ci95: r.retransmission_ci95.delay_mean_s,
        })
        .rank(6)
        .about("time that retransmissions cost, added up per connection, over all connections"),
        metric("rtx delay", "SYN part", Time, |r| Measured {
            value: r.retransmission.delay_mean_syn_part_s,
            ci95: r.retransmission_ci95.delay_mean_syn_part_s,
        })
        .rank(7)
        .about("the part of it that SYNs and SYN/ACKs cause"),
        metric("link", "used", Share, |r| Measured {
            value: r.utilization,
            ci95: r.utilization_ci95,
        })
        .rank(12)
        .about("share of the capacity of the link under test that was used")
        .better(Higher),
    ]);
    if comparison.results.iter().any(|r| r.jain_index.is_some()) {
        let rate = comparison.scenario.down.rate_bps as f64;
        all.push(
            metric("goodput", "long flows", Share, move |r| {
                let share = |bps: Option<f64>| bps.map(|bps| bps / rate);
                Measured {
                    value: share(r.long_goodput_bps.mean),
                    ci95: share(r.long_goodput_bps.ci95),
                }
            })
            .rank(4)
            .about("payload that the long-lived flows received, as a share of the rate of the link under test")
            .better(Higher),
        );
        all.push(
            metric("fairness", "Jain", Index, |r| Measured::bare(r.jain_index))
                .rank(12)
                .about("Jain's index over the goodput of the long-lived flows")
                .better(Higher),
        );
    }
    if comparison.results.iter().any(|r| r.marks > 0) {
        all.push(
            metric("ECN", "marks", Count, |r| Measured::count(r.marks))
                .rank(13)
                .about("packets marked by the queue under test")
                .better(Neither),
        );
    }
    all.push(
        metric("conn.", "unfinished", Count, |r| {
            Measured::count(r.unfinished)
        })
        .rank(8)
        .about("connections that had not completed when the drain ended"),
    );
    if comparison.results.iter().any(|r| r.failed > 0) {
        all.push(
            metric("conn.", "given up", Count, |r| Measured::count(r.failed))
                .rank(8)
                .about("connections that TCP gave up after too many retransmissions"),
        );
    }
    all
}

fn metric(
    subject: &str,
    detail: &'static str,
    quantity: Quantity,
    measure: impl Fn(&SchemeResult) -> Measured + 'static,
) -> Metric {
    Metric {
        subject: subject.to_owned(),
        detail,
        explanation: "",
        better: Better::Lower,
        rank: 0,
        quantity,
        measure: Box::new(measure),
    }
}
