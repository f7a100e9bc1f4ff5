//! Figs. 5 to 10: the testbed of section VI with the paper's hosts.

use super::comparison::comparisons;
use super::figures::{BINS, by_size, numbers, panels, response_times};
use super::quantity::{LOSS, SYN_LOSS, mean};
use super::schemes::{BYTE_FIFO, CODEL, FQ_CODEL, PACKET_FIFO, RED, REDFAVOR, SFQ, SPA, SPA_SYN_ONLY};
use super::traffic::{REAL, REAL_REVERSE, SHORT, TEN_MEGABIT, Traffic};
use crate::lab::{Failure, Lab};
use crate::measured::Measured;
use crate::results::Results;
use crate::table::{Cell, Table};
use gentle_units::Nanos;

fn run(lab: &Lab<'_>, traffic: &Traffic) -> Result<Results, Failure> {
    lab.compare_with_bins(traffic.of_the_paper(lab), &lab.seeds(6, 2), &BINS)
}

/// Fig. 5.
pub(super) fn real(lab: &Lab<'_>) -> Result<Measured, Failure> {
    let results = run(lab, &REAL)?;
    Ok(panels(&results).claims(comparisons(lab, "fig5", &[], &results, run)?))
}

/// Schemes shown by size.
pub(super) const SELECTION: [&str; 9] =
    [PACKET_FIFO, BYTE_FIFO, RED, REDFAVOR, CODEL, FQ_CODEL, SFQ, SPA, SPA_SYN_ONLY];

/// Fig. 6.
pub(super) fn real_by_size(lab: &Lab<'_>) -> Result<Measured, Failure> {
    let results = run(lab, &REAL)?;
    let measured = Measured::new().chart(by_size(&results, &SELECTION));
    Ok(measured.claims(comparisons(lab, "fig6", &[], &results, run)?))
}

/// Fig. 7.
pub(super) fn real_reverse(lab: &Lab<'_>) -> Result<Measured, Failure> {
    let real = run(lab, &REAL)?;
    let reverse = run(lab, &REAL_REVERSE)?;
    let measured = panels(&reverse).table(more_losses(&real, &reverse));
    Ok(measured.claims(comparisons(lab, "fig7", &[], &reverse, run)?))
}

/// Losses of each scheme without and with the reverse connection.
fn more_losses(real: &Results, reverse: &Results) -> Table {
    let columns = ["scheme", "loss without, %", "with, %", "SYN loss without, %", "with, %"];
    let table = Table::new("Losses without and with the reverse connection", columns);
    reverse.roles().iter().fold(table, |table, role| {
        let cell = |results, quantity| Cell::estimate(mean(results, role, quantity).scaled(100.0), 1);
        table.row([
            Cell::text(*role),
            cell(real, LOSS),
            cell(reverse, LOSS),
            cell(real, SYN_LOSS),
            cell(reverse, SYN_LOSS),
        ])
    })
}

/// Fig. 8.
pub(super) fn real_reverse_by_size(lab: &Lab<'_>) -> Result<Measured, Failure> {
    let results = run(lab, &REAL_REVERSE)?;
    let measured = Measured::new().chart(by_size(&results, &SELECTION));
    let measured = measured.claims(comparisons(lab, "fig8", &[], &results, run)?);
    let mut cut = REAL_REVERSE.of_the_paper(lab);
    cut.scenario.drain = Nanos(0);
    cut.schemes.retain(|(role, _)| *role == PACKET_FIFO);
    let cut = lab.compare(cut, &lab.seeds(2, 1))?;
    Ok(measured.claim("unfinished", cut.mean(PACKET_FIFO, "unfinished")))
}

/// Fig. 9.
pub(super) fn short(lab: &Lab<'_>) -> Result<Measured, Failure> {
    let results = run(lab, &SHORT)?;
    Ok(panels(&results).claims(comparisons(lab, "fig9", &[], &results, run)?))
}

/// Fig. 10.
pub(super) fn ten_megabit(lab: &Lab<'_>) -> Result<Measured, Failure> {
    let results = run(lab, &TEN_MEGABIT)?;
    let measured =
        Measured::new().chart(by_size(&results, &SELECTION)).chart(response_times(&results)).table(numbers(&results));
    Ok(measured.claims(comparisons(lab, "fig10", &[], &results, run)?))
}
