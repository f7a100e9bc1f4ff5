//! Section III.B, paragraph 4: an overflow of the buffer under adaptive GSP when many flows start.

use super::assumptions::start_within;
use super::many::flows_at_overflows;
use super::scenario;
use super::watch::{Runs, Watch, mean};
use crate::chart::Draw;
use crate::lab::{Failure, Lab};
use crate::measured::Measured;
use crate::setup::Setup;
use crate::table::{Cell, Table};
use gentle_units::Nanos;

const GSP: &str = "GSP";
/// Time after the first overflow in which what follows belongs to the start of the flows, seconds.
const FIRST: f64 = 5.0;
/// Time after the first overflow in which link and queue may be depleted, seconds.
const AFTER: f64 = 20.0;

/// Forty flows start on an idle link.
pub(super) fn new_flows(lab: &Lab<'_>) -> Result<Measured, Failure> {
    let seeds = lab.seeds(10, 1);
    let runs = Runs::watch(lab, &started_within(Nanos::from_millis(100)), &seeds)?;
    let slow = Runs::watch(lab, &started_within(Nanos::from_secs(15)), &seeds)?;
    let spread: Vec<f64> = slow.of(GSP).map(|run| run.overflows() as f64).collect();
    let sudden = runs.of(GSP).map(|run| run.overflows() as f64);
    let spread = crate::Estimate::over((spread.into_iter().zip(sudden)).map(|(spread, sudden)| Some(spread / sudden)));
    let run = runs.first(GSP);
    let (from, to) = (0.0, 20.0);
    let delay = run.delay_line(from, to, 0.02);
    let top = delay.iter().map(|(_, ms)| *ms).fold(0.0, f64::max);
    let chart = super::delay_chart("queue", "Queue, 40 flows within 0.1 s", from, to)
        .line("queueing delay", delay)
        .draw("dropped packets", Draw::Points, run.drop_points(from, to, 1.05 * top));
    let mut table = Table::new(
        "Forty flows start at 400 Mb/s",
        ["starts within", "overflows", "lowest utilization over a round trip afterwards (%)"],
    );
    for (label, runs) in [("0.1 s", &runs), ("15 s", &slow)] {
        table = table.row([
            Cell::text(label),
            Cell::estimate(runs.mean(GSP, |run| Some(run.overflows() as f64)), 0),
            Cell::estimate(runs.mean(GSP, depletion), 1),
        ]);
    }
    Ok(Measured::new()
        .chart(chart)
        .table(table)
        .claim("flows-at-once", runs.mean(GSP, flows_at_overflows))
        .claim("lowest-utilization", slow.mean(GSP, depletion))
        .claim("without-remedy", slow.mean(GSP, growth_without_remedy))
        .claim("spread-starts", spread)
        .claim("later-overflows", runs.mean(GSP, later_overflows)))
}

/// The traffic of Fig. 9 with a buffer of 24 ms from the start on. The flows start within `time`.
fn started_within(time: Nanos) -> Setup {
    let scheme = "gsp threshold=500000b limit=1000000 limit_bytes=1200000";
    let mut setup = scenario!("fig9").scheme(GSP, scheme);
    setup.scenario.name = "overflow".to_owned();
    setup.scenario.warmup = Nanos::ZERO;
    setup.scenario.duration = Nanos::from_secs(40);
    start_within(&mut setup, time);
    setup
}

/// Time of the first overflow, seconds.
fn first_overflow(run: &Watch) -> Option<f64> {
    let first = run.measured_drops().find(|drop| drop.overflow);
    first.map(|drop| drop.at.as_secs_f64())
}

/// Lowest utilization over a round trip after the first overflow, percent.
fn depletion(run: &Watch) -> Option<f64> {
    let at = first_overflow(run)?;
    Some(100.0 * run.lowest_utilization_between(at, at + AFTER))
}

/// How much longer the interval would be after the recovery from an overflow than at the overflow if the time below the
/// threshold counted, as a factor.
fn growth_without_remedy(run: &Watch) -> Option<f64> {
    let recoveries = run.intervals()?.recoveries(0.0);
    let factors: Vec<f64> = recoveries.map(|recovery| recovery.without).collect();
    mean(&factors)
}

/// Packets dropped because the buffer was full, after the first of the overflows are over.
fn later_overflows(run: &Watch) -> Option<f64> {
    let from = first_overflow(run)? + FIRST;
    let later = run.measured_drops();
    let later = later.filter(|drop| drop.overflow && drop.at.as_secs_f64() > from);
    Some(later.count() as f64)
}
