//! From the records of all seeds to one scheme's result.

use super::record::{LinkRecord, REASONS, RunRecord};
use super::spread::Spread;
use super::tally::{BySize, Sum, Tally};
use crate::direction::Direction;
use crate::engine::packet::Class;
use crate::results::{
    Curves, Distribution, GroupResult, LinkResult, Links, Loss, Mean, Retransmission, SchemeResult,
    SeedResult, SizeBin,
};
use gentle_aqm::Spec;
use statrs::distribution::{ContinuousCDF, StudentsT};
use std::collections::BTreeMap;

/// A number that a run yields.
type Reading = fn(&RunRecord) -> Option<f64>;

/// The scalar results that are listed seed by seed, named by their place in the JSON.
const READINGS: &[(&str, Reading)] = &[
    ("connections", |r| Some(r.all.connections as f64)),
    ("completed", |r| Some(r.all.completed as f64)),
    ("unfinished", |r| Some(r.all.unfinished as f64)),
    ("failed", |r| Some(r.all.failed as f64)),
    ("response_time_s.mean", |r| r.all.response.mean_s()),
    ("response_time_s.p50", |r| r.all.response.quantile_s(0.50)),
    ("response_time_s.p95", |r| r.all.response.quantile_s(0.95)),
    ("response_time_s.p99", |r| r.all.response.quantile_s(0.99)),
    ("handshake_s.mean", |r| r.all.handshake.mean_s()),
    ("rtt_s.mean", |r| r.all.rtt.mean()),
    ("queue_delay_s.mean", |r| down(r).queue_delay.mean_s()),
    ("queue_delay_s.p50", |r| {
        down(r).queue_delay.quantile_s(0.50)
    }),
    ("queue_delay_s.p95", |r| {
        down(r).queue_delay.quantile_s(0.95)
    }),
    ("queue_delay_s.p99", |r| {
        down(r).queue_delay.quantile_s(0.99)
    }),
    ("loss.all", |r| loss(r).all),
    ("loss.data", |r| loss(r).data),
    ("loss.syn", |r| loss(r).syn),
    ("loss.synack", |r| loss(r).synack),
    ("retransmission.packet_probability", |r| {
        retransmission(&r.all).packet_probability
    }),
    ("retransmission.syn_probability", |r| {
        retransmission(&r.all).syn_probability
    }),
    ("retransmission.syn_share", |r| {
        retransmission(&r.all).syn_share
    }),
    ("retransmission.connections_with_syn_loss", |r| {
        retransmission(&r.all).connections_with_syn_loss
    }),
    ("retransmission.delay_mean_s", |r| {
        retransmission(&r.all).delay_mean_s
    }),
    ("retransmission.delay_mean_syn_part_s", |r| {
        retransmission(&r.all).delay_mean_syn_part_s
    }),
    ("retransmission.delay_mean_with_syn_loss_s", |r| {
        retransmission(&r.all).delay_mean_with_syn_loss_s
    }),
    ("retransmission.delay_mean_without_syn_loss_s", |r| {
        retransmission(&r.all).delay_mean_without_syn_loss_s
    }),
    ("utilization", |r| utilization(r, down(r))),
    ("long_goodput_bps.mean", |r| goodput_bps(&r.long_goodput)),
    ("jain_index", |r| jain(&r.long_goodput)),
];

