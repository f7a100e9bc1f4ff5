//! Aggregation of a scheme's run records over seeds.

use super::application::ApplicationRecord;
use super::class::{LOSS, REASONS};
use super::histogram::TimeHistogram;
use super::record::{GroupLink, LinkRecord, RunRecord};
use super::scalar::{
    self, bits_per_second, down, has_packets, jain_index, long_goodput_bps, loss_of, loss_of_group, retransmission,
    share_of_link, utilization,
};
use super::statistics;
use super::tally::{BySize, Tally};
use crate::direction::Direction;
use crate::results::{
    ApplicationResult, Curves, Distribution, GroupLinkResult, GroupLinks, GroupResult, LinkResult, Links, Loss, Mean,
    Retransmission, SchemeResult, SizeBin,
};
use crate::scenario::Application;
use gentle_aqm::Spec;
use std::collections::BTreeMap;

/// Runs of a scheme.
#[derive(Clone, Copy)]
struct Runs<'a> {
    runs: &'a [RunRecord],
    /// True if all runs have equal results, so that there are no confidence intervals.
    alike: bool,
}

impl Runs<'_> {
    /// Mean of the values with its confidence interval.
    fn mean_of(&self, values: impl Iterator<Item = f64>) -> Mean {
        let mean = statistics::mean_of(values);
        Mean { ci95: mean.ci95.filter(|_| !self.alike), ..mean }
    }

    /// Mean of a metric over the runs that have a value.
    fn over(&self, metric: impl Fn(&RunRecord) -> Option<f64>) -> Mean {
        self.mean_of(self.runs.iter().filter_map(metric))
    }

    fn count(&self, of: impl Fn(&RunRecord) -> u64) -> u64 {
        self.runs.iter().map(of).sum()
    }

    fn pooled(&self, times: impl Fn(&RunRecord) -> &TimeHistogram) -> TimeHistogram {
        TimeHistogram::pooled(self.runs.iter().map(times))
    }
}

/// Parts of the traffic that are also measured separately.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parts<'a> {
    /// Groups of the scenario's workloads.
    pub(crate) groups: &'a [String],
    /// Applications among them.
    pub(crate) applications: &'a [Application],
}

/// Result of the scheme `spec` over `runs`, which are in order of seeds; `parts` are those of the scenario.
pub(crate) fn scheme_result(spec: &Spec, parts: Parts<'_>, runs: &[RunRecord]) -> SchemeResult {
    let by_seed = scalar::by_seed(runs);
    let alike =
        runs.len() > 1 && (by_seed.iter()).all(|series| series.values.windows(2).all(|pair| pair[0] == pair[1]));
    let runs = Runs { runs, alike };
    let (loss, loss_ci95) = loss_over(runs, scalar::loss);
    let all = group_result("", runs, |run| &run.all);
    let utilization = runs.over(|r| utilization(down(r)));
    let links = Links { down: link_result(runs, Direction::Down), up: link_result(runs, Direction::Up) };
    let mut drops = links.down.drops.clone();
    drops.remove(LOSS);
    SchemeResult {
        scheme: spec.scheme().name.to_owned(),
        label: spec.to_string(),
        options: spec.settings().into_iter().collect(),
        seeds: runs.runs.len() as u32,
        seeds_alike: alike,
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
        long_goodput_bps: links.down.long_goodput_bps,
        jain_index: links.down.jain_index,
        drops,
        marks: runs.count(|r| down(r).marked),
        links,
        groups: (parts.groups.iter().enumerate())
            .map(|(index, name)| GroupResult {
                links: group_links(runs, index),
                ..group_result(name, runs, |run| &run.groups[index])
            })
            .collect(),
        applications: (parts.applications.iter().enumerate())
            .map(|(index, of)| application_result(of, runs, |run| &run.applications[index]))
            .collect(),
        harm: Vec::new(),
        curves: Curves {
            response_time_cdf: runs.pooled(|r| &r.all.response).cdf(),
            queue_delay_cdf: runs.pooled(|r| &down(r).queue_delay).cdf(),
            response_time_by_size: without_empty_end(by_size(runs, |r| &r.all.by_size_fine)),
            queue_over_time: (runs.runs.first()).map_or_else(Vec::new, |r| r.timeline.points()),
        },
        by_seed,
        paired: BTreeMap::new(),
    }
}

