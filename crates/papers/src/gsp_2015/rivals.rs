//! Figs. 11 and 12: GSP, CoDel, PIE and tail drop.

use super::watch::{Runs, Watch};
use super::{beside_the_kernel, scenario, shorter};
use crate::chart::{Axis, Chart, Draw, Point};
use crate::estimate::Estimate;
use crate::lab::{Failure, Lab};
use crate::measured::Measured;
use crate::table::{Cell, Table};
use gentle_units::Nanos;

const TAIL: &str = "tail drop";
const GSP: &str = "GSP";
const CODEL: &str = "CoDel";
const PIE: &str = "PIE";

/// Fig. 11: distributions of the queueing delay with 1, 10 and 100 flows.
pub(super) fn distributions(lab: &Lab<'_>) -> Result<Measured, Failure> {
    // CoDel and PIE with the defaults of Linux 3.16.
    let cases = [
        (
            1,
            scenario!("fig11-1").schemes(&[
                (TAIL, "bfifo limit=50000"),
                (GSP, "gsp threshold=5ms limit=1000000 limit_bytes=125000"),
                (CODEL, "codel target=5ms limit=82"),
                (PIE, "pie before_5_1 target=20ms tupdate=30ms limit=82"),
            ]),
            lab.seeds(10, 1),
        ),
        (
            10,
            shorter(
                lab,
                scenario!("fig11-10").schemes(&[
                    (TAIL, "bfifo limit=500000"),
                    (GSP, "gsp threshold=5ms limit=1000000 limit_bytes=1250000"),
                    (CODEL, "codel target=5ms limit=825"),
                    (PIE, "pie before_5_1 target=20ms tupdate=30ms limit=825"),
                ]),
                40,
                15,
            ),
            lab.seeds(10, 1),
        ),
        (
            100,
            shorter(
                lab,
                scenario!("fig11-100").schemes(&[
                    (TAIL, "bfifo limit=5000000"),
                    (GSP, "gsp threshold=5ms limit=1000000 limit_bytes=12500000"),
                    (CODEL, "codel target=5ms limit=8256"),
                    (PIE, "pie before_5_1 target=20ms tupdate=30ms limit=8256"),
                ]),
                13,
                9,
            ),
            lab.seeds(4, 1),
        ),
    ];
    let columns = ["flows", "scheme", "delay, 5 % (ms)", "50 %", "95 %", "utilization (%)"];
    let mut table = Table::new("Queueing delay and utilization", columns);
    let mut measured = Measured::new();
    let mut all = Vec::new();
    for (flows, setup, seeds) in cases {
        let runs = Runs::watch(lab, &setup, &seeds)?;
        let delay = Axis::linear("queueing delay", "ms");
        let mut chart = Chart::curves(
            &format!("cdf-{flows}"),
            &format!("{flows} {}", if flows == 1 { "flow" } else { "flows" }),
            delay,
            Axis::linear("fraction of packets", "").range(0.0, 1.0),
        );
        for role in [TAIL, GSP, CODEL, PIE] {
            let points = runs.first(role).distribution();
            chart = chart.draw(role, Draw::Steps, points);
            let quantile = |p: f64| {
                let number = runs.mean(role, |run| Some(1e3 * run.quantile(p)));
                Cell::estimate(number, 2)
            };
            table = table.row([
                Cell::number(f64::from(flows), 0),
                Cell::text(role),
                quantile(0.05),
                quantile(0.5),
                quantile(0.95),
                Cell::estimate(runs.mean(role, |run| Some(100.0 * run.utilization())), 2),
            ]);
        }
        measured = measured.chart(chart);
        measured = if flows == 1 {
            let roles = [TAIL, GSP, CODEL, PIE];
            let used = runs.per_seed(roles, |[tail, others @ ..]| {
                let best = others.map(Watch::utilization).into_iter().reduce(f64::max);
                Some(100.0 * (best? - tail.utilization()))
            });
            let delay = runs.per_seed(roles, |all| {
                let aqms = all[1..].iter().map(|run| run.quantile(0.95));
                let shortest = aqms.reduce(f64::min);
                Some(shortest? / all[0].quantile(0.95))
            });
            let pie = runs.per_seed([PIE, GSP, CODEL], |[pie, gsp, codel]| {
                Some(pie.quantile(0.95) / gsp.quantile(0.95).max(codel.quantile(0.95)))
            });
            for role in [GSP, CODEL, PIE] {
                let lost =
                    runs.per_seed([role, TAIL], |[aqm, tail]| Some(100.0 * (aqm.utilization() - tail.utilization())));
                measured = measured.claim(format!("one-flow-{}-less", role.to_lowercase()), lost);
            }
            measured.claim("one-flow-utilization", used).claim("one-flow-pie", pie).claim("one-flow-delay", delay)
        } else {
            let roles = [GSP, CODEL, PIE];
            let delay = runs.per_seed(roles, |[gsp, codel, pie]| {
                let best = codel.quantile(0.95).min(pie.quantile(0.95));
                Some(gsp.quantile(0.95) / best)
            });
            let used = runs.per_seed(roles, |[gsp, codel, pie]| {
                let best = codel.utilization().max(pie.utilization());
                Some(100.0 * (gsp.utilization() - best))
            });
            measured.claim(format!("{flows}-flows-delay"), delay).claim(format!("{flows}-flows-utilization"), used)
        };
        all.push(runs);
    }
    for role in [GSP, CODEL, PIE] {
        measured = measured.claim(format!("better-{}", role.to_lowercase()), change(&all, role));
    }
    let better = all[1..].iter().map(|runs| {
        let ratio = runs.per_seed([GSP, CODEL, PIE], |runs| {
            let [gsp, codel, pie] = runs.map(|run| run.quantile(0.95));
            Some(gsp / codel.min(pie))
        });
        (ratio.value.unwrap_or(f64::INFINITY), ratio)
    });
    let better = better.reduce(|a, b| if b.0 < a.0 { b } else { a });
    let better = better.map_or_else(Estimate::default, |(_, ratio)| ratio);
    Ok(measured.table(table).claim("even-better", better))
}