/// One scheme's result over the runs of all its seeds; `runs` is in order of seeds, `groups` are the scenario's.
pub(crate) fn scheme_result(spec: &Spec, groups: &[&str], runs: &[RunRecord]) -> SchemeResult {
    let count = |f: fn(&RunRecord) -> u64| runs.iter().map(f).sum::<u64>();
    let (loss, loss_ci95) = loss_over(runs, loss);
    let all = group_result("", runs, |run| &run.all);
    let utilization = over(runs, |r| utilization(r, down(r)));
    let links = Links {
        down: link_result(runs, Direction::Down),
        up: link_result(runs, Direction::Up),
    };
    let mut drops = links.down.drops.clone();
    drops.remove(crate::engine::tap::LOSS);
    SchemeResult {
        scheme: spec.scheme().name.to_owned(),
        label: spec.to_string(),
        options: spec.settings().into_iter().collect(),
        seeds: runs.len() as u32,
        connections: all.connections,
        completed: all.completed,
        unfinished: all.unfinished,
        failed: all.failed,
        response_time_s: all.response_time_s,
        response_time_by_size: all.response_time_by_size,
        rtt_s: all.rtt_s,
        handshake_s: all.handshake_s,
        queue_delay_s: links.down.queue_delay_s,
        loss,
        loss_ci95,
        retransmission: all.retransmission,
        retransmission_ci95: all.retransmission_ci95,
        utilization: utilization.mean,
        utilization_ci95: utilization.ci95,
        long_goodput_bps: over(runs, |r| goodput_bps(&r.long_goodput)),
        jain_index: over(runs, |r| jain(&r.long_goodput)).mean,
        drops,
        marks: count(|r| down(r).marked),
        links,
        groups: (groups.iter().enumerate())
            .map(|(index, name)| group_result(name, runs, |run| &run.groups[index]))
            .collect(),
        curves: Curves {
            response_time_cdf: pooled(runs, |r| &r.all.response).cdf(),
            queue_delay_cdf: pooled(runs, |r| &down(r).queue_delay).cdf(),
            response_time_by_size: without_empty_end(by_size(runs, |r| &r.all.by_size_fine)),
            queue_over_time: runs.first().map_or_else(Vec::new, |r| r.timeline.points()),
        },
        by_seed: runs
            .iter()
            .map(|run| SeedResult {
                seed: run.seed,
                values: READINGS.iter().map(|(name, f)| (*name, f(run))).collect(),
            })
            .collect(),
    }
}

/// The connections that `tally` says, named `group`.
fn group_result(
    group: &str,
    runs: &[RunRecord],
    tally: impl Fn(&RunRecord) -> &Tally + Copy,
) -> GroupResult {
    let count = |f: fn(&Tally) -> u64| runs.iter().map(|run| f(tally(run))).sum::<u64>();
    let (retransmission, retransmission_ci95) = retransmission_over(runs, tally);
    GroupResult {
        group: group.to_owned(),
        connections: count(|t| t.connections),
        completed: count(|t| t.completed),
        unfinished: count(|t| t.unfinished),
        failed: count(|t| t.failed),
        response_time_s: distribution(runs, |run| &tally(run).response),
        response_time_by_size: by_size(runs, |run| &tally(run).by_size),
        rtt_s: over(runs, |run| tally(run).rtt.mean()),
        handshake_s: distribution(runs, |run| &tally(run).handshake),
        retransmission,
        retransmission_ci95,
    }
}

fn down(run: &RunRecord) -> &LinkRecord {
    &run.links[Direction::Down.index()]
}

/// Mean of the runs' values with the 95 % interval of Student's t. Runs without a value are left out.
fn over(runs: &[RunRecord], reading: impl Fn(&RunRecord) -> Option<f64>) -> Mean {
    mean_of(runs.iter().filter_map(reading))
}

fn mean_of(values: impl Iterator<Item = f64>) -> Mean {
    let values: Vec<f64> = values.collect();
    let n = values.len() as f64;
    if values.is_empty() {
        return Mean::default();
    }
    let mean = values.iter().sum::<f64>() / n;
    let ci95 = (values.len() >= 2).then(|| {
        let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0);
        let t = StudentsT::new(0.0, 1.0, n - 1.0).expect("at least one degree of freedom");
        t.inverse_cdf(0.975) * (variance / n).sqrt()
    });
    Mean {
        mean: Some(mean),
        ci95,
    }
}

