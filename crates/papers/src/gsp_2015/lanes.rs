//! Section II, paragraph 1: the delay of thin flows in the queue of others.

use super::scenario;
use super::single::mean_delay;
use super::watch::{Runs, Watch};
use crate::lab::{Failure, Lab};
use crate::measured::Measured;
use crate::table::{Cell, Table};

const GSP: &str = "GSP";
const TAIL: &str = "tail drop";
const FAIR: &str = "fq_codel";

/// Pings on the link of ten flows.
pub(super) fn pings(lab: &Lab<'_>) -> Result<Measured, Failure> {
    let setup = scenario!("pings").schemes(&[
        (GSP, "gsp threshold=5ms limit=1000000 limit_bytes=1250000"),
        (TAIL, "bfifo limit=500000"),
        (FAIR, "fq_codel"),
    ]);
    let runs = Runs::watch(lab, &setup, &lab.seeds(5, 1))?;
    let mut table = Table::new(
        "Ten flows at 100 Mb/s and pings",
        ["scheme", "mean delay of all packets (ms)", "of the pings (ms)"],
    );
    for role in [GSP, TAIL, FAIR] {
        let pings = runs.mean(role, Watch::mean_delay_of_datagrams);
        table = table.row([
            Cell::text(role),
            Cell::estimate(runs.mean(role, mean_delay).scaled(1e3), 2),
            Cell::estimate(pings.scaled(1e3), 2),
        ]);
    }
    let lane = runs.mean(GSP, |run| Some(run.mean_delay_of_datagrams()? / mean_delay(run)?));
    let smaller = runs.per_seed([GSP, TAIL], |runs| {
        let [gsp, tail] = runs.map(Watch::mean_delay_of_datagrams);
        Some(gsp? / tail?)
    });
    Ok(Measured::new().table(table).claim("fast-lane", lane).claim("smaller-buffer", smaller))
}