/// The 95 % quantile of the delay under a scheme in each of several runs, divided by that in the run before, with fewer
/// flows: the largest of these ratios.
fn change(runs: &[Runs], role: &str) -> Estimate {
    let delay = |run: &Watch| run.quantile(0.95);
    let delays: Vec<Vec<f64>> = runs.iter().map(|runs| runs.of(role).map(delay).collect()).collect();
    let seeds = delays.iter().map(Vec::len).min().unwrap_or_default();
    Estimate::over((0..seeds).map(|seed| {
        let ratios = delays.windows(2).map(|pair| pair[1][seed] / pair[0][seed]);
        ratios.reduce(f64::max)
    }))
}

/// Fig. 12: quantiles of the queueing delay at four round-trip times.
pub(super) fn round_trip_times(lab: &Lab<'_>) -> Result<Measured, Failure> {
    /// The threshold of all schemes, milliseconds.
    const THRESHOLD: f64 = 5.0;
    const ROLES: [&str; 3] = [GSP, CODEL, PIE];
    const QUANTILES: [f64; 3] = [0.05, 0.5, 0.95];
    let base = scenario!("fig12").schemes(&[
        (GSP, "gsp threshold=5ms limit=1000000 limit_bytes=1250000"),
        (CODEL, "codel target=5ms limit=825"),
        (PIE, "pie target=5ms limit=825"),
    ]);
    let base = shorter(lab, base, 30, 12);
    let seeds = lab.seeds(10, 1);
    let delay = |p: f64| move |run: &Watch| Some(1e3 * run.quantile(p));
    let columns = ["RTT (ms)", "scheme", "delay, 5 % (ms)", "50 %", "95 %", "utilization (%)"];
    let mut table = Table::new("Queueing delay and utilization", columns);
    let mut measured = Measured::new();
    // The points of each scheme's curves.
    let mut curves: Vec<(&str, f64, Vec<Point>)> = Vec::new();
    for (role, p) in ROLES.iter().flat_map(|role| QUANTILES.map(|p| (*role, p))) {
        curves.push((role, p, Vec::new()));
    }
    for rtt in [10, 20, 50, 100] {
        let mut setup = base.clone();
        for link in &mut setup.scenario.links {
            link.delay = Nanos::from_micros(500 * rtt);
        }
        let runs = Runs::watch(lab, &setup, &seeds)?;
        for (role, p, points) in &mut curves {
            let Estimate { value, ci95, .. } = runs.mean(role, delay(*p));
            points.extend(value.map(|y| Point { x: rtt as f64, y, ci95 }));
        }
        for role in ROLES {
            let number = |p: f64| Cell::estimate(runs.mean(role, delay(p)), 2);
            table = table.row([
                Cell::number(rtt as f64, 0),
                Cell::text(role),
                number(0.05),
                number(0.5),
                number(0.95),
                Cell::estimate(runs.mean(role, |run| Some(100.0 * run.utilization())), 2),
            ]);
        }
        let distance = runs.per_seed(ROLES, |runs| {
            let [gsp, codel, pie] = runs.map(|run| (1e3 * run.quantile(0.5) - THRESHOLD).abs());
            Some(gsp - codel.min(pie))
        });
        let width = runs.per_seed(ROLES, |runs| {
            let [gsp, codel, pie] = runs.map(|run| run.quantile(0.95) - run.quantile(0.05));
            Some(gsp / codel.min(pie))
        });
        measured = measured.claim(format!("distance-{rtt}ms"), distance).claim(format!("width-{rtt}ms"), width);
        if rtt == 100 {
            let low = runs.per_seed(ROLES, |runs| {
                let low = runs.map(|run| 1e3 * run.quantile(0.05));
                low.into_iter().reduce(f64::max)
            });
            measured = measured.claim("low-100ms", low);
            for role in ROLES {
                let lost = runs.mean(role, |run| Some(100.0 * (1.0 - run.utilization())));
                measured = measured.claim(format!("lost-{}", role.to_lowercase()), lost);
            }
        }
    }
    for p in QUANTILES {
        let percent = 100.0 * p;
        let mut chart = Chart::curves(
            &format!("delay-{percent:.0}"),
            &format!("{percent:.0} % of the packets wait less"),
            Axis::log("round-trip time", "ms"),
            Axis::linear("queueing delay", "ms"),
        );
        for (role, _, points) in curves.iter().filter(|(_, quantile, _)| *quantile == p) {
            chart = chart.draw(role, Draw::Marks, points.iter().copied());
        }
        measured = measured.chart(chart);
    }
    let measured = measured.table(table);
    beside_the_kernel(lab, measured, base, 40)
}
