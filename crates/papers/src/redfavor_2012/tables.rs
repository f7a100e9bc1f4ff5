//! Tables II and III: dropped packets and bandwidth use.

use super::compared;
use super::figures::pairs;
use super::flows::Flows;
use super::{MEASURED_S, SCHEMES, results, seeds, setup};
use crate::{Cell, Estimate, Failure, Lab, Measured, Table};

/// Table II.
pub(super) fn drops(lab: &Lab<'_>) -> Result<Measured, Failure> {
    let setup = setup(lab);
    let watched = lab.watch::<Flows>(&setup, &seeds(lab))?;
    let scenario = &setup.scenario;
    let measured = (scenario.duration - scenario.warmup).as_secs_f64();
    let of = |role: &str, number: &dyn Fn(&Flows) -> f64| {
        let runs = watched.iter().filter(|run| run.role == role);
        Estimate::over(runs.map(|run| Some(number(&run.seen))))
    };
    let per_run = MEASURED_S / measured;
    let mut table = Table::new(
        "Packets of the link under test in 400 s",
        ["scheme", "offered", "dropped", "drop rate", "dropped SYNs", "of these, with no packet in the queue"],
    );
    let mut result = Measured::new();
    for role in SCHEMES {
        let offered = of(role, &|flows| flows.offered() as f64 * per_run);
        let dropped = of(role, &|flows| flows.dropped() as f64 * per_run);
        let rate = of(role, &|flows| flows.dropped() as f64 / flows.offered() as f64);
        let syns = of(role, &|flows| flows.syns.dropped as f64 * per_run);
        let at_empty = of(role, &|flows| flows.dropped_syns_at_empty as f64 * per_run);
        table = table.row([
            role.into(),
            Cell::estimate(offered, 0),
            Cell::estimate(dropped, 0),
            Cell::estimate(rate, 3),
            Cell::estimate(syns, 0),
            Cell::estimate(at_empty, 0),
        ]);
        let name = role.to_lowercase();
        result = result
            .claim(format!("drops-{name}"), dropped)
            .claim(format!("rate-{name}"), rate)
            .claim(format!("syns-{name}"), syns);
    }
    let standard = |ours: &Flows, theirs: &Flows| ours.standard.dropped as f64 / theirs.standard.dropped as f64;
    let rate = |ours: &Flows, theirs: &Flows| {
        let rate = |flows: &Flows| flows.dropped() as f64 / flows.offered() as f64;
        rate(ours) / rate(theirs)
    };
    for (name, other) in [("choke", "CHOKe"), ("red", "RED")] {
        result = result
            .claim(format!("standard-below-{name}"), pairs(&watched, "REDFavor", other, standard))
            .claim(format!("rate-below-{name}"), pairs(&watched, "REDFavor", other, rate));
    }
    let compared = compared::claims(lab, "table2")?;
    Ok(result.claims(compared).table(table).table(totals()))
}

/// Implications of the published numbers of Tables II and III together.
fn totals() -> Table {
    let mut table = Table::new(
        "What the paper's Tables II and III imply: packets in all, and their mean size at the published bandwidth use",
        ["scheme", "dropped", "drop rate", "offered", "sent", "bytes a packet"],
    );
    let rows = [
        ("CHOKe", 55_566.0, 0.082, 0.8334),
        ("RED", 36_758.0, 0.143, 0.9687),
        ("REDFavor", 33_150.0, 0.073, 0.9671),
        ("CHOKe, with the rate of RED", 55_566.0, 0.143, 0.8334),
        ("RED, with the rate of CHOKe", 36_758.0, 0.082, 0.9687),
    ];
    for (scheme, dropped, rate, used) in rows {
        let offered = dropped / rate;
        let sent = offered - dropped;
        let bytes = used * 10e6 * MEASURED_S / 8.0 / sent;
        table = table.row([
            scheme.into(),
            Cell::number(dropped, 0),
            Cell::number(rate, 3),
            Cell::number(offered, 0),
            Cell::number(sent, 0),
            Cell::number(bytes, 0),
        ]);
    }
    table
}

/// Table III.
pub(super) fn bandwidth(lab: &Lab<'_>) -> Result<Measured, Failure> {
    let results = results(lab)?;
    let mut table = Table::new("Bandwidth use", ["scheme", "bandwidth use in %"]);
    let mut result = Measured::new();
    for role in SCHEMES {
        let used = results.mean(role, "utilization").scaled(100.0);
        table = table.row([role.into(), Cell::estimate(used, 2)]);
        result = result.claim(format!("use-{}", role.to_lowercase()), used);
    }
    let as_red =
        results.per_seed(|values| Some(values.get("REDFavor", "utilization")? / values.get("RED", "utilization")?));
    let compared = compared::claims(lab, "table3")?;
    Ok(result.claim("use-as-red", as_red).claims(compared).table(table))
}