/// Result of the connections selected by `tally`, named `group`.
fn group_result(group: &str, runs: Runs<'_>, tally: impl Fn(&RunRecord) -> &Tally + Copy) -> GroupResult {
    let count = |f: fn(&Tally) -> u64| runs.count(|run| f(tally(run)));
    let (retransmission, retransmission_ci95) = retransmission_over(runs, tally);
    GroupResult {
        group: group.to_owned(),
        connections: count(|t| t.connections),
        completed: count(|t| t.completed),
        unfinished: count(|t| t.unfinished),
        failed: count(|t| t.failed),
        response_time_s: distribution(runs, |run| &tally(run).response),
        response_time_by_size: by_size(runs, |run| &tally(run).by_size),
        rtt_s: runs.over(|run| tally(run).rtt.mean()),
        handshake_s: distribution(runs, |run| &tally(run).handshake),
        retransmission,
        retransmission_ci95,
        links: GroupLinks::default(),
    }
}

/// Results of the group `index` on both links.
fn group_links(runs: Runs<'_>, index: usize) -> GroupLinks {
    let of =
        |direction: Direction| has_packets(runs.runs, index, direction).then(|| group_link(runs, index, direction));
    GroupLinks { down: of(Direction::Down), up: of(Direction::Up) }
}

/// Result of the group `index` on a link, of which all runs have a record.
fn group_link(runs: Runs<'_>, index: usize, direction: Direction) -> GroupLinkResult {
    fn of(run: &RunRecord, index: usize, direction: Direction) -> &GroupLink {
        &run.group_links[index][direction.index()]
    }
    let mean = |value: fn(&GroupLink, &RunRecord, Direction) -> Option<f64>| {
        runs.over(|run| value(of(run, index, direction), run, direction))
    };
    GroupLinkResult {
        rate_bps: mean(|group, run, _| bits_per_second(run, group.carried_bytes)),
        share: mean(share_of_link),
        loss: mean(|group, _, _| loss_of_group(group)),
        queue_delay_s: distribution(runs, |run| &of(run, index, direction).queue_delay),
    }
}

/// Result of the application `described`, selected by `application`.
fn application_result(
    described: &Application,
    runs: Runs<'_>,
    application: impl Fn(&RunRecord) -> &ApplicationRecord + Copy,
) -> ApplicationResult {
    let times = |of: fn(&ApplicationRecord) -> &TimeHistogram| distribution(runs, |run| of(application(run)));
    let count = |of: fn(&ApplicationRecord) -> u64| runs.count(|run| of(application(run)));
    let mean = |of: fn(&ApplicationRecord) -> Option<f64>| runs.over(|run| of(application(run)));
    ApplicationResult {
        application: described.name.clone(),
        kind: described.kind.clone(),
        datagrams: count(|a| a.datagrams),
        delay_s: times(ApplicationRecord::delay),
        jitter_s: times(ApplicationRecord::jitter),
        loss: mean(ApplicationRecord::lost_fraction),
        useless: mean(ApplicationRecord::useless_fraction),
        frames: count(|a| a.frames),
        late_frames: mean(ApplicationRecord::late_frame_fraction),
        stalls_per_minute: mean(ApplicationRecord::stalls_per_minute),
        stalled: mean(ApplicationRecord::stalled_fraction),
        connect_s: times(ApplicationRecord::connect_times),
        transaction_s: times(ApplicationRecord::transactions),
        transactions: count(|a| a.transactions().count()),
        failed: count(|a| a.failed),
        unfinished: count(|a| a.unfinished),
        goodput_bps: runs.over(|run| application(run).goodput_bps(run.window())),
    }
}

fn distribution(runs: Runs<'_>, times: impl Fn(&RunRecord) -> &TimeHistogram + Copy) -> Distribution {
    let Mean { mean, ci95 } = runs.over(|run| times(run).mean_s());
    let all = runs.pooled(times);
    Distribution { mean, ci95, p50: all.quantile_s(0.50), p95: all.quantile_s(0.95), p99: all.quantile_s(0.99) }
}

