//! One factor at a time around a base case: `real` at 10 Mb/s with a load of 90 % between current Linux hosts.

use super::cases::{BASE_RATE, SCHEMES, by_scheme, seeds, setup};
use crate::{Cell, Estimate, Failure, Lab, Measured, Results, Setup, Table};
use gentle_experiment::Traffic;
use gentle_units::Nanos;

/// Schemes that can mark packets, with marks on.
const MARKING: [(&str, &str); 6] = [
    ("CoDel", "codel ecn=on"),
    ("FQ-CoDel", "fq_codel ecn=on"),
    ("SPA over CoDel", "spa ecn=on"),
    ("SPA over PIE", "spa child=pie ecn=on"),
    ("REDFavor", "redfavor limit=75000 ecn=on"),
    ("pFIFO", "pfifo limit=50"),
];

fn base(lab: &Lab<'_>) -> Setup {
    setup(lab, "real", BASE_RATE, &SCHEMES)
}

fn tables(lab: &Lab<'_>, cases: Vec<(&str, Setup)>) -> Result<Measured, Failure> {
    let cases = cases.into_iter().map(|(label, setup)| Ok((label.to_owned(), lab.compare(setup, &seeds(lab))?)));
    let cases = cases.collect::<Result<Vec<_>, Failure>>()?;
    Ok(Measured::new().tables(by_scheme(&cases)))
}

/// A case for each value of a TCP knob.
fn knob(lab: &Lab<'_>, name: &str, values: &[(&'static str, &str)]) -> Result<Measured, Failure> {
    let cases = values.iter().map(|(label, value)| {
        let mut setup = base(lab);
        setup.set_knob(name, value);
        (*label, setup)
    });
    tables(lab, cases.collect())
}

/// ECN at the hosts and in the queue.
pub(super) fn ecn(lab: &Lab<'_>) -> Result<Measured, Failure> {
    let mut marking = setup(lab, "real", BASE_RATE, &MARKING);
    marking.set_knob("ecn", "request");
    tables(lab, vec![("without ECN", base(lab)), ("with ECN", marking)])
}

/// Initial window.
pub(super) fn initial_window(lab: &Lab<'_>) -> Result<Measured, Failure> {
    knob(lab, "iw", &[("4 segments", "4"), ("10 segments", "10")])
}

/// Congestion control.
pub(super) fn congestion_control(lab: &Lab<'_>) -> Result<Measured, Failure> {
    knob(lab, "congestion_control", &[("CUBIC", "cubic"), ("NewReno", "reno")])
}

/// Share of hosts with an initial RTO of 1 s; the others have 3 s.
pub(super) fn initial_rto(lab: &Lab<'_>) -> Result<Measured, Failure> {
    let labels = ["0 % of hosts with 1 s", "25 %", "50 %", "75 %", "100 %"];
    let mut cases = Vec::new();
    for (quarters, label) in labels.into_iter().enumerate() {
        let setup = with_quarters(base(lab), quarters);
        cases.push((label.to_owned(), lab.compare(setup, &seeds(lab))?));
    }
    let groups = [SLOW, FAST].map(|group| of_group(&cases, group));
    Ok(Measured::new().tables(by_scheme(&cases)).tables(groups))
}

/// Initial RTO of the two groups of hosts.
const FAST: &str = "1s";
const SLOW: &str = "3s";

/// Divides each workload into quarters, of which `fast` have an initial RTO of 1 s and the others of 3 s. The
/// connections are the same for any `fast`, since they depend on the places of the workloads alone.
fn with_quarters(mut setup: Setup, fast: usize) -> Setup {
    let workloads = std::mem::take(&mut setup.scenario.workloads);
    for workload in workloads {
        for quarter in 0..4 {
            let rto = if quarter < fast { FAST } else { SLOW };
            let mut workload = workload.clone();
            let set = workload.tcp.set_knob("initial_rto", rto);
            set.expect("the knob exists");
            workload.group = Some(rto.to_owned());
            if let Traffic::Poisson(poisson) = &mut workload.traffic {
                poisson.gap = Nanos(4 * poisson.gap.0);
            }
            setup.scenario.workloads.push(workload);
        }
    }
    setup
}

/// Response time of the short connections of a group of hosts.
fn of_group(cases: &[(String, Results)], group: &str) -> Table {
    let title = format!(
        "Mean response time of connections of 1 to 3 segments between hosts with an initial RTO of {group}, ms"
    );
    let heads = cases.iter().map(|(label, _)| label.clone());
    let table = Table::new(&title, std::iter::once("scheme".to_owned()).chain(heads));
    SCHEMES.iter().fold(table, |table, (role, _)| {
        let cells = cases.iter().map(|(_, results)| {
            let groups = &results.of(role).groups;
            let found = groups.iter().find(|result| result.group == group);
            match found.and_then(|result| result.response_time_by_size.first()) {
                Some(sizes) => {
                    let time = Estimate { value: sizes.mean_s, ci95: sizes.ci95_s, seeds: 0 };
                    Cell::estimate(time.scaled(1e3), 0)
                }
                None => "–".into(),
            }
        });
        table.row(std::iter::once(Cell::from(*role)).chain(cells))
    })
}
