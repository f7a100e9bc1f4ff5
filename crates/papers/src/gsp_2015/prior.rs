//! Section I, paragraph 4: RED, CoDel and PIE when the number of flows changes, and CoDel and PIE with too large a target.

use super::growth::set_flows;
use super::single::mean_delay;
use super::watch::{Runs, Watch};
use super::{scenario, shorter};
use crate::lab::{Failure, Lab};
use crate::measured::Measured;
use crate::table::{Cell, Table};
use gentle_units::Nanos;

const RED: &str = "RED";
const CODEL: &str = "CoDel";
const PIE: &str = "PIE";
/// Numbers of flows, as far apart as in Fig. 10.
const MANY: u32 = 100;
const FEW: u32 = 4;

/// RED, CoDel and PIE.
pub(super) fn schemes(lab: &Lab<'_>) -> Result<Measured, Failure> {
    let seeds = lab.seeds(10, 1);
    let with = |flows| {
        let mut setup = scenario!("fig7").schemes(&[
            // The upper threshold is three times the lower one, and a delay of 8 ms, as that of GSP in Fig. 10.
            (RED, "red limit=500000 min=33333 max=100000 avpkt=1514 probability=0.02 bandwidth=100mbit"),
            (CODEL, "codel limit=825"),
            (PIE, "pie limit=825"),
        ]);
        set_flows(&mut setup, flows);
        Runs::watch(lab, &shorter(lab, setup, 40, 20), &seeds)
    };
    let many = with(MANY)?;
    let few = with(FEW)?;
    let change = |role| {
        let few = few.of(role).map(mean_delay);
        let many = many.of(role).map(mean_delay);
        let pairs = many.zip(few);
        pairs.map(|(many, few)| {
            let change = many? / few?;
            Some(change.max(1.0 / change))
        })
    };
    let relative = |role| {
        let pairs = change(role).zip(change(RED));
        crate::Estimate::over(pairs.map(|(one, red)| Some(one? / red?)))
    };
    let mut table =
        Table::new("100 and 4 flows at 100 Mb/s", ["flows", "scheme", "mean delay (ms)", "utilization (%)"]);
    for (flows, runs) in [(MANY, &many), (FEW, &few)] {
        for role in [RED, CODEL, PIE] {
            table = table.row([
                Cell::number(f64::from(flows), 0),
                Cell::text(role),
                Cell::estimate(runs.mean(role, mean_delay).scaled(1e3), 2),
                Cell::estimate(runs.mean(role, |run| Some(100.0 * run.utilization())), 2),
            ]);
        }
    }
    let (targets, codel, pie) = large_targets(lab)?;
    Ok(Measured::new()
        .table(table)
        .table(targets)
        .claim("red", crate::Estimate::over(change(RED)))
        .claim("codel-change", relative(CODEL))
        .claim("pie-change", relative(PIE))
        .claim("codel-target", codel)
        .claim("pie-target", pie))
}

/// Median delays of CoDel and PIE at a round-trip time of 10 ms with targets of 40 ms, divided by those with 5 ms.
fn large_targets(lab: &Lab<'_>) -> Result<(Table, crate::Estimate, crate::Estimate), Failure> {
    const LARGE_CODEL: &str = "CoDel, 40 ms";
    const LARGE_PIE: &str = "PIE, 40 ms";
    let mut setup = scenario!("fig12").schemes(&[
        (CODEL, "codel target=5ms limit=825"),
        (PIE, "pie target=5ms limit=825"),
        (LARGE_CODEL, "codel target=40ms limit=825"),
        (LARGE_PIE, "pie target=40ms limit=825"),
    ]);
    for link in &mut setup.scenario.links {
        link.delay = Nanos::from_millis(5);
    }
    let runs = Runs::watch(lab, &shorter(lab, setup, 30, 12), &lab.seeds(3, 1))?;
    let mut table = Table::new(
        "Ten flows at 100 Mb/s, round-trip time of 10 ms",
        ["scheme", "median delay (ms)", "utilization (%)"],
    );
    for role in [CODEL, LARGE_CODEL, PIE, LARGE_PIE] {
        table = table.row([
            Cell::text(role),
            Cell::estimate(runs.mean(role, |run| Some(1e3 * run.quantile(0.5))), 2),
            Cell::estimate(runs.mean(role, |run| Some(100.0 * run.utilization())), 2),
        ]);
    }
    let inflation = |large, small| {
        runs.per_seed([large, small], |runs: [&Watch; 2]| {
            let [large, small] = runs.map(|run| run.quantile(0.5));
            Some(large / small)
        })
    };
    let codel = inflation(LARGE_CODEL, CODEL);
    let pie = inflation(LARGE_PIE, PIE);
    Ok((table, codel, pie))
}
