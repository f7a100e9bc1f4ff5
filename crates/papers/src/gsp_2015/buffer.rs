//! The buffer that one flow needs under tail drop: B_min = C·RTT0·(1 − β)/β.

use super::scenario;
use crate::chart::{Axis, Chart, Draw, Point};
use crate::estimate::Estimate;
use crate::lab::{Failure, Lab};
use crate::measured::Measured;
use crate::setup::Setup;
use crate::table::{Cell, Table};
use rayon::prelude::*;

/// Bandwidth-delay product of the scenario, bytes.
const PRODUCT: f64 = 125_000.0;
/// From this utilization on the link counts as full. Utilization approaches 1 gradually, because a link that idles for
/// milliseconds after a decrease loses next to nothing.
const FULL: f64 = 0.9995;

/// A congestion control with its factor of decrease, and the range of buffers to search, in products.
struct Case {
    name: &'static str,
    label: &'static str,
    beta: f64,
    from: f64,
    to: f64,
}

const CASES: [Case; 2] = [
    Case { name: "reno", label: "Reno", beta: 0.5, from: 0.7, to: 1.2 },
    Case { name: "cubic", label: "CUBIC", beta: 0.7, from: 0.3, to: 0.6 },
];

/// The formula against the simulator.
pub(super) fn arithmetic(lab: &Lab<'_>) -> Result<Measured, Failure> {
    let steps: u32 = if lab.quick() { 6 } else { 20 };
    let columns = ["congestion control", "β", "(1 − β)/β", "in the paper", "simulated"];
    let mut table = Table::new("Smallest buffer with which one flow fills the link, in C·RTT0", columns);
    let mut chart = Chart::curves(
        "utilization",
        "Utilization by one flow",
        Axis::linear("buffer / (C·RTT0)", ""),
        Axis::linear("link utilization", "%"),
    );
    let mut measured = Measured::new();
    for case in CASES {
        let buffers: Vec<f64> =
            (0..=steps).map(|step| case.from + (case.to - case.from) * f64::from(step) / f64::from(steps)).collect();
        let mut setup: Setup = scenario!("buffer");
        setup.set_knob("congestion_control", case.name);
        let runs = buffers.into_par_iter().map(|buffer| {
            let spec = format!("bfifo limit={:.0}", buffer * PRODUCT);
            let results = lab.compare(setup.clone().scheme("tail drop", &spec), &[1])?;
            Ok((buffer, results.mean("tail drop", "utilization")))
        });
        let runs = runs.collect::<Result<Vec<(f64, Estimate)>, Failure>>()?;
        let points = runs.iter().filter_map(|(buffer, used)| Some(Point::from((*buffer, 100.0 * used.value?))));
        chart = chart.draw(case.label, Draw::Marks, points);
        let smallest = smallest(&runs);
        let formula = (1.0 - case.beta) / case.beta;
        let published = if case.name == "reno" { 1.0 } else { 0.4 };
        table = table.row([
            Cell::text(case.label),
            Cell::number(case.beta, 1),
            Cell::number(formula, 3),
            Cell::number(published, 1),
            Cell::estimate(smallest, 3),
        ]);
        measured = measured
            .claim(format!("{}-formula", case.name), Estimate::exact(formula))
            .claim(format!("{}-simulated", case.name), smallest);
    }
    Ok(measured.chart(chart).table(table))
}

/// The buffer at which the utilization reaches [`FULL`], interpolated between the buffers simulated.
pub(super) fn smallest(runs: &[(f64, Estimate)]) -> Estimate {
    let mut pairs = runs.windows(2).filter_map(|pair| {
        let [(b0, u0), (b1, u1)] = pair else {
            return None;
        };
        let (u0, u1) = (u0.value?, u1.value?);
        (u0 < FULL && u1 >= FULL).then(|| b0 + (b1 - b0) * (FULL - u0) / (u1 - u0))
    });
    Estimate { value: pairs.next_back(), ..Estimate::default() }
}
