//! Numbers of a comparison that figures show and claims compare.

use crate::estimate::Estimate;
use crate::results::{Results, Values};

/// A number that each seed has for each scheme.
#[derive(Debug, Clone, Copy)]
pub(super) enum Quantity {
    /// A metric by name.
    Metric(&'static str),
    /// Mean response time in seconds of connections from the first to the last of these sizes, in segments.
    ResponseTime(u64, u64),
    /// One number divided by another.
    Quotient(&'static Quantity, &'static Quantity),
}

pub(super) const RESPONSE_TIME: Quantity = Quantity::Metric("response_time_s.mean");
pub(super) const RTT: Quantity = Quantity::Metric("rtt_s.mean");
pub(super) const UTILIZATION: Quantity = Quantity::Metric("utilization");
pub(super) const LOSS: Quantity = Quantity::Metric("loss.all");
pub(super) const SYN_LOSS: Quantity = Quantity::Metric("loss.syn");
/// The paper's retransmission delay, section III: waits of segments add up, also where they overlap.
pub(super) const RETRANSMISSION_DELAY: Quantity = Quantity::Metric("retransmission.delay_sum_mean_s");
pub(super) const SYN_PART: Quantity = Quantity::Metric("retransmission.delay_sum_mean_syn_part_s");
pub(super) const SYN_AGAIN: Quantity = Quantity::Metric("retransmission.connections_with_syn_loss");

/// Ranges of sizes in segments that the text of the paper distinguishes: up to 3, and more.
pub(super) const UP_TO_3: Quantity = Quantity::ResponseTime(1, 3);
pub(super) const FROM_4_TO_10: Quantity = Quantity::ResponseTime(4, 10);
pub(super) const FROM_11_TO_100: Quantity = Quantity::ResponseTime(11, 100);
pub(super) const ABOVE_100: Quantity = Quantity::ResponseTime(101, u64::MAX);

impl Quantity {
    /// Value for one scheme and seed.
    pub(super) fn of(self, results: &Results, values: &Values<'_>, role: &str) -> Option<f64> {
        match self {
            Quantity::Metric(name) => values.get(role, name),
            Quantity::ResponseTime(from, to) => {
                let bins = results.of(role).response_time_by_size.iter().enumerate();
                let within =
                    bins.filter(|(_, bin)| bin.min_segments >= from && bin.max_segments.unwrap_or(u64::MAX) <= to);
                // Weights over all seeds, so that a seed with more long transfers does not count as a slower queue.
                let (mut sum, mut weight) = (0.0, 0.0);
                for (index, bin) in within {
                    let name = format!("response_time_by_size.{index}.mean_s");
                    if let Some(mean) = values.get(role, &name) {
                        sum += mean * bin.n as f64;
                        weight += bin.n as f64;
                    }
                }
                (weight > 0.0).then(|| sum / weight)
            }
            Quantity::Quotient(of, to) => Some(of.of(results, values, role)? / to.of(results, values, role)?),
        }
    }
}

/// Mean over seeds.
pub(super) fn mean(results: &Results, role: &str, quantity: Quantity) -> Estimate {
    results.per_seed(|values| quantity.of(results, values, role))
}

/// One scheme's value divided by another's, by seed.
pub(super) fn ratio(results: &Results, role: &str, to: &str, quantity: Quantity) -> Estimate {
    results.per_seed(|values| {
        let value = quantity.of(results, values, role)?;
        Some(value / quantity.of(results, values, to)?)
    })
}

/// The scheme with the lowest mean.
pub(super) fn lowest(results: &Results, roles: &[&'static str], quantity: Quantity) -> &'static str {
    extreme(results, roles, quantity, 1.0)
}

/// The scheme with the highest mean.
pub(super) fn highest(results: &Results, roles: &[&'static str], quantity: Quantity) -> &'static str {
    extreme(results, roles, quantity, -1.0)
}

/// The scheme with the median of a quantity.
pub(super) fn middle(results: &Results, roles: &[&'static str], quantity: Quantity) -> &'static str {
    let mut sorted = roles.to_vec();
    let of = |role: &str| {
        let value = mean(results, role, quantity).value;
        value.unwrap_or(f64::INFINITY)
    };
    sorted.sort_by(|a, b| of(a).total_cmp(&of(b)));
    sorted[sorted.len() / 2]
}

fn extreme(results: &Results, roles: &[&'static str], quantity: Quantity, sign: f64) -> &'static str {
    let of = |role: &str| {
        let value = mean(results, role, quantity).value;
        value.map_or(f64::INFINITY, |value| sign * value)
    };
    let found = roles.iter().copied().min_by(|a, b| of(a).total_cmp(&of(b)));
    found.expect("a list of schemes has an entry")
}

/// The schemes of `all` that are not in `without`.
pub(super) fn others(all: &[&'static str], without: &[&str]) -> Vec<&'static str> {
    let rest = all.iter().copied().filter(|role| !without.contains(role));
    rest.collect()
}
