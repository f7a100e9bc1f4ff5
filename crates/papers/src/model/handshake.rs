//! Mean wait for lost SYNs, model and simulator.

use super::transfers::{STACKS, Stack, transfers};
use crate::chart::{Axis, Chart, Draw, Point};
use crate::estimate::Estimate;
use crate::lab::{Failure, Lab};
use crate::measured::Measured;
use gentle_model::{Backoff, Path};
use gentle_units::Nanos;

/// Probabilities that a SYN is lost.
const LOSSES: [f64; 5] = [0.01, 0.05, 0.1, 0.2, 0.3];

/// Loss of the claims.
const CLAIMED: f64 = 0.2;

/// A stack of RFC 6298: the wait doubles from the first retransmission on.
const DOUBLING: Stack = Stack {
    name: "linux-3.16",
    label: "linux-3.16: RTO 1 s, doubling",
    profile: "linux-3.16",
    knobs: &[],
    initial_rto_s: 1.0,
    backoff: Backoff::Doubling { linear: 0, retries: 6 },
    initial_window: 10.0,
};

/// Mean wait against loss for the three backoffs.
pub(super) fn wait(lab: &Lab<'_>) -> Result<Measured, Failure> {
    let seeds = lab.seeds(8, 2);
    // The two seeds of a quick call need more transfers each: chance must not decide the verdicts.
    let number = if lab.quick() { 40_000 } else { 20_000 };
    let mut chart = Chart::curves(
        "wait",
        "Mean wait for lost SYNs",
        Axis::linear("loss of SYNs", "%"),
        Axis::log("mean wait", "s"),
    );
    let mut measured = Measured::new();
    for stack in [&STACKS[0], &STACKS[1], &DOUBLING] {
        let wait = |backoff: Backoff| {
            LOSSES.map(|loss| {
                let path = Path { backoff, ..stack.path(loss) };
                (100.0 * loss, path.mean_wait_s())
            })
        };
        let mut found = Vec::new();
        for (loss, (_, predicted)) in LOSSES.into_iter().zip(wait(stack.backoff)) {
            let runs = transfers(lab, stack, loss, &[(1, number)], &seeds)?;
            let of_seeds = runs.iter().map(|run| {
                let sum = run.iter().map(|transfer| transfer.waited);
                let sum: Nanos = sum.fold(Nanos::ZERO, |sum, wait| sum + wait);
                (!run.is_empty()).then(|| sum.as_secs_f64() / run.len() as f64)
            });
            let mean = Estimate::over(of_seeds);
            found.push(Point { x: 100.0 * loss, y: mean.value.unwrap_or(f64::NAN), ci95: mean.ci95 });
            if loss == CLAIMED {
                let constant = Path { backoff: Backoff::Constant, ..stack.path(loss) };
                measured = measured
                    .claim(format!("{}-backoff", stack.name), mean.scaled(1.0 / predicted))
                    .claim(format!("{}-published", stack.name), mean.scaled(1.0 / constant.mean_wait_s()));
            }
        }
        chart = chart.line(&format!("{}: model", stack.label), wait(stack.backoff)).draw(
            &format!("{}: simulator", stack.label),
            Draw::Points,
            found,
        );
    }
    Ok(measured.chart(chart))
}
