//! Sections III.A to III.C with the forty flows of Fig. 9: intervals, thresholds and numbers of flows.

use super::growth::set_flows;
use super::single::{mean_delay, share_of_short_gaps};
use super::sync::{PAUSE, drift};
use super::watch::{Runs, Watch, mean};
use super::{scenario, shorter};
use crate::estimate::Estimate;
use crate::lab::{Failure, Lab};
use crate::measured::Measured;
use crate::setup::Setup;
use crate::table::{Cell, Table};
use gentle_units::{Nanos, Rate};
use std::collections::BTreeMap;

const ADAPTIVE: &str = "adaptive GSP";
const BASIC: &str = "basic GSP";
const EVEN: &str = "adaptive GSP, alpha of 1";
const LOW: &str = "adaptive GSP, threshold of 5 ms";
const HIGH: &str = "adaptive GSP, threshold of 20 ms";
/// Basic GSP with the interval to which adaptive GSP tends if time above and below the threshold count alike, so that the
/// threshold is in the middle, and with multiples of it.
const BEST: &str = "basic GSP, best interval";
const MULTIPLES: [(&str, f64); 4] = [
    ("basic GSP, 0.7 of it", 0.7),
    ("basic GSP, 1.4 of it", 1.4),
    ("basic GSP, 0.1 of it", 0.1),
    ("basic GSP, 10 times it", 10.0),
];
const FLOWS: u32 = 40;
/// The threshold, bytes, and its delay, seconds.
const THRESHOLD: f64 = 500_000.0;
const DELAY: f64 = 0.01;
/// The longest interval, seconds.
const INTERVAL: f64 = 0.2;

/// Forty flows.
pub(super) fn flows(lab: &Lab<'_>) -> Result<Measured, Failure> {
    let seeds = lab.seeds(5, 1);
    let setup = base(lab).schemes(&[
        (ADAPTIVE, "gsp threshold=500000b limit=1000000 limit_bytes=1200000"),
        (BASIC, "gsp mode=basic threshold=500000b limit=1000000 limit_bytes=1200000"),
        (EVEN, "gsp threshold=500000b limit=1000000 alpha=1"),
        (LOW, "gsp threshold=250000b limit=1000000"),
        (HIGH, "gsp threshold=1000000b limit=1000000"),
    ]);
    let runs = Runs::watch(lab, &setup, &seeds)?;
    let best = runs.mean(EVEN, |run| {
        let (from, to) = run.span();
        mean(&run.intervals()?.between(from, to))
    });
    let interval = |factor: f64| {
        let interval = best.value.unwrap_or(INTERVAL) * factor;
        format!("interval={:.0}us", 1e6 * interval)
    };
    let basic = "gsp mode=basic threshold=500000b limit=1000000";
    let mut sweep = base(lab).scheme(BEST, &format!("{basic} limit_bytes=1200000 {}", interval(1.0)));
    for (role, factor) in MULTIPLES {
        sweep = sweep.scheme(role, &format!("{basic} limit_bytes=5000000 {}", interval(factor)));
    }
    let sweep = Runs::watch(lab, &sweep, &seeds)?;

    let mut table = Table::new(
        "Forty flows at 400 Mb/s",
        ["scheme", "mean delay (ms)", "range, 5 to 95 % (ms)", "overflows per minute", "drops per minute"],
    );
    let roles = [ADAPTIVE, BASIC, EVEN, LOW, HIGH].map(|role| (role, &runs));
    let swept = std::iter::once(BEST).chain(MULTIPLES.map(|(role, _)| role));
    for (role, runs) in roles.into_iter().chain(swept.map(|role| (role, &sweep))) {
        table = table.row([
            Cell::text(role),
            Cell::estimate(runs.mean(role, mean_delay).scaled(1e3), 2),
            Cell::estimate(runs.mean(role, |run| Some(1e3 * range(run))), 2),
            Cell::estimate(runs.mean(role, overflows), 1),
            Cell::estimate(runs.mean(role, drops), 0),
        ]);
    }
    let near = sweep.per_seed([MULTIPLES[0].0, MULTIPLES[1].0], |runs| {
        let [low, high] = runs.map(|run| Some((mean_delay(run)? / DELAY - 1.0).abs()));
        Some(low?.max(high?))
    });
    let far = sweep.per_seed([BEST, MULTIPLES[2].0, MULTIPLES[3].0], |runs| {
        let [best, short, long] = runs.map(range);
        Some(short.min(long) / best)
    });
    let thresholds = runs.per_seed([LOW, HIGH], |runs| {
        let [low, high] = runs.map(mean_delay);
        Some(high? / low?)
    });
    let drifts = runs.per_seed([LOW, ADAPTIVE, HIGH], |runs| {
        let drifts = runs.map(|run| Some((drift(run)? - 1.0).abs()));
        drifts.into_iter().flatten().reduce(f64::max)
    });
    let measured = Measured::new()
        .table(table)
        .claim("growth", runs.mean(BASIC, growth_in_intervals))
        .claim("basic-overflows", runs.mean(BASIC, overflows))
        .claim("basic-flows", runs.mean(BASIC, flows_at_overflows))
        .claim("adaptive-overflows", runs.mean(ADAPTIVE, overflows))
        .claim("short-interval-overflows", sweep.mean(BEST, overflows))
        .claim("interval-near", near)
        .claim("interval-far", far)
        .claim("periodic", runs.mean(ADAPTIVE, |run| Some(100.0 * share_of_short_gaps(run)?)))
        .claim("several-losses", runs.mean(ADAPTIVE, drops_in_a_row))
        .claim("frequent", runs.mean(ADAPTIVE, |run| Some(median(run.gaps())? / INTERVAL)))
        .claim("random-flows", runs.mean(ADAPTIVE, dispersion))
        .claim("random-phase", runs.mean(ADAPTIVE, unevenness))
        .claim("steady-interval", runs.mean(ADAPTIVE, steadiness))
        .claim("threshold-delay", thresholds)
        .claim("threshold-drift", drifts);
    let (table, delay, drops) = transition(lab)?;
    Ok(measured.table(table).claim("transition-delay", delay).claim("transition-drops", drops))
}

