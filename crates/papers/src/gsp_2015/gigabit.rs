//! Fig. 10: queueing delay and utilization at 1 Gb/s.

use super::sync::{empty_percent, flows};
use super::watch::{Runs, Watch};
use super::{delay_chart, scenario, shorter, utilization_chart};
use crate::lab::{Failure, Lab};
use crate::measured::Measured;
use crate::table::{Cell, Table};

const LARGE: &str = "tail drop, 5 MB";
const SMALL: &str = "tail drop, 1 MB";
const GSP: &str = "GSP, 1 MB";
const SCHEMES: [(&str, &str); 3] = [
    (LARGE, "bfifo limit=5000000"),
    (SMALL, "bfifo limit=1000000"),
    (GSP, "gsp threshold=1000000b limit=1000000 limit_bytes=5000000"),
];

/// Fig. 10, with 250 flows and with 10.
pub(super) fn delay_and_utilization(lab: &Lab<'_>) -> Result<Measured, Failure> {
    let seeds = lab.seeds(4, 1);
    let many = scenario!("fig10-250").schemes(&SCHEMES);
    let many = Runs::watch(lab, &shorter(lab, many, 14, 9), &seeds)?;
    let few = scenario!("fig10-10").schemes(&SCHEMES);
    let few = Runs::watch(lab, &shorter(lab, few, 30, 15), &seeds)?;

    let delay = |p: f64| move |run: &Watch| Some(1e3 * run.quantile(p));
    let used = |run: &Watch| Some(100.0 * run.utilization());
    let lowest = |run: &Watch| Some(100.0 * run.lowest_utilization());
    let mut measured = Measured::new()
        .claim("large-250-utilization", many.mean(LARGE, used))
        .claim("large-250-standing-delay", many.mean(LARGE, delay(0.01)))
        .claim("large-10-lowest-delay", few.mean(LARGE, delay(0.01)))
        .claim("large-10-highest-delay", few.mean(LARGE, delay(0.99)))
        .claim("small-250-utilization", many.mean(SMALL, used))
        .claim("small-250-delay", many.mean(SMALL, delay(1.0)))
        .claim("small-10-lowest-utilization", few.mean(SMALL, lowest))
        .claim("small-10-utilization", few.mean(SMALL, used))
        .claim("small-10-empty", few.mean(SMALL, empty_percent))
        .claim("large-10-flows-at-once", few.mean(LARGE, flows))
        .claim("gsp-250-delay", many.mean(GSP, delay(1.0)))
        .claim("gsp-10-delay", few.mean(GSP, delay(1.0)))
        .claim("gsp-250-utilization", many.mean(GSP, used))
        .claim("gsp-10-utilization", few.mean(GSP, used));

    let columns = [
        "flows",
        "scheme",
        "delay, 1 % (ms)",
        "50 %",
        "99 %",
        "longest",
        "utilization (%)",
        "lowest over a round trip (%)",
    ];
    let mut table = Table::new("Queueing delay and utilization", columns);
    for (flows, runs) in [(250, &many), (10, &few)] {
        let (from, to) = runs.first(GSP).span();
        let to = to.min(from + 30.0);
        let mut queue = delay_chart(&format!("delay-{flows}"), &format!("Queueing delay, {flows} flows"), from, to);
        let mut link = utilization_chart(&format!("utilization-{flows}"), &format!("Link, {flows} flows"), from, to);
        for (role, _) in SCHEMES {
            let run = runs.first(role);
            queue = queue.line(role, run.delay_line(from, to, 0.05));
            link = link.line(role, run.utilization_line(from, to, 0.1));
            let number = |p: f64| Cell::estimate(runs.mean(role, delay(p)), 2);
            table = table.row([
                Cell::number(f64::from(flows), 0),
                Cell::text(role),
                number(0.01),
                number(0.5),
                number(0.99),
                number(1.0),
                Cell::estimate(runs.mean(role, used), 2),
                Cell::estimate(runs.mean(role, lowest), 1),
            ]);
        }
        measured = measured.chart(queue).chart(link);
    }
    Ok(measured.table(table))
}
