//! Drop reasons and marks from the kernel's qdisc statistics.

use crate::experiment::{QUEUE, ROUTER_DOWN, ROUTER_UP};
use crate::traffic::{Observations, Sample};
use gentle_aqm::{DropReason, KernelQdisc, Spec, StockParts};
use gentle_experiment::{Direction, Scenario};
use serde_json::Value;

/// Counters of the queues of one direction, without their values at the end of the warm-up.
pub(super) struct QueueCounters {
    reasons: Vec<(DropReason, u64)>,
    marks: u64,
    /// Reason for drops that no counter explains.
    usual: DropReason,
}

impl QueueCounters {
    /// Counters of the qdiscs that `spec` consists of.
    pub(super) fn of(
        observations: &Observations,
        scenario: &Scenario,
        direction: Direction,
        spec: &Spec,
    ) -> QueueCounters {
        let warm = |sample: &&Sample| sample.at_ns >= scenario.warmup.0;
        let first = observations.samples.iter().find(warm);
        let last = observations.samples.last();
        let grown = |counter: &str| {
            let at = |sample: Option<&Sample>| sample.map_or(0, |sample| total(sample, direction, counter));
            at(last).saturating_sub(at(first))
        };
        let near = near(observations, direction, spec);
        let spec = near.as_ref().unwrap_or(spec);
        // In priority from stock parts, only the child has a qdisc with these counters.
        let mut forms: Vec<&Spec> = std::iter::successors(Some(spec), |spec| spec.child()).collect();
        forms.reverse();
        let qdiscs: Vec<&KernelQdisc> = forms.into_iter().filter_map(|spec| Some(spec.scheme().linux?.qdisc)).collect();
        let reasons = qdiscs.iter().flat_map(|qdisc| qdisc.drops);
        let marks = qdiscs.iter().flat_map(|qdisc| qdisc.marks);
        QueueCounters {
            reasons: reasons.map(|(counter, reason)| (*reason, grown(counter))).collect(),
            marks: marks.map(|counter| grown(counter)).sum(),
            usual: spec.default_drop_reason(),
        }
    }

    /// Number of packets marked with ECN.
    pub(super) fn marks(&self) -> u64 {
        self.marks
    }

    /// A reason for each of `drops` packets: first the reasons that the kernel counts, then the usual reason of the
    /// scheme.
    ///
    /// The iterator is infinite.
    pub(super) fn of_drops(&self, drops: usize) -> impl Iterator<Item = DropReason> {
        let counted = self.reasons.iter().flat_map(|(reason, n)| std::iter::repeat_n(*reason, *n as usize));
        let counted: Vec<DropReason> = counted.take(drops).collect();
        counted.into_iter().chain(std::iter::repeat(self.usual))
    }
}

/// The scheme that took the place of `spec` on a kernel without its module; `None`: its own qdisc was there.
fn near(observations: &Observations, direction: Direction, spec: &Spec) -> Option<Spec> {
    let syntax = spec.unshaped().scheme().linux?;
    let Some(StockParts::Near { spec: other, .. }) = syntax.stock else {
        return None;
    };
    let last = observations.samples.last()?;
    let own = of(last, direction).any(|qdisc| qdisc["kind"] == syntax.qdisc.kind);
    if own { None } else { other.parse().ok() }
}

/// Number of packets in the queue of a direction.
pub(super) fn queued(sample: &Sample, direction: Direction) -> usize {
    let queue = of(sample, direction).find(|qdisc| qdisc["handle"] == QUEUE);
    let packets = queue.and_then(|qdisc| qdisc["qlen"].as_u64());
    packets.unwrap_or(0) as usize
}

/// Sum of a counter, a JSON pointer, over the qdiscs of a direction.
fn total(sample: &Sample, direction: Direction, counter: &str) -> u64 {
    of(sample, direction).filter_map(|qdisc| qdisc.pointer(counter)?.as_u64()).sum()
}

/// Qdiscs of the router's device in a direction.
fn of(sample: &Sample, direction: Direction) -> impl Iterator<Item = &Value> {
    let dev = match direction {
        Direction::Down => ROUTER_DOWN,
        Direction::Up => ROUTER_UP,
    };
    sample.qdiscs.iter().filter(move |qdisc| qdisc["dev"] == dev)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn observations(samples: Vec<(u64, Value)>) -> Observations {
        let samples = samples.into_iter().map(|(at_ns, qdisc)| Sample {
            at_ns,
            qdiscs: vec![
                json!({"dev": "rdown", "root": true, "qlen": 4, "overlimits": 900}),
                json!({"dev": "rdown", "handle": "10:", "qlen": 3}),
                qdisc,
            ],
        });
        Observations { samples: samples.collect(), ..Observations::default() }
    }

    #[test]
    fn drops_after_the_warm_up_have_counted_reasons_or_the_usual_one() {
        let mut scenario = Scenario::builtin("real").unwrap();
        scenario.warmup = gentle_units::Nanos(10);
        let seen = observations(vec![
            (0, json!({"dev": "rdown", "early": 0, "pdrop": 0})),
            (10, json!({"dev": "rdown", "early": 4, "pdrop": 1})),
            (90, json!({"dev": "rdown", "early": 6, "pdrop": 2, "marked": 5})),
        ]);
        let red = "red limit=75000".parse().unwrap();
        let counted = QueueCounters::of(&seen, &scenario, Direction::Down, &red);
        let reasons: Vec<DropReason> = counted.of_drops(4).take(4).collect();
        assert_eq!(reasons, [DropReason::Early, DropReason::Early, DropReason::Tail, DropReason::Early]);
        assert_eq!(counted.marks(), 5);
        assert_eq!(queued(seen.samples.last().unwrap(), Direction::Down), 3);
        let shown = json!({"dev": "rdown", "flood_drop": 2, "ecn_mark": 1});
        let spa = "spa".parse().unwrap();
        let counted = QueueCounters::of(
            &observations(vec![(10, json!({"dev": "rdown"})), (90, shown)]),
            &scenario,
            Direction::Down,
            &spa,
        );
        let reasons: Vec<DropReason> = counted.of_drops(3).take(3).collect();
        assert_eq!(reasons, [DropReason::Overlimit, DropReason::Overlimit, DropReason::Aqm]);
        assert_eq!(counted.marks(), 1);
        let up = QueueCounters::of(&seen, &scenario, Direction::Up, &spa);
        assert_eq!(up.marks(), 0);
        assert_eq!(up.of_drops(1).next(), Some(DropReason::Aqm));
    }
}
