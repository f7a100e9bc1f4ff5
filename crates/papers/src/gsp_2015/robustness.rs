//! Section IV.E: the choice of the interval, and flows of different round-trip times in one queue.

use super::growth::quantile;
use super::watch::{Runs, Watch, mean};
use super::{scenario, shorter};
use crate::estimate::Estimate;
use crate::lab::{Failure, Lab};
use crate::measured::Measured;
use crate::setup::Setup;
use crate::table::{Cell, Table};
use gentle_units::{Nanos, Rate};

const GSP: &str = "GSP";
const CODEL: &str = "CoDel";
const PIE: &str = "PIE";
const SHORT: &str = "GSP, interval of 100 ms";
const LONG: &str = "GSP, interval of 400 ms";
const SCHEME: &str = "gsp threshold=5ms limit=1000000 limit_bytes=1250000";
/// The threshold, milliseconds.
const THRESHOLD: f64 = 5.0;
/// The longest interval, seconds.
const INTERVAL: f64 = 0.2;

/// Intervals, rates and round-trip times.
pub(super) fn of_gsp(lab: &Lab<'_>) -> Result<Measured, Failure> {
    let seeds = lab.seeds(5, 1);
    // The runs of Fig. 12 are shared.
    let base = || shorter(lab, scenario!("fig12"), 30, 12);
    let setup = base()
        .scheme(GSP, SCHEME)
        .scheme(SHORT, &format!("{SCHEME} interval=100ms"))
        .scheme(LONG, &format!("{SCHEME} interval=400ms"));
    let far = Runs::watch(lab, &setup, &seeds)?;
    let mut near = base().scheme(GSP, SCHEME);
    for link in &mut near.scenario.links {
        link.delay = Nanos::from_micros(5000);
    }
    let near = Runs::watch(lab, &near, &seeds)?;
    let spread = |number: fn(&Watch) -> f64| {
        far.per_seed([GSP, SHORT, LONG], |runs| {
            let numbers = runs.map(number).into_iter();
            Some(numbers.clone().reduce(f64::max)? - numbers.reduce(f64::min)?)
        })
    };
    let delays = spread(|run| 1e3 * run.quantile(0.5));
    let used = spread(|run| 100.0 * run.utilization());
    let compared = |number: fn(&Watch) -> Option<f64>| {
        let pairs = near.of(GSP).map(number).zip(far.of(GSP).map(number));
        Estimate::over(pairs.map(|(near, far)| Some(near? / far?)))
    };
    let mut table = Table::new(
        "GSP with ten flows at 100 Mb/s",
        [
            "RTT (ms)",
            "interval",
            "median delay (ms)",
            "time between crossings (s)",
            "shortest gaps between drops, 10 % (ms)",
        ],
    );
    for (rtt, role, runs) in [(100, GSP, &far), (100, SHORT, &far), (100, LONG, &far), (10, GSP, &near)] {
        table = table.row([
            Cell::number(f64::from(rtt), 0),
            Cell::text(role),
            Cell::estimate(runs.mean(role, |run| Some(1e3 * run.quantile(0.5))), 2),
            Cell::estimate(runs.mean(role, time_between_crossings), 3),
            Cell::estimate(runs.mean(role, interval).scaled(1e3), 1),
        ]);
    }
    let rates = capacities(lab)?;
    Ok(mixed(lab)?
        .table(table)
        .claim("interval-delay", delays)
        .claim("interval-utilization", used)
        .claim("faster", compared(time_between_crossings))
        .claim("shorter", near.mean(GSP, |run| Some(interval(run)? / INTERVAL)))
        .claim("shorter-than-far", compared(interval))
        .claim("capacity", rates))
}

/// Ten flows at 10 Mb/s, 100 Mb/s and 1 Gb/s with a threshold of 10 ms, in bytes: largest utilization divided by the
/// smallest.
fn capacities(lab: &Lab<'_>) -> Result<Estimate, Failure> {
    let mut found = Vec::new();
    for megabits in [10, 100, 1000] {
        let bytes = 1250 * megabits;
        let mut setup: Setup =
            scenario!("fig12").scheme(GSP, &format!("gsp threshold={bytes}b limit=1000000 limit_bytes={}", 10 * bytes));
        for link in &mut setup.scenario.links {
            let rate = Rate::from_bits_per_second(1_000_000 * megabits);
            link.rate = rate.unwrap_or(link.rate);
        }
        setup.scenario.duration = Nanos::from_secs(50);
        let setup = shorter(lab, setup, 30, 15);
        let runs = Runs::watch(lab, &setup, &lab.seeds(2, 1))?;
        found.push(runs.of(GSP).map(Watch::utilization).collect::<Vec<f64>>());
    }
    let seeds = found.iter().map(Vec::len).min().unwrap_or_default();
    Ok(Estimate::over((0..seeds).map(|seed| {
        let used = found.iter().map(|runs| runs[seed]);
        Some(used.clone().reduce(f64::max)? / used.reduce(f64::min)?)
    })))
}

/// Five flows with a round-trip time of 10 ms and five with 100 ms.
fn mixed(lab: &Lab<'_>) -> Result<Measured, Failure> {
    const ROLES: [&str; 3] = [GSP, CODEL, PIE];
    let setup = scenario!("mixed").schemes(&[
        (GSP, SCHEME),
        (CODEL, "codel target=5ms limit=825"),
        (PIE, "pie target=5ms limit=825"),
    ]);
    let results = lab.compare(shorter(lab, setup, 40, 15), &lab.seeds(10, 1))?;
    let rate = |index: u8| format!("groups.{index}.links.down.rate_bps.mean");
    let (near, far) = (rate(0), rate(1));
    let bias = |role: &str| results.per_seed(|values| Some(values.get(role, &near)? / values.get(role, &far)?));
    let relative = |role: &str| {
        results.per_seed(|values| {
            let bias = |role| Some(values.get(role, &near)? / values.get(role, &far)?);
            Some(bias(GSP)? / bias(role)?)
        })
    };
    let mut table = Table::new(
        "Five flows with a round-trip time of 10 ms and five with 100 ms",
        ["scheme", "rate at 10 ms (Mb/s)", "at 100 ms (Mb/s)", "ratio"],
    );
    let mut measured = Measured::new();
    for role in ROLES {
        table = table.row([
            Cell::text(role),
            Cell::estimate(results.mean(role, &near).scaled(1e-6), 1),
            Cell::estimate(results.mean(role, &far).scaled(1e-6), 1),
            Cell::estimate(bias(role), 2),
        ]);
        measured = measured.claim(format!("bias-{}", role.to_lowercase()), bias(role));
    }
    Ok(measured.table(table).claim("like-codel", relative(CODEL)).claim("like-pie", relative(PIE)))
}

/// Mean time between two passages of the delay through the threshold upwards, seconds.
fn time_between_crossings(run: &Watch) -> Option<f64> {
    const STEP: f64 = 0.01;
    let (from, to) = run.span();
    let line = run.delay_line(from, to, STEP);
    let upwards = line.windows(2).filter(|pair| pair[0].1 <= THRESHOLD && pair[1].1 > THRESHOLD);
    let times: Vec<f64> = upwards.map(|pair| pair[1].0).collect();
    let gaps: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    mean(&gaps)
}

/// The interval, seconds, as the shortest gaps between drops show it: while the queue is above the threshold, a packet is
/// dropped as soon as the interval is over.
fn interval(run: &Watch) -> Option<f64> {
    quantile(run.gaps(), 0.1)
}