fn pooled(runs: &[RunRecord], spread: impl Fn(&RunRecord) -> &Spread) -> Spread {
    Spread::pooled(runs.iter().map(spread))
}

fn distribution(runs: &[RunRecord], spread: impl Fn(&RunRecord) -> &Spread + Copy) -> Distribution {
    let Mean { mean, ci95 } = over(runs, |run| spread(run).mean_s());
    let all = pooled(runs, spread);
    Distribution {
        mean,
        ci95,
        p50: all.quantile_s(0.50),
        p95: all.quantile_s(0.95),
        p99: all.quantile_s(0.99),
    }
}

/// Every range, also those without a connection.
fn by_size(runs: &[RunRecord], sizes: impl Fn(&RunRecord) -> &BySize) -> Vec<SizeBin> {
    let Some(bins) = runs.first().map(|run| &sizes(run).bins) else {
        return Vec::new();
    };
    (0..bins.len())
        .map(|index| {
            let sums: Vec<&Sum> = runs.iter().map(|run| &sizes(run).sums[index]).collect();
            let Mean { mean, ci95 } = mean_of(sums.iter().filter_map(|sum| sum.mean()));
            let (min_segments, max_segments) = bins.range(index);
            SizeBin {
                min_segments,
                max_segments,
                n: sums.iter().map(|sum| sum.n).sum(),
                mean_s: mean,
                ci95_s: ci95,
            }
        })
        .collect()
}

fn without_empty_end(mut bins: Vec<SizeBin>) -> Vec<SizeBin> {
    let used = bins
        .iter()
        .rposition(|bin| bin.n > 0)
        .map_or(0, |last| last + 1);
    bins.truncate(used);
    bins
}

fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// Loss over the given directions.
fn loss_of(links: &[&LinkRecord]) -> Loss {
    let of = |classes: &[Class]| {
        let sum = |counts: fn(&LinkRecord) -> &[u64; Class::COUNT]| -> u64 {
            let cells = links.iter().flat_map(|link| {
                classes
                    .iter()
                    .map(move |class| counts(link)[*class as usize])
            });
            cells.sum()
        };
        ratio(sum(|link| &link.dropped), sum(|link| &link.offered))
    };
    Loss {
        all: of(&[Class::Syn, Class::SynAck, Class::Data, Class::Other]),
        data: of(&[Class::Data]),
        syn: of(&[Class::Syn]),
        synack: of(&[Class::SynAck]),
    }
}

fn loss(run: &RunRecord) -> Loss {
    loss_of(&[&run.links[0], &run.links[1]])
}

fn loss_over(runs: &[RunRecord], loss: impl Fn(&RunRecord) -> Loss) -> (Loss, Loss) {
    let all = over(runs, |r| loss(r).all);
    let data = over(runs, |r| loss(r).data);
    let syn = over(runs, |r| loss(r).syn);
    let synack = over(runs, |r| loss(r).synack);
    let pick = |f: fn(&Mean) -> Option<f64>| Loss {
        all: f(&all),
        data: f(&data),
        syn: f(&syn),
        synack: f(&synack),
    };
    (pick(|m| m.mean), pick(|m| m.ci95))
}

fn retransmission(tally: &Tally) -> Retransmission {
    Retransmission {
        packet_probability: ratio(tally.segments_retransmitted, tally.segments_sent),
        syn_probability: ratio(tally.syn_retransmitted, tally.syn_sent),
        syn_share: ratio(tally.syn_retransmitted, tally.segments_retransmitted),
        connections_with_syn_loss: ratio(tally.delay_with_syn_loss.n, tally.connections),
        delay_mean_s: tally.delay.mean(),
        delay_mean_syn_part_s: tally.delay_syn_part.mean(),
        delay_mean_with_syn_loss_s: tally.delay_with_syn_loss.mean(),
        delay_mean_without_syn_loss_s: tally.delay_without_syn_loss.mean(),
    }
}

