//! Drop reasons from the kernel's qdisc statistics.

use crate::conduct::{Observed, Sample};
use crate::experiment::{ROUTER_DOWN, ROUTER_UP};
use gentle_aqm::{DropReason, Spec};
use gentle_sim::{Direction, Scenario};
use serde_json::Value;

/// Counters of the kernel's qdiscs, as JSON pointers, and the drop reason of packets counted there. The fields are
/// those that `tc -s -j` of iproute2 prints from `tc_codel_xstats`, `tc_fq_codel_xstats`, `tc_red_xstats`,
/// `tc_pie_xstats` and `tc_choke_xstats`, and our plug-ins (kernel/tc) from `tc_gsp_xstats`, `tc_redfavor_xstats` and
/// `tc_spa_xstats`.
const REASONS: &[(&str, DropReason)] = &[
    ("/drop_overlimit", DropReason::Overlimit),
    ("/early", DropReason::Early),
    ("/pdrop", DropReason::Tail),
    ("/matched", DropReason::PushOut),
    ("/overlimit", DropReason::Tail),
    ("/early_drop", DropReason::Early),
    ("/tail_drop", DropReason::Tail),
    ("/prob_drop", DropReason::Early),
    ("/forced_drop", DropReason::Early),
    ("/push_out", DropReason::PushOut),
    ("/priority/drops/limit", DropReason::Tail),
    ("/data/drops/limit", DropReason::Tail),
];

const MARKS: &[&str] = &[
    "/ecn_mark",
    "/marked",
    "/prob_mark",
    "/forced_mark",
    "/priority/ecn_mark",
    "/data/ecn_mark",
];

/// Drops and marks counted after the warm-up in the queues of one direction.
pub(super) struct Counted {
    reasons: Vec<(DropReason, u64)>,
    marks: u64,
}

impl Counted {
    pub(super) fn of(observed: &Observed, scenario: &Scenario, direction: Direction) -> Counted {
        let warm = |sample: &&Sample| sample.at_ns >= scenario.warmup.0;
        let first = observed.samples.iter().find(warm);
        let last = observed.samples.last();
        let grown = |counter: &str| {
            let at = |sample: Option<&Sample>| {
                sample.map_or(0, |sample| total(sample, direction, counter))
            };
            at(last).saturating_sub(at(first))
        };
        Counted {
            reasons: REASONS
                .iter()
                .map(|(counter, reason)| (*reason, grown(counter)))
                .collect(),
            marks: MARKS.iter().map(|counter| grown(counter)).sum(),
        }
    }

    /// Number of packets marked with ECN.
    pub(super) fn marks(&self) -> u64 {
        self.marks
    }

    /// A reason for each of `drops` packets: counted reasons first, then the scheme's general reason.
    pub(super) fn of_drops(&self, spec: &Spec, drops: usize) -> impl Iterator<Item = DropReason> {
        let counted = self
            .reasons
            .iter()
            .flat_map(|(reason, n)| std::iter::repeat_n(*reason, *n as usize));
        let counted: Vec<DropReason> = counted.take(drops).collect();
        let general = general(spec);
        counted.into_iter().chain(std::iter::repeat(general))
    }
}

/// Drop reason of a scheme for drops that its counters do not classify.
fn general(spec: &Spec) -> DropReason {
    let scheme = spec.child().unwrap_or(spec).scheme().name;
    match scheme {
        "codel" | "fq_codel" => DropReason::Aqm,
        "red" | "ared" | "pie" | "fq_pie" | "gsp" | "redfavor" | "choke" => DropReason::Early,
        "sfq" => DropReason::Overlimit,
        "spa" => DropReason::Aqm,
        _ => DropReason::Tail,
    }
}

/// Number of packets in the queues of a direction.
pub(super) fn waiting(sample: &Sample, direction: Direction) -> usize {
    let root = of(sample, direction).find(|qdisc| qdisc["root"] == true);
    let packets = root.and_then(|qdisc| qdisc["qlen"].as_u64());
    packets.unwrap_or(0) as usize
}

fn total(sample: &Sample, direction: Direction, counter: &str) -> u64 {
    of(sample, direction)
        .filter_map(|qdisc| qdisc.pointer(counter)?.as_u64())
        .sum()
}

fn of(sample: &Sample, direction: Direction) -> impl Iterator<Item = &Value> {
    let dev = match direction {
        Direction::Down => ROUTER_DOWN,
        Direction::Up => ROUTER_UP,
    };
    sample
        .qdiscs
        .iter()
        .filter(move |qdisc| qdisc["dev"] == dev)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn observed(samples: Vec<(u64, Value)>) -> Observed {
        let samples = samples.into_iter().map(|(at_ns, qdisc)| Sample {
            at_ns,
            qdiscs: vec![
                json!({"dev": "rdown", "root": true, "qlen": 3, "overlimits": 900}),
                qdisc,
            ],
        });
        Observed {
            samples: samples.collect(),
            ..Observed::default()
        }
    }

    #[test]
    fn what_the_kernel_counts_after_the_warm_up_is_told_and_the_rest_is_general() {
        let mut scenario = Scenario::builtin("real").unwrap();
        scenario.warmup = gentle_units::Nanos(10);
        let seen = observed(vec![
            (0, json!({"dev": "rdown", "early": 0, "pdrop": 0})),
            (10, json!({"dev": "rdown", "early": 4, "pdrop": 1})),
            (
                90,
                json!({"dev": "rdown", "early": 6, "pdrop": 2, "marked": 5}),
            ),
        ]);
        let counted = Counted::of(&seen, &scenario, Direction::Down);
        let red = "red limit=75000".parse().unwrap();
        let reasons: Vec<DropReason> = counted.of_drops(&red, 4).take(4).collect();
        assert_eq!(
            reasons,
            [
                DropReason::Early,
                DropReason::Early,
                DropReason::Tail,
                DropReason::Early
            ]
        );
        assert_eq!(counted.marks(), 5);
        assert_eq!(waiting(seen.samples.last().unwrap(), Direction::Down), 3);
        let spa =
            json!({"dev": "rdown", "data": {"drops": {"codel": 7, "limit": 2}, "ecn_mark": 1}});
        let counted = Counted::of(
            &observed(vec![(10, json!({"dev": "rdown"})), (90, spa)]),
            &scenario,
            Direction::Down,
        );
        let spa = "spa".parse().unwrap();
        let reasons: Vec<DropReason> = counted.of_drops(&spa, 3).take(3).collect();
        assert_eq!(
            reasons,
            [DropReason::Tail, DropReason::Tail, DropReason::Aqm]
        );
        assert_eq!(counted.marks(), 1);
        let up = Counted::of(&seen, &scenario, Direction::Up);
        assert_eq!(up.marks(), 0);
        assert_eq!(up.of_drops(&spa, 1).next(), Some(DropReason::Aqm));
    }
}
