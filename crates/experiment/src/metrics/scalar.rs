//! Scalar metrics of a run, with their direction of improvement.

use super::application::ApplicationRecord;
use super::class::Class;
use super::record::{GroupLink, LinkRecord, LongFlow, RunRecord};
use super::tally::Tally;
use crate::direction::Direction;
use crate::results::Better::{self, Higher, Lower};
use crate::results::{Loss, Retransmission, Series};
use gentle_units::Nanos;

/// A scalar metric: path in the JSON of a scheme's result, direction of improvement, value of a run.
type Metric = (&'static str, Option<Better>, fn(&RunRecord) -> Option<f64>);

const METRICS: &[Metric] = &[
    ("connections", None, |r| Some(r.all.connections as f64)),
    ("completed", None, |r| Some(r.all.completed as f64)),
    ("unfinished", Some(Lower), |r| Some(r.all.unfinished as f64)),
    ("failed", Some(Lower), |r| Some(r.all.failed as f64)),
    ("response_time_s.mean", Some(Lower), |r| r.all.response.mean_s()),
    ("response_time_s.p50", Some(Lower), |r| r.all.response.quantile_s(0.50)),
    ("response_time_s.p95", Some(Lower), |r| r.all.response.quantile_s(0.95)),
    ("response_time_s.p99", Some(Lower), |r| r.all.response.quantile_s(0.99)),
    ("handshake_s.mean", Some(Lower), |r| r.all.handshake.mean_s()),
    ("rtt_s.mean", Some(Lower), |r| r.all.rtt.mean()),
    ("queue_delay_s.mean", Some(Lower), |r| down(r).queue_delay.mean_s()),
    ("queue_delay_s.p50", Some(Lower), |r| down(r).queue_delay.quantile_s(0.50)),
    ("queue_delay_s.p95", Some(Lower), |r| down(r).queue_delay.quantile_s(0.95)),
    ("queue_delay_s.p99", Some(Lower), |r| down(r).queue_delay.quantile_s(0.99)),
    ("loss.all", Some(Lower), |r| loss(r).all),
    ("loss.data", Some(Lower), |r| loss(r).data),
    ("loss.syn", Some(Lower), |r| loss(r).syn),
    ("loss.synack", Some(Lower), |r| loss(r).synack),
    ("loss.handshake", Some(Lower), |r| loss(r).handshake),
    ("links.down.loss.all", Some(Lower), |r| loss_of(&[down(r)]).all),
    ("links.down.loss.handshake", Some(Lower), |r| loss_of(&[down(r)]).handshake),
    ("links.up.loss.handshake", Some(Lower), |r| loss_of(&[up(r)]).handshake),
    ("retransmission.packet_probability", Some(Lower), |r| retransmission(&r.all).packet_probability),
    ("retransmission.syn_probability", Some(Lower), |r| retransmission(&r.all).syn_probability),
    ("retransmission.syn_share", None, |r| retransmission(&r.all).syn_share),
    ("retransmission.connections_with_syn_loss", Some(Lower), |r| retransmission(&r.all).connections_with_syn_loss),
    ("retransmission.delay_mean_s", Some(Lower), |r| retransmission(&r.all).delay_mean_s),
    ("retransmission.delay_mean_syn_part_s", Some(Lower), |r| retransmission(&r.all).delay_mean_syn_part_s),
    // The scheme determines which connections these means cover, so the values of two schemes are not comparable.
    ("retransmission.delay_mean_with_syn_loss_s", None, |r| retransmission(&r.all).delay_mean_with_syn_loss_s),
    ("retransmission.delay_mean_without_syn_loss_s", None, |r| retransmission(&r.all).delay_mean_without_syn_loss_s),
    ("retransmission.delay_sum_mean_s", Some(Lower), |r| retransmission(&r.all).delay_sum_mean_s),
    ("retransmission.delay_sum_mean_syn_part_s", Some(Lower), |r| retransmission(&r.all).delay_sum_mean_syn_part_s),
    ("utilization", Some(Higher), |r| utilization(down(r))),
    ("long_goodput_bps.mean", Some(Higher), |r| long_goodput_bps(r, Direction::Down)),
    ("jain_index", Some(Higher), |r| jain_index(r, Direction::Down)),
    ("links.up.long_goodput_bps.mean", Some(Higher), |r| long_goodput_bps(r, Direction::Up)),
    ("links.up.jain_index", Some(Higher), |r| jain_index(r, Direction::Up)),
];

/// A scalar metric of an application: path in the JSON of its result, direction of improvement, value of a run with the
/// length of its measured window.
type ApplicationMetric = (&'static str, Option<Better>, fn(&ApplicationRecord, Nanos) -> Option<f64>);

const APPLICATION_METRICS: &[ApplicationMetric] = &[
    ("delay_s.mean", Some(Lower), |a, _| a.delay().mean_s()),
    ("delay_s.p50", Some(Lower), |a, _| a.delay().quantile_s(0.50)),
    ("delay_s.p95", Some(Lower), |a, _| a.delay().quantile_s(0.95)),
    ("delay_s.p99", Some(Lower), |a, _| a.delay().quantile_s(0.99)),
    ("jitter_s.mean", Some(Lower), |a, _| a.jitter().mean_s()),
    ("jitter_s.p99", Some(Lower), |a, _| a.jitter().quantile_s(0.99)),
    ("loss.mean", Some(Lower), |a, _| a.lost_fraction()),
    ("useless.mean", Some(Lower), |a, _| a.useless_fraction()),
    ("late_frames.mean", Some(Lower), |a, _| a.late_frame_fraction()),
    ("stalls_per_minute.mean", Some(Lower), |a, _| a.stalls_per_minute()),
    ("stalled.mean", Some(Lower), |a, _| a.stalled_fraction()),
    ("connect_s.mean", Some(Lower), |a, _| a.connect_times().mean_s()),
    ("transaction_s.mean", Some(Lower), |a, _| a.transactions().mean_s()),
    ("transaction_s.p50", Some(Lower), |a, _| a.transactions().quantile_s(0.50)),
    ("transaction_s.p95", Some(Lower), |a, _| a.transactions().quantile_s(0.95)),
    ("transaction_s.p99", Some(Lower), |a, _| a.transactions().quantile_s(0.99)),
    ("failed", Some(Lower), |a, _| Some(a.failed as f64)),
    ("unfinished", Some(Lower), |a, _| Some(a.unfinished as f64)),
    ("goodput_bps.mean", Some(Higher), ApplicationRecord::goodput_bps),
];

/// A scalar metric of a group on a link: path in the JSON of its result, direction of improvement, value of a run.
type GroupLinkMetric = (&'static str, Option<Better>, fn(&GroupLink, &RunRecord, Direction) -> Option<f64>);

// Whether more of the link for one group is better depends on the others.
const GROUP_LINK_METRICS: &[GroupLinkMetric] = &[
    ("rate_bps.mean", None, |g, run, _| bits_per_second(run, g.carried_bytes)),
    ("share.mean", None, share_of_link),
    ("loss.mean", Some(Lower), |g, _, _| loss_of_group(g)),
    ("queue_delay_s.mean", Some(Lower), |g, _, _| g.queue_delay.mean_s()),
    ("queue_delay_s.p50", Some(Lower), |g, _, _| g.queue_delay.quantile_s(0.50)),
    ("queue_delay_s.p95", Some(Lower), |g, _, _| g.queue_delay.quantile_s(0.95)),
    ("queue_delay_s.p99", Some(Lower), |g, _, _| g.queue_delay.quantile_s(0.99)),
];

/// Bytes of the group that the link of `direction` carried, as a fraction of those that it could carry.
pub(super) fn share_of_link(group: &GroupLink, run: &RunRecord, direction: Direction) -> Option<f64> {
    let link = &run.links[direction.index()];
    // A packet that is being sent when the rate falls leaves at the rate at which it began, so that a link may carry more.
    ratio(group.carried_bytes, link.capacity_bytes.max(link.carried_bytes))
}

/// Fraction of the group's packets that the queue dropped or the link lost.
pub(super) fn loss_of_group(group: &GroupLink) -> Option<f64> {
    ratio(group.dropped, group.offered)
}

/// Values of all metrics in `runs`, after the mean response time of each range of sizes, and before those of
/// groups and applications.
pub(super) fn by_seed(runs: &[RunRecord]) -> Vec<Series> {
    let series = |name: &str, better, of: &dyn Fn(&RunRecord) -> Option<f64>| Series {
        name: name.to_owned(),
        better,
        values: runs.iter().map(of).collect(),
    };
    let ranges = runs.first().map_or(0, |run| run.all.by_size.sums.len());
    let of_ranges =
        (0..ranges).map(|range| series(&name_of_range(range), Some(Lower), &|run| run.all.by_size.sums[range].mean()));
    let applications = runs.first().map_or(0, |run| run.applications.len());
    let of_applications = (0..applications).flat_map(|index| {
        APPLICATION_METRICS.iter().map(move |(name, better, of)| {
            let name = name_of_application(index, name);
            series(&name, *better, &|run| of(&run.applications[index], run.window()))
        })
    });
    let groups = runs.first().map_or(0, |run| run.groups.len());
    let of_groups = (0..groups).flat_map(|index| {
        let name = format!("groups.{index}.response_time_s.mean");
        let response = series(&name, Some(Lower), &|run| run.groups[index].response.mean_s());
        let seen = Direction::BOTH.into_iter();
        let seen = seen.filter(move |direction| has_packets(runs, index, *direction));
        let of_links = seen.flat_map(move |direction| {
            GROUP_LINK_METRICS.iter().map(move |(name, better, of)| {
                let name = name_of_group_link(index, direction, name);
                series(&name, *better, &|run| {
                    let group = run.group_links.get(index)?;
                    of(&group[direction.index()], run, direction)
                })
            })
        });
        std::iter::once(response).chain(of_links)
    });
    of_ranges
        .chain(METRICS.iter().map(|(name, better, of)| series(name, *better, of)))
        .chain(of_groups)
        .chain(of_applications)
        .collect()
}

/// True if all runs have counted packets by group, and a packet with payload of the group `index` was offered to the
/// queue of `direction` in any of them.
pub(super) fn has_packets(runs: &[RunRecord], index: usize, direction: Direction) -> bool {
    let links = |run: &RunRecord| Some(run.group_links.get(index)?[direction.index()].offered > 0);
    let seen: Option<Vec<bool>> = runs.iter().map(links).collect();
    seen.is_some_and(|seen| seen.contains(&true))
}

fn name_of_group_link(index: usize, direction: Direction, metric: &str) -> String {
    format!("groups.{index}.links.{}.{metric}", direction.name())
}

fn name_of_range(range: usize) -> String {
    format!("response_time_by_size.{range}.mean_s")
}

fn name_of_application(index: usize, metric: &str) -> String {
    format!("applications.{index}.{metric}")
}

impl RunRecord {
    /// Names of the scalar results of a run with `ranges` ranges of connection sizes, without those of applications:
    /// paths in the JSON of a scheme's result, in a fixed order.
    pub fn metric_names(ranges: usize) -> impl Iterator<Item = String> {
        let of_ranges = (0..ranges).map(name_of_range);
        of_ranges.chain(METRICS.iter().map(|(name, ..)| (*name).to_owned()))
    }

    /// Names of the scalar results of an application: paths in the JSON of its result, in a fixed order.
    pub fn application_metric_names() -> impl Iterator<Item = &'static str> {
        APPLICATION_METRICS.iter().map(|(name, ..)| *name)
    }

    /// Scalar results of the run, in the order of [`Scenario::metric_names`](crate::Scenario::metric_names); `None`: no
    /// observation.
    pub fn metrics(&self) -> impl Iterator<Item = Option<f64>> {
        let of_ranges = self.all.by_size.sums.iter().map(|sum| sum.mean());
        let of_applications = (self.applications.iter())
            .flat_map(|application| APPLICATION_METRICS.iter().map(|(.., of)| of(application, self.window())));
        of_ranges.chain(METRICS.iter().map(|(_, _, of)| of(self))).chain(of_applications)
    }
}

pub(super) fn down(run: &RunRecord) -> &LinkRecord {
    &run.links[Direction::Down.index()]
}

fn up(run: &RunRecord) -> &LinkRecord {
    &run.links[Direction::Up.index()]
}

fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// Loss on `links` together.
pub(super) fn loss_of(links: &[&LinkRecord]) -> Loss {
    let of = |classes: &[Class]| {
        let sum = |counts: fn(&LinkRecord) -> &[u64; Class::COUNT]| -> u64 {
            let cells = links.iter().flat_map(|link| classes.iter().map(move |class| counts(link)[*class as usize]));
            cells.sum()
        };
        ratio(sum(|link| &link.dropped), sum(|link| &link.offered))
    };
    Loss {
        all: of(&[Class::Syn, Class::SynAck, Class::Data, Class::Other]),
        data: of(&[Class::Data]),
        syn: of(&[Class::Syn]),
        synack: of(&[Class::SynAck]),
        handshake: of(&[Class::Syn, Class::SynAck]),
    }
}

pub(super) fn loss(run: &RunRecord) -> Loss {
    loss_of(&[&run.links[0], &run.links[1]])
}

/// Retransmissions of the connections of `tally`.
pub(super) fn retransmission(tally: &Tally) -> Retransmission {
    Retransmission {
        packet_probability: ratio(tally.segments_retransmitted, tally.segments_sent),
        syn_probability: ratio(tally.syn_retransmitted, tally.syn_sent),
        syn_share: ratio(tally.syn_retransmitted, tally.segments_retransmitted),
        connections_with_syn_loss: ratio(tally.delay_with_syn_loss.n, tally.connections),
        delay_mean_s: tally.delay.mean(),
        delay_mean_syn_part_s: tally.delay_syn_part.mean(),
        delay_mean_with_syn_loss_s: tally.delay_with_syn_loss.mean(),
        delay_mean_without_syn_loss_s: tally.delay_without_syn_loss.mean(),
        delay_sum_mean_s: tally.delay_sum.mean(),
        delay_sum_mean_syn_part_s: tally.delay_sum_syn_part.mean(),
    }
}

/// Bytes that the link carried between the end of the warm-up and the last arrival, as a fraction of those that it could
/// carry.
pub(super) fn utilization(link: &LinkRecord) -> Option<f64> {
    let capacity = link.capacity_bytes as f64;
    // A packet that is being sent when the rate falls leaves at the rate at which it began.
    (capacity > 0.0).then(|| (link.carried_bytes as f64 / capacity).min(1.0))
}

/// Mean rate of `bytes` over the measured window, bits per second.
pub(super) fn bits_per_second(run: &RunRecord, bytes: u64) -> Option<f64> {
    let window = run.window().as_secs_f64();
    (window > 0.0).then(|| 8.0 * bytes as f64 / window)
}

/// Payload that the long-lived flows with data in `direction` received within the measured window, bits per second.
pub(super) fn long_goodput_bps(run: &RunRecord, direction: Direction) -> Option<f64> {
    let mut flows = long_flows(run, direction).peekable();
    flows.peek()?;
    let bytes = flows.map(|flow| flow.bytes).fold(0, u64::saturating_add);
    bits_per_second(run, bytes)
}

/// Jain's index of the rates of the long-lived flows with data in `direction`, each over the time for which it had data
/// to send.
pub(super) fn jain_index(run: &RunRecord, direction: Direction) -> Option<f64> {
    let flows = long_flows(run, direction).filter(|flow| flow.lived > Nanos::ZERO);
    let rates = flows.map(|flow| flow.bytes as f64 / flow.lived.as_secs_f64());
    jain(&rates.collect::<Vec<f64>>())
}

fn long_flows(run: &RunRecord, direction: Direction) -> impl Iterator<Item = &LongFlow> {
    let flows = run.long_flows.iter();
    flows.filter(move |flow| flow.direction == direction)
}

/// Jain's fairness index, (Σx)² / (n·Σx²).
fn jain(rates: &[f64]) -> Option<f64> {
    let sum: f64 = rates.iter().sum();
    let squares: f64 = rates.iter().map(|x| x * x).sum();
    (squares > 0.0).then(|| sum * sum / (rates.len() as f64 * squares))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jain_is_one_for_equals_and_one_nth_for_a_hog() {
        assert_eq!(jain(&[2.0; 4]), Some(1.0));
        assert_eq!(jain(&[2.0, 0.0, 0.0, 0.0]), Some(0.25));
        assert_eq!(jain(&[]), None);
    }
}
