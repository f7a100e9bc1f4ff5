//! Sections III and IV.B with the ten flows of Figs. 7 and 8: single drops, with and without adaptation.

use super::ack_delay::AckDelay;
use super::growth::fall;
use super::scenario;
use super::watch::{Runs, Watch, mean};
use crate::estimate::Estimate;
use crate::lab::{Failure, Lab};
use crate::measured::Measured;
use crate::table::{Cell, Table};

const TAIL: &str = "tail drop";
const GSP: &str = "GSP";
const ADAPTIVE: &str = "adaptive GSP";
const LONG: &str = "adaptive GSP, threshold of 40 ms";
/// The threshold, bytes.
const THRESHOLD: f64 = 125_000.0;
/// The longest interval, seconds.
const INTERVAL: f64 = 0.2;
/// Round-trip time without queueing, seconds.
const RTT: f64 = 0.1;

/// Single drops.
pub(super) fn drops(lab: &Lab<'_>) -> Result<Measured, Failure> {
    let seeds = lab.seeds(10, 1);
    let tail = scenario!("fig7").scheme(TAIL, "bfifo limit=150000");
    let tail = Runs::watch(lab, &tail, &seeds)?;
    let mut setup = scenario!("fig7").schemes(&[
        (GSP, "gsp mode=basic threshold=125000b limit=1000000 limit_bytes=300000"),
        (ADAPTIVE, "gsp threshold=125000b limit=1000000 limit_bytes=300000"),
        (LONG, "gsp threshold=500000b limit=1000000 limit_bytes=1250000"),
    ]);
    // The runs of Fig. 8 are shared.
    setup.scenario.name = "fig8".to_owned();
    let runs = Runs::watch(lab, &setup, &seeds)?;
    let acks = lab.watch::<AckDelay>(
        &{
            let mut setup = setup.clone();
            setup.schemes.truncate(1);
            setup
        },
        &seeds,
    )?;
    let medians = acks.iter().zip(runs.of(GSP)).map(|(acks, run)| {
        let by_acks = acks.seen.median()? - RTT;
        Some(1e3 * (by_acks - run.quantile(0.5)))
    });
    let medians = Estimate::over(medians);
    let falls = |run: &Watch| {
        let groups = run.groups();
        let falls: Vec<f64> = groups.iter().map(|group| fall(run, group[0].at.as_secs_f64(), 1.0)).collect();
        mean(&falls)
    };
    let fall =
        Estimate::over((runs.of(GSP).map(falls)).zip(tail.of(TAIL).map(falls)).map(|(gsp, tail)| Some(gsp? / tail?)));
    let roles = [ADAPTIVE, GSP];
    let delay = runs.per_seed(roles, |runs| {
        let [adaptive, basic] = runs.map(mean_delay);
        Some(adaptive? / basic?)
    });
    let drops = runs.per_seed(roles, |runs| {
        let [adaptive, basic] = runs.map(|run| run.measured_drops().count() as f64);
        Some(adaptive / basic)
    });
    let mut table = Table::new(
        "Ten flows at 100 Mb/s",
        ["scheme", "mean delay (ms)", "1 % (ms)", "time above the threshold (%)", "mean gap between drops (s)"],
    );
    for (role, threshold) in [(GSP, THRESHOLD), (ADAPTIVE, THRESHOLD), (LONG, 500_000.0)] {
        table = table.row([
            Cell::text(role),
            Cell::estimate(runs.mean(role, mean_delay).scaled(1e3), 2),
            Cell::estimate(runs.mean(role, |run| Some(1e3 * run.quantile(0.01))), 2),
            Cell::estimate(runs.mean(role, |run| above(run, threshold)), 1),
            Cell::estimate(runs.mean(role, |run| mean(&run.gaps())), 2),
        ]);
    }
    Ok(Measured::new()
        .table(table)
        .claim("after-interval", runs.mean(GSP, after_the_interval))
        .claim("fall", fall)
        .claim("above", runs.mean(ADAPTIVE, |run| above(run, THRESHOLD)))
        .claim("gap", runs.mean(ADAPTIVE, |run| Some(mean(&run.gaps())? / INTERVAL)))
        .claim("delay", delay)
        .claim("drops", drops)
        .claim("periodic", runs.mean(ADAPTIVE, |run| Some(100.0 * share_of_short_gaps(run)?)))
        .claim("standing-delay", runs.mean(LONG, |run| Some(1e3 * run.quantile(0.01))))
        .claim("ack-delay", medians))
}

/// Mean sojourn time, seconds.
pub(super) fn mean_delay(run: &Watch) -> Option<f64> {
    let (from, to) = run.span();
    run.mean_delay(from, to)
}

/// Percentage of the time in which the queue is longer than `threshold` bytes.
fn above(run: &Watch, threshold: f64) -> Option<f64> {
    let (from, to) = run.span();
    let states: Vec<f64> = (run.backlogs(from, to)).map(|(_, bytes)| f64::from(u8::from(bytes > threshold))).collect();
    mean(&states).map(|share| 100.0 * share)
}

/// Mean length of the queue at the end of the intervals, in thresholds.
fn after_the_interval(run: &Watch) -> Option<f64> {
    let (_, to) = run.span();
    let ends = run.measured_drops().map(|drop| drop.at.as_secs_f64() + INTERVAL);
    let lengths: Vec<f64> = ends.filter(|end| *end < to).map(|end| run.backlog(end) / THRESHOLD).collect();
    mean(&lengths)
}

/// Fraction of the gaps between drops that are shorter than a round trip: periodic drops. `None` without a gap.
pub(super) fn share_of_short_gaps(run: &Watch) -> Option<f64> {
    let gaps = run.gaps();
    let short: Vec<f64> = gaps.iter().map(|gap| f64::from(u8::from(*gap < RTT))).collect();
    mean(&short)
}
