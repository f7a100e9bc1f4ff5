//! Numbers of links, and of the packets of groups on them.

use super::sample::{Pooled, Sample};
use super::table::{Numbers, metrics, results, split};
use super::{Measured, Metric};
use crate::direction::Direction;
use crate::metrics::class::{Class, REASONS};
use crate::metrics::record::{GroupLink, LinkRecord, LongFlow, RunRecord};
use crate::results::{Distribution, Mean, Name};
use gentle_units::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

results! {
    /// Results of both directions.
    #[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
    pub struct Links of RunRecord {
        /// The link under test.
        down: LinkResult = on(Direction::Down, down);
        /// The reverse link.
        up: LinkResult = on(Direction::Up, |run| &run.links[Direction::Up.index()]);
    }
}

results! {
    /// One direction of the bottleneck, over all seeds.
    #[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
    pub struct LinkResult of LinkRecord {
        /// Packets offered to the queue.
        offered: u64 = count(|link| link.offered.iter().sum());
        /// Packets sent.
        sent: u64 = count(|link| link.sent);
        /// Packets dropped by reason; `loss` is random loss on the link.
        #[serde(deserialize_with = "gentle_units::interned::keys")]
        drops: BTreeMap<Name, u64> = part(|link| link);
        /// Rate that the link offered on average between warm-up and the last arrival, bits per second.
        capacity_bps: Option<f64> = mean_at(|link, at| bits_per_second(at.run, link.capacity_bytes));
        /// Bytes carried between warm-up and the last arrival, as a fraction of those that the link could carry.
        utilization: Option<f64> = mean(utilization);
        /// Payload that the long-lived connections with data in this direction received between warm-up and the last
        /// arrival, bits per second of that time; no value without such connections.
        long_goodput_bps: Mean = mean_at(|_, at| long_goodput_bps(at.run, at.direction));
        /// Jain's fairness index of the goodput of these connections, each over the time for which it had data to send;
        /// `None` without such connections.
        jain_index: Option<f64> = mean_at(|_, at| jain_index(at.run, at.direction));
        /// Sojourn time in the queue.
        queue_delay_s: Distribution = times(|link| &link.queue_delay);
        /// Loss by class.
        loss /
        /// Half-widths of the 95 % confidence intervals of `loss`.
        loss_ci95: Loss = part(std::slice::from_ref);
    }
}

results! {
    /// Fraction of packets lost, by class.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
    pub struct Loss of [LinkRecord] {
        /// All packets.
        all: Option<f64> = mean(|links| lost(links, &[Class::Syn, Class::SynAck, Class::Data, Class::Other]))
            => Share ["" Lower];
        /// Segments with payload, with or without FIN.
        data: Option<f64> = mean(|links| lost(links, &[Class::Data])) => Share ["" Lower];
        /// SYNs.
        syn: Option<f64> = mean(|links| lost(links, &[Class::Syn])) => Share ["" Lower];
        /// SYN/ACKs.
        synack: Option<f64> = mean(|links| lost(links, &[Class::SynAck])) => Share ["" Lower];
        /// SYNs and SYN/ACKs together.
        handshake: Option<f64> = mean(|links| lost(links, &[Class::Syn, Class::SynAck])) => Share ["" Lower];
    }
}

/// Packets of a group on both links. `None`: no packet with payload of the group was offered to the link, or a kernel
/// made the runs.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct GroupLinks {
    /// The link under test.
    pub down: Option<GroupLinkResult>,
    /// The reverse link.
    pub up: Option<GroupLinkResult>,
}

impl Numbers for GroupLinks {
    fn at(&self, path: &str) -> Option<Measured> {
        match split(path) {
            ("down", rest) => self.down.as_ref()?.at(rest),
            ("up", rest) => self.up.as_ref()?.at(rest),
            _ => None,
        }
    }
}

results! {
    /// Packets with payload (segments of TCP and datagrams) of a group on one link.
    #[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
    pub struct GroupLinkResult of GroupLink {
        // Whether more of the link for one group is better depends on the others.
        /// Rate at which the link carried them between warm-up and the last arrival, with all headers, bits per second.
        rate_bps: Mean = mean_at(|group, at| bits_per_second(at.run, group.carried_bytes)) => Rate [
            ".mean" Either => ("rate", "mean", 0, "bits on the wire that the link carried for the group"),
        ];
        /// That rate as a fraction of what the link could carry.
        share: Mean = mean_at(|group, at| share_of_link(group, &at.run.links[at.direction.index()])) => Share [
            ".mean" Either => ("share of link", "mean", 2, "that rate as a share of the link's rate"),
        ];
        /// Packets dropped by the queue or lost on the link, as a fraction of those offered.
        loss: Mean = mean(|group| ratio(group.dropped, group.offered)) => Share [
            ".mean" Lower => ("loss", "mean", 1, "packets of the group dropped on the link, of those offered to its queue"),
        ];
        /// Sojourn time in the queue of those that left it.
        queue_delay_s: Distribution = times(|group| &group.queue_delay) => Time [
            ".mean" Lower => ("queue", "mean", 3, "sojourn time of the group's packets in the queue"),
            ".p50" Lower,
            ".p95" Lower => ("queue", "p95", 5, "95 % of the group's packets had at most this sojourn time"),
            ".p99" Lower => ("queue", "p99", 4, "99 % of the group's packets had at most this sojourn time"),
        ];
    }
}

impl GroupLinkResult {
    /// Numbers of a group's results on a link, named by their path there.
    pub fn metrics() -> Vec<Metric> {
        metrics(Self::ENTRIES)
    }
}

impl Pooled<Sample<'_, LinkRecord>> for BTreeMap<Name, u64> {
    fn pooled(links: Sample<'_, LinkRecord>) -> (Self, Self) {
        let reasons = REASONS.iter().enumerate();
        let drops = reasons.map(|(reason, name)| (*name, links.count(|link| link.reasons[reason])));
        (drops.filter(|(_, n)| *n > 0).collect(), BTreeMap::new())
    }
}

pub(super) fn down(run: &RunRecord) -> &LinkRecord {
    &run.links[Direction::Down.index()]
}

pub(super) fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// Packets of these classes lost on `links` together, as a fraction of those offered.
fn lost(links: &[LinkRecord], classes: &[Class]) -> Option<f64> {
    let sum = |counts: fn(&LinkRecord) -> &[u64; Class::COUNT]| -> u64 {
        let cells = links.iter().flat_map(|link| classes.iter().map(move |class| counts(link)[*class as usize]));
        cells.sum()
    };
    ratio(sum(|link| &link.dropped), sum(|link| &link.offered))
}

/// Bytes that the link carried between the end of the warm-up and the last arrival, as a fraction of those that it could
/// carry.
pub(super) fn utilization(link: &LinkRecord) -> Option<f64> {
    let capacity = link.capacity_bytes as f64;
    // A packet that is being sent when the rate falls leaves at the rate at which it began.
    (capacity > 0.0).then(|| (link.carried_bytes as f64 / capacity).min(1.0))
}

/// Bytes of the group that the link carried, as a fraction of those that it could carry.
fn share_of_link(group: &GroupLink, link: &LinkRecord) -> Option<f64> {
    // A packet that is being sent when the rate falls leaves at the rate at which it began, so that a link may carry more.
    ratio(group.carried_bytes, link.capacity_bytes.max(link.carried_bytes))
}

/// Mean rate of `bytes` over the measured window, bits per second.
fn bits_per_second(run: &RunRecord, bytes: u64) -> Option<f64> {
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