/// Response times of all ranges, including those without connections.
fn by_size(runs: Runs<'_>, sizes: impl Fn(&RunRecord) -> &BySize) -> Vec<SizeBin> {
    let Some(bins) = runs.runs.first().map(|run| &sizes(run).bins) else {
        return Vec::new();
    };
    (0..bins.len())
        .map(|index| {
            let Mean { mean, ci95 } = runs.over(|run| sizes(run).sums[index].mean());
            let (min_segments, max_segments) = bins.range(index);
            SizeBin {
                min_segments,
                max_segments,
                n: runs.count(|run| sizes(run).sums[index].n),
                unfinished: runs.count(|run| sizes(run).open[index]),
                mean_s: mean,
                ci95_s: ci95,
            }
        })
        .collect()
}

fn without_empty_end(mut bins: Vec<SizeBin>) -> Vec<SizeBin> {
    let used = bins.iter().rposition(|bin| bin.n + bin.unfinished > 0).map_or(0, |last| last + 1);
    bins.truncate(used);
    bins
}

fn loss_over(runs: Runs<'_>, loss: impl Fn(&RunRecord) -> Loss) -> (Loss, Loss) {
    let all = runs.over(|r| loss(r).all);
    let data = runs.over(|r| loss(r).data);
    let syn = runs.over(|r| loss(r).syn);
    let synack = runs.over(|r| loss(r).synack);
    let handshake = runs.over(|r| loss(r).handshake);
    let pick = |f: fn(&Mean) -> Option<f64>| Loss {
        all: f(&all),
        data: f(&data),
        syn: f(&syn),
        synack: f(&synack),
        handshake: f(&handshake),
    };
    (pick(|m| m.mean), pick(|m| m.ci95))
}

fn retransmission_over(runs: Runs<'_>, tally: impl Fn(&RunRecord) -> &Tally) -> (Retransmission, Retransmission) {
    let fields: [fn(&Retransmission) -> Option<f64>; 10] = [
        |r| r.packet_probability,
        |r| r.syn_probability,
        |r| r.syn_share,
        |r| r.connections_with_syn_loss,
        |r| r.delay_mean_s,
        |r| r.delay_mean_syn_part_s,
        |r| r.delay_mean_with_syn_loss_s,
        |r| r.delay_mean_without_syn_loss_s,
        |r| r.delay_sum_mean_s,
        |r| r.delay_sum_mean_syn_part_s,
    ];
    let means = fields.map(|field| runs.over(|run| field(&retransmission(tally(run)))));
    let pick = |f: fn(&Mean) -> Option<f64>| Retransmission {
        packet_probability: f(&means[0]),
        syn_probability: f(&means[1]),
        syn_share: f(&means[2]),
        connections_with_syn_loss: f(&means[3]),
        delay_mean_s: f(&means[4]),
        delay_mean_syn_part_s: f(&means[5]),
        delay_mean_with_syn_loss_s: f(&means[6]),
        delay_mean_without_syn_loss_s: f(&means[7]),
        delay_sum_mean_s: f(&means[8]),
        delay_sum_mean_syn_part_s: f(&means[9]),
    };
    (pick(|m| m.mean), pick(|m| m.ci95))
}

fn link_result(runs: Runs<'_>, direction: Direction) -> LinkResult {
    let index = direction.index();
    let count = |f: &dyn Fn(&LinkRecord) -> u64| runs.count(|r| f(&r.links[index]));
    let (loss, loss_ci95) = loss_over(runs, |r| loss_of(&[&r.links[index]]));
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
        capacity_bps: runs.over(|r| bits_per_second(r, r.links[index].capacity_bytes)).mean,
        utilization: runs.over(|r| utilization(&r.links[index])).mean,
        long_goodput_bps: runs.over(|r| long_goodput_bps(r, direction)),
        jain_index: runs.over(|r| jain_index(r, direction)).mean,
        queue_delay_s: distribution(runs, |r| &r.links[index].queue_delay),
        loss,
        loss_ci95,
    }
}
