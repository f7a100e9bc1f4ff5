//! Figs. 7 to 9: synchronous drops by tail drop, and how GSP avoids them.

use super::watch::{Runs, Watch, mean};
use super::{beside_the_kernel, over_time, scenario, shorter};
use crate::lab::{Failure, Lab};
use crate::measured::Measured;
use crate::table::{Cell, Table};

const TAIL: &str = "tail drop";
const GSP: &str = "GSP";

/// Fig. 7: tail drop with ten flows.
pub(super) fn tail_drop(lab: &Lab<'_>) -> Result<Measured, Failure> {
    let setup = scenario!("fig7").scheme(TAIL, "bfifo limit=150000");
    let runs = Runs::watch(lab, &setup, &lab.seeds(10, 2))?;
    let measured = over_time(Measured::new(), runs.first(TAIL), "tail drop, 10 flows", 40.0, 50.0);
    let measured = measured
        .table(events(&runs, TAIL))
        .claim("drops-at-once", runs.mean(TAIL, drops))
        .claim("flows-at-once", runs.mean(TAIL, flows))
        .claim("half-of-the-flows", runs.mean(TAIL, drops))
        .claim("empty-queue", runs.mean(TAIL, empty_percent))
        .claim("time-below-capacity", runs.mean(TAIL, Watch::mean_time_below_capacity));
    beside_the_kernel(lab, measured, setup, 40)
}

/// Fig. 8: basic GSP with the flows of Fig. 7.
pub(super) fn basic(lab: &Lab<'_>) -> Result<Measured, Failure> {
    let scheme = "gsp mode=basic threshold=125000b limit=1000000 limit_bytes=300000";
    let mut setup = scenario!("fig7").scheme(GSP, scheme);
    // Variants identify the figures by the name.
    setup.scenario.name = "fig8".to_owned();
    let runs = Runs::watch(lab, &setup, &lab.seeds(10, 2))?;
    let measured = over_time(Measured::new(), runs.first(GSP), "basic GSP, 10 flows", 40.0, 50.0);
    let measured = measured
        .table(events(&runs, GSP))
        .claim("drops-at-once", runs.mean(GSP, drops))
        .claim("flows-at-once", runs.mean(GSP, flows))
        .claim("empty-queue", runs.mean(GSP, empty_percent));
    beside_the_kernel(lab, measured, setup, 40)
}

/// Fig. 9: adaptive GSP with forty flows.
pub(super) fn adaptive(lab: &Lab<'_>) -> Result<Measured, Failure> {
    /// The threshold: 500,000 bytes at 400 Mb/s, seconds.
    const THRESHOLD: f64 = 0.01;
    let setup = scenario!("fig9").scheme(GSP, "gsp threshold=500000b limit=1000000");
    let basic = scenario!("fig9").scheme(GSP, "gsp mode=basic threshold=500000b limit=1000000");
    let basic = shorter(lab, basic, 45, 15);
    let basic = Runs::watch(lab, &basic, &lab.seeds(5, 1))?;
    let setup = shorter(lab, setup, 45, 15);
    let runs = Runs::watch(lab, &setup, &lab.seeds(5, 1))?;
    let measured = over_time(Measured::new(), runs.first(GSP), "adaptive GSP, 40 flows", 40.0, 45.0);
    let measured = measured
        .claim("time-without-drops", runs.mean(GSP, |run| Some(100.0 * Phases::of(run)?.pauses)))
        .claim("regularity", runs.mean(GSP, |run| Phases::of(run)?.variation))
        .claim("phases", runs.mean(GSP, |run| Some(Phases::of(run)?.length)))
        .claim("drift", runs.mean(GSP, drift))
        .claim(
            "basic-delay",
            basic.mean(GSP, |run| {
                let (from, to) = run.span();
                Some(run.mean_delay(from, to)? / THRESHOLD)
            }),
        );
    beside_the_kernel(lab, measured, setup, 20)
}

/// Time with an empty queue, percent.
pub(super) fn empty_percent(run: &Watch) -> Option<f64> {
    Some(100.0 * run.empty())
}

/// Mean number of packets dropped within a round trip.
fn drops(run: &Watch) -> Option<f64> {
    mean(&per_event(run, |event| event.drops))
}

/// Mean number of flows that lose a packet within a round trip.
pub(super) fn flows(run: &Watch) -> Option<f64> {
    mean(&per_event(run, |event| event.flows))
}

fn per_event(run: &Watch, number: impl Fn(&super::watch::Event) -> usize) -> Vec<f64> {
    let events = run.events();
    events.iter().map(|event| number(event) as f64).collect()
}

fn events(runs: &Runs, role: &str) -> Table {
    let rows: [(&str, crate::Estimate, u8); 6] = [
        (
            "times with drops, per minute",
            runs.mean(role, |run| {
                let (from, to) = run.span();
                Some(60.0 * run.events().len() as f64 / (to - from))
            }),
            1,
        ),
        ("packets dropped at a time", runs.mean(role, drops), 2),
        ("flows that lose a packet at a time", runs.mean(role, flows), 2),
        ("link utilization (%)", runs.mean(role, |run| Some(100.0 * run.utilization())), 2),
        ("lowest utilization over a round trip (%)", runs.mean(role, |run| Some(100.0 * run.lowest_utilization())), 1),
        ("time with an empty queue (%)", runs.mean(role, empty_percent), 2),
    ];
    let table = Table::new("Drops within a round trip of 100 ms count as one time", ["", "ours"]);
    rows.into_iter()
        .fold(table, |table, (name, number, decimals)| table.row([Cell::text(name), Cell::estimate(number, decimals)]))
}

/// A gap between drops of more than this many times the median one is a pause.
pub(super) const PAUSE: f64 = 3.0;

/// The alternation of periodic drops and pauses. A pause is a time without drops of more than three times the median
/// gap between drops.
struct Phases {
    /// Fraction of the time that belongs to pauses.
    pauses: f64,
    /// Mean time from the end of a pause to the end of the next one, seconds.
    length: f64,
    /// Coefficient of variation of the gaps that are no pauses; `None` without such a gap.
    variation: Option<f64>,
}

impl Phases {
    /// `None` without a gap between drops.
    fn of(run: &Watch) -> Option<Phases> {
        let mut gaps = run.gaps();
        let total: f64 = gaps.iter().sum();
        gaps.sort_by(f64::total_cmp);
        let median = *gaps.get(gaps.len() / 2)?;
        let (pauses, periodic): (Vec<f64>, Vec<f64>) = gaps.into_iter().partition(|gap| *gap > PAUSE * median);
        Some(Phases {
            pauses: pauses.iter().sum::<f64>() / total,
            length: total / pauses.len().max(1) as f64,
            variation: mean(&periodic).map(|mean| {
                let squares = periodic.iter().map(|gap| (gap - mean) * (gap - mean));
                (squares.sum::<f64>() / periodic.len() as f64).sqrt() / mean
            }),
        })
    }
}

/// Mean queueing delay of the second half of the run, divided by the first half's.
pub(super) fn drift(run: &Watch) -> Option<f64> {
    let (from, to) = run.span();
    let middle = f64::midpoint(from, to);
    Some(run.mean_delay(middle, to)? / run.mean_delay(from, middle)?)
}