/// The traffic of Fig. 9 for a shorter time.
fn base(lab: &Lab<'_>) -> Setup {
    let mut setup = scenario!("fig9");
    setup.scenario.duration = Nanos::from_secs(60);
    shorter(lab, setup, 30, 12)
}

/// From few flows to many, 10 Mb/s each: largest change of the mean delay and of the drops per flow when the number of
/// flows doubles, as factors.
fn transition(lab: &Lab<'_>) -> Result<(Table, Estimate, Estimate), Failure> {
    let seeds = lab.seeds(3, 1);
    let mut table = Table::new(
        "Adaptive GSP, threshold of 10 ms, 10 Mb/s for each flow",
        ["flows", "mean delay (ms)", "drops per minute and flow", "gaps below a round trip (%)"],
    );
    let mut found = Vec::new();
    for flows in [5, 10, 20, 40, 80] {
        let threshold = 12_500 * flows;
        let mut setup = base(lab).scheme(ADAPTIVE, &format!("gsp threshold={threshold}b limit=1000000"));
        set_flows(&mut setup, flows);
        for link in &mut setup.scenario.links {
            let rate = Rate::from_bits_per_second(10_000_000 * u64::from(flows));
            link.rate = rate.unwrap_or(link.rate);
        }
        let runs = Runs::watch(lab, &setup, &seeds)?;
        let each = |run: &Watch| Some(drops(run)? / f64::from(flows));
        let cell = |number, decimals| Cell::estimate(number, decimals);
        table = table.row([
            Cell::number(f64::from(flows), 0),
            cell(runs.mean(ADAPTIVE, mean_delay).scaled(1e3), 2),
            cell(runs.mean(ADAPTIVE, each), 1),
            cell(runs.mean(ADAPTIVE, |run| Some(100.0 * share_of_short_gaps(run)?)), 1),
        ]);
        let numbers: Vec<[Option<f64>; 2]> = runs.of(ADAPTIVE).map(|run| [mean_delay(run), each(run)]).collect();
        found.push(numbers);
    }
    let largest = |which: usize| {
        Estimate::over((0..seeds.len()).map(|seed| {
            let steps = found.windows(2).map(|pair| {
                let change = pair[1].get(seed)?[which]? / pair[0].get(seed)?[which]?;
                Some(change.max(1.0 / change))
            });
            steps.collect::<Option<Vec<f64>>>()?.into_iter().reduce(f64::max)
        }))
    };
    Ok((table, largest(0), largest(1)))
}

/// Range of the sojourn time from 5 % to 95 %, seconds.
fn range(run: &Watch) -> f64 {
    run.quantile(0.95) - run.quantile(0.05)
}

/// A number of packets, per minute.
fn per_minute(run: &Watch, packets: usize) -> Option<f64> {
    let (from, to) = run.span();
    Some(60.0 * packets as f64 / (to - from))
}

/// Packets dropped because the buffer was full, per minute.
pub(super) fn overflows(run: &Watch) -> Option<f64> {
    per_minute(run, run.overflows())
}

/// Dropped packets per minute.
fn drops(run: &Watch) -> Option<f64> {
    per_minute(run, run.measured_drops().count())
}