fn retransmission_over(
    runs: &[RunRecord],
    tally: impl Fn(&RunRecord) -> &Tally,
) -> (Retransmission, Retransmission) {
    let fields: [fn(&Retransmission) -> Option<f64>; 8] = [
        |r| r.packet_probability,
        |r| r.syn_probability,
        |r| r.syn_share,
        |r| r.connections_with_syn_loss,
        |r| r.delay_mean_s,
        |r| r.delay_mean_syn_part_s,
        |r| r.delay_mean_with_syn_loss_s,
        |r| r.delay_mean_without_syn_loss_s,
    ];
    let means = fields.map(|field| over(runs, |run| field(&retransmission(tally(run)))));
    let pick = |f: fn(&Mean) -> Option<f64>| Retransmission {
        packet_probability: f(&means[0]),
        syn_probability: f(&means[1]),
        syn_share: f(&means[2]),
        connections_with_syn_loss: f(&means[3]),
        delay_mean_s: f(&means[4]),
        delay_mean_syn_part_s: f(&means[5]),
        delay_mean_with_syn_loss_s: f(&means[6]),
        delay_mean_without_syn_loss_s: f(&means[7]),
    };
    (pick(|m| m.mean), pick(|m| m.ci95))
}

fn utilization(run: &RunRecord, link: &LinkRecord) -> Option<f64> {
    let (from, to) = run.window;
    let window = to.saturating_sub(from).as_secs_f64();
    (window > 0.0).then(|| link.busy.as_secs_f64() / window)
}

/// Of all flows together, from their bytes per second.
fn goodput_bps(flows: &[f64]) -> Option<f64> {
    (!flows.is_empty()).then(|| 8.0 * flows.iter().sum::<f64>())
}

/// Jain's fairness index, (Σx)² / (n·Σx²).
fn jain(rates: &[f64]) -> Option<f64> {
    let sum: f64 = rates.iter().sum();
    let squares: f64 = rates.iter().map(|x| x * x).sum();
    (squares > 0.0).then(|| sum * sum / (rates.len() as f64 * squares))
}

fn link_result(runs: &[RunRecord], direction: Direction) -> LinkResult {
    let index = direction.index();
    let count = |f: &dyn Fn(&LinkRecord) -> u64| runs.iter().map(|r| f(&r.links[index])).sum();
    let drops: BTreeMap<&'static str, u64> = REASONS
        .iter()
        .enumerate()
        .map(|(reason, name)| (*name, count(&|link| link.reasons[reason])))
        .filter(|(_, n)| *n > 0)
        .collect();
    LinkResult {
        offered: count(&|link| link.offered.iter().sum()),
        sent: count(&|link| link.sent),
        drops,
        utilization: over(runs, |r| utilization(r, &r.links[index])).mean,
        queue_delay_s: distribution(runs, |r| &r.links[index].queue_delay),
        loss: loss_over(runs, |r| loss_of(&[&r.links[index]])).0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_that_of_students_t() {
        let m = mean_of([1.0, 2.0, 3.0, 4.0, 5.0].into_iter());
        assert_eq!(m.mean, Some(3.0));
        // t(0.975, 4) = 2.776445 (any table); s = sqrt(2.5).
        let expected = 2.776_445 * (2.5_f64 / 5.0).sqrt();
        assert!((m.ci95.unwrap() - expected).abs() < 1e-5);
        assert_eq!(mean_of([7.0].into_iter()).ci95, None);
        assert_eq!(mean_of(std::iter::empty()), Mean::default());
    }

    #[test]
    fn jain_is_one_for_equals_and_one_nth_for_a_hog() {
        assert_eq!(jain(&[2.0; 4]), Some(1.0));
        assert_eq!(jain(&[2.0, 0.0, 0.0, 0.0]), Some(0.25));
        assert_eq!(jain(&[]), None);
    }
}