/// Mean number of flows that lose a packet within a round trip in which the buffer overflows; `None`: it never does.
pub(super) fn flows_at_overflows(run: &Watch) -> Option<f64> {
    let groups = run.groups().into_iter();
    let full = groups.filter(|group| group.iter().any(|drop| drop.overflow));
    let flows: Vec<f64> = full
        .map(|group| {
            let mut flows: Vec<_> = group.iter().map(|drop| drop.flow).collect();
            flows.sort_unstable();
            flows.dedup();
            flows.len() as f64
        })
        .collect();
    mean(&flows)
}

/// Mean length of the queue at the end of an interval, divided by that at its begin, of intervals that begin within a tenth
/// of the threshold, if any.
fn growth_in_intervals(run: &Watch) -> Option<f64> {
    let (_, to) = run.span();
    let early = run.measured_drops().filter(|drop| !drop.overflow);
    let times = early.map(|drop| drop.at.as_secs_f64());
    let growths: Vec<f64> = times
        .filter(|at| at + INTERVAL < to && run.backlog(*at) < 1.1 * THRESHOLD)
        .map(|at| run.backlog(at + INTERVAL) / run.backlog(at))
        .collect();
    mean(&growths)
}

fn median(values: Vec<f64>) -> Option<f64> {
    super::growth::quantile(values, 0.5)
}

/// Times of the drops, seconds, in rows without a pause: a gap of more than [`PAUSE`] times the median one.
fn rows(run: &Watch) -> Vec<Vec<f64>> {
    let times: Vec<f64> = run.measured_drops().map(|drop| drop.at.as_secs_f64()).collect();
    let Some(longest) = median(run.gaps()).map(|gap| PAUSE * gap) else {
        return Vec::new();
    };
    let rows = times.chunk_by(|a, b| b - a <= longest);
    rows.map(<[f64]>::to_vec).collect()
}

/// Mean number of drops between two pauses.
fn drops_in_a_row(run: &Watch) -> Option<f64> {
    let lengths: Vec<f64> = rows(run).iter().map(|row| row.len() as f64).collect();
    mean(&lengths)
}

/// Variance of the number of drops per flow divided by its mean: 1 if each dropped packet is of a random flow.
fn dispersion(run: &Watch) -> Option<f64> {
    let mut counts: BTreeMap<Option<u32>, f64> = BTreeMap::new();
    for drop in run.measured_drops() {
        *counts.entry(drop.flow).or_default() += 1.0;
    }
    let total: f64 = counts.values().sum();
    let mean = total / f64::from(FLOWS);
    let spared = f64::from(FLOWS) - counts.len() as f64;
    let squares: f64 = counts.values().map(|n| (n - mean) * (n - mean)).sum();
    let variance = (squares + spared * mean * mean) / f64::from(FLOWS - 1);
    (mean > 0.0).then(|| variance / mean)
}

/// Distance of the phases of the first drops after pauses, modulo the mean interval, from an even distribution
/// (Kolmogorov and Smirnov), times the square root of their number: above 1.36 in 5 % of the cases if they are even.
fn unevenness(run: &Watch) -> Option<f64> {
    let (from, to) = run.span();
    let interval = mean(&run.intervals()?.between(from, to))?;
    let firsts = rows(run).into_iter().filter_map(|row| row.first().copied());
    let mut phases: Vec<f64> = firsts.map(|at| (at / interval).fract()).collect();
    distance_from_even(&mut phases)
}

fn distance_from_even(phases: &mut [f64]) -> Option<f64> {
    phases.sort_by(f64::total_cmp);
    let number = phases.len() as f64;
    let distances = phases.iter().enumerate().map(|(index, phase)| {
        let (before, after) = (index as f64 / number, (index as f64 + 1.0) / number);
        (phase - before).abs().max((after - phase).abs())
    });
    Some(distances.reduce(f64::max)? * number.sqrt())
}

/// Largest interval of the second half of the run divided by the smallest.
fn steadiness(run: &Watch) -> Option<f64> {
    let (from, to) = run.span();
    let intervals = run.intervals()?.between(f64::midpoint(from, to), to);
    let largest = intervals.iter().copied().reduce(f64::max)?;
    Some(largest / intervals.iter().copied().reduce(f64::min)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn even_phases_are_near_and_equal_ones_far_from_even() {
        let mut even: Vec<f64> = (0..100).map(|n| (f64::from(n) + 0.5) / 100.0).collect();
        assert!((distance_from_even(&mut even).unwrap() - 0.05).abs() < 1e-9);
        let mut equal = vec![0.2; 100];
        assert!((distance_from_even(&mut equal).unwrap() - 8.0).abs() < 1e-9);
        assert_eq!(distance_from_even(&mut []), None);
    }
}
