//! Section II.B: how fast the queue grows, when it falls after a drop and by how much, and the buffer that many flows need.

use super::buffer;
use super::scenario;
use super::watch::{Runs, Watch, mean};
use crate::estimate::Estimate;
use crate::lab::{Failure, Lab};
use crate::measured::Measured;
use crate::setup::Setup;
use crate::table::{Cell, Table};
use gentle_experiment::Traffic;

const TAIL: &str = "tail drop";
const GSP: &str = "GSP";
/// Flows of Fig. 7.
const FLOWS: u32 = 10;
/// Bytes of a full packet with its Ethernet header.
const PACKET: f64 = 1514.0;
/// Bandwidth-delay product of Fig. 7, bytes.
const PRODUCT: f64 = 1.25e6;
/// CUBIC's factor of decrease.
const BETA: f64 = 0.7;
/// Round-trip time without queueing, seconds.
const RTT: f64 = 0.1;
/// Rate of the link, bytes per second.
const RATE: f64 = 12.5e6;

/// Growth, fall and buffer.
pub(super) fn growth_and_fall(lab: &Lab<'_>) -> Result<Measured, Failure> {
    let seeds = lab.seeds(5, 1);
    let with = |knobs: &[(&str, &str)], seeds: &[u64]| {
        let mut setup = scenario!("fig7").scheme(TAIL, "bfifo limit=150000");
        for (knob, value) in knobs {
            setup.set_knob(knob, value);
        }
        Runs::watch(lab, &setup, seeds)
    };
    // The runs of Figs. 7 and 8 are shared.
    let shared = lab.seeds(10, 2);
    let cubic = with(&[], &shared)?;
    let with = |knobs: &[(&str, &str)]| with(knobs, &seeds);
    let reno = with(&[("congestion_control", "reno")])?;
    let every = with(&[("congestion_control", "reno"), ("delack_segments", "1")])?;
    let acks = [("congestion_control", "reno"), ("growth", "acks")];
    let delayed = with(&acks)?;
    let undelayed = with(&[acks[0], acks[1], ("delack_segments", "1")])?;
    let ratio = |of: &Runs, to: &Runs| {
        let of: Vec<Option<f64>> = of.of(TAIL).map(growth).collect();
        let to = to.of(TAIL).map(growth);
        Estimate::over(of.into_iter().zip(to).map(|(of, to)| Some(of? / to?)))
    };
    let mut table = Table::new(
        "Growth of the queue until the first drop, tail drop with 10 flows",
        ["hosts", "packets per round trip and flow"],
    );
    for (hosts, runs) in [
        ("CUBIC", &cubic),
        ("Reno", &reno),
        ("Reno, an ACK for every segment", &every),
        ("Reno without byte counting", &delayed),
        ("the same, an ACK for every segment", &undelayed),
    ] {
        let number = runs.mean(TAIL, |run| Some(growth(run)? / f64::from(FLOWS)));
        table = table.row([Cell::text(hosts), Cell::estimate(number, 2)]);
    }
    let measured = Measured::new()
        .table(table)
        .claim("reno", every.mean(TAIL, |run| Some(growth(run)? / f64::from(FLOWS))))
        .claim("cubic", ratio(&cubic, &reno))
        .claim("delayed-acks", ratio(&delayed, &undelayed))
        .claim("earliest-fall", cubic.mean(TAIL, |run| quantile(times_to_fall(run), 0.05)))
        .claim("latest-fall", cubic.mean(TAIL, |run| quantile(times_to_fall(run), 0.95)))
        .claim("fewer-than-half", cubic.mean(TAIL, share_if_hit_again));
    let (falls, smaller, buffers) = with_flows(lab, &seeds, &shared)?;
    Ok(measured
        .table(falls)
        .claim("fall-with-flows", smaller)
        .claim("fall-of-one-flow", buffers.0)
        .claim("shared-buffer", buffers.1))
}

/// The fall of the queue after single drops with several numbers of flows, as a table and as the fall with most flows
/// divided by that with fewest; the fall with ten flows, in their share of the bandwidth-delay product that one gives up;
/// and the smallest threshold with which ten flows fill the link, in the tenth part of what one flow needs.
fn with_flows(
    lab: &Lab<'_>,
    seeds: &[u64],
    shared: &[u64],
) -> Result<(Table, Estimate, (Estimate, Estimate)), Failure> {
    let basic = |flows: u32, threshold: f64, seeds: &[u64]| {
        let scheme =
            format!("gsp mode=basic threshold={threshold:.0}b limit=1000000 limit_bytes={:.0}", threshold + 175_000.0);
        let mut setup = scenario!("fig7").scheme(GSP, &scheme);
        setup.scenario.name = "fig8".to_owned();
        set_flows(&mut setup, flows);
        Runs::watch(lab, &setup, seeds)
    };
    let mut table = Table::new(
        "Fall of the queue after a single drop, basic GSP at 100 Mb/s",
        ["flows", "kB", "in 0.3·C·RTT0/flows"],
    );
    let mut found = Vec::new();
    for flows in [5, 10, 20] {
        let runs = basic(flows, 125_000.0, if flows == FLOWS { shared } else { seeds })?;
        let share = (1.0 - BETA) * PRODUCT / f64::from(flows);
        let fall = runs.mean(GSP, fall_after_single_drops);
        table = table.row([
            Cell::number(f64::from(flows), 0),
            Cell::estimate(fall.scaled(1e-3), 1),
            Cell::estimate(fall.scaled(1.0 / share), 2),
        ]);
        found.push((runs, share));
    }
    let of = |index: usize| found[index].0.of(GSP).map(fall_after_single_drops);
    let smaller = Estimate::over(of(2).zip(of(0)).map(|(many, few)| Some(many? / few?)));
    let own = found[1].1;
    let own = found[1].0.mean(GSP, |run| Some(fall_after_single_drops(run)? / own));
    let share = (1.0 - BETA) / BETA * PRODUCT / f64::from(FLOWS);
    let steps: Vec<f64> = match lab.quick() {
        true => vec![0.5, 1.0, 2.0, 4.0],
        false => vec![0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0],
    };
    let mut points = Vec::new();
    for step in steps {
        let runs = basic(FLOWS, step * share, seeds)?;
        points.push((step, runs.mean(GSP, |run| Some(run.utilization()))));
    }
    Ok((table, smaller, (own, buffer::smallest(&points))))
}

/// Gives the long-lived connections of `setup` another number.
pub(super) fn set_flows(setup: &mut Setup, number: u32) {
    for workload in &mut setup.scenario.workloads {
        if let Traffic::Long(long) = &mut workload.traffic {
            long.flows = number;
        }
    }
}

/// Mean growth of the queue in packets per round trip, from a quarter of its length at the first drop on.
fn growth(run: &Watch) -> Option<f64> {
    const FROM: f64 = 0.25;
    /// No cycle is longer, seconds.
    const LONGEST: f64 = 20.0;
    let mut found = Vec::new();
    for group in run.groups() {
        let end = group[0].at.as_secs_f64();
        let full = run.backlog(end);
        let before: Vec<(f64, f64)> = run.backlogs((end - LONGEST).max(0.0), end).collect();
        let Some((begin, low)) = before.iter().rev().find(|(_, bytes)| *bytes < FROM * full) else {
            continue;
        };
        let round_trip = RTT + f64::midpoint(*low, full) / RATE;
        // A growth within a round trip is a burst.
        if end - begin > round_trip {
            found.push((full - low) / PACKET * round_trip / (end - begin));
        }
    }
    mean(&found)
}

/// Times from the first drop until the queue has fallen by half of what it loses within three round trips, in round trips
/// with the queueing delay at the drop. What bursts take from the queue for less than a round trip is a smaller part. Drops
/// that follow others within three round trips are left out: the queue may fall because of those.
fn times_to_fall(run: &Watch) -> Vec<f64> {
    const LOST: f64 = 0.5;
    const APART: f64 = 0.4;
    let (_, to) = run.span();
    let times: Vec<f64> = run.measured_drops().map(|drop| drop.at.as_secs_f64()).collect();
    let firsts = times.windows(2).filter(|pair| pair[1] - pair[0] > APART);
    let time = |begin: f64| {
        let full = run.backlog(begin);
        let round_trip = RTT + full / RATE;
        let end = (begin + 3.0 * round_trip).min(to);
        let lowest = run.backlogs(begin, end).map(|(_, bytes)| bytes);
        let bound = full - LOST * (full - lowest.fold(full, f64::min));
        let (fallen, _) = run.backlogs(begin, end).find(|(_, bytes)| *bytes < full && *bytes <= bound)?;
        Some((fallen - begin) / round_trip)
    };
    firsts.map(|pair| pair[1]).filter_map(time).collect()
}

/// The value that a fraction of `p` of the values does not exceed; `None` without one.
pub(super) fn quantile(mut values: Vec<f64>, p: f64) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let last = values.len().checked_sub(1)?;
    Some(values[(p * last as f64).round() as usize])
}

/// Mean fraction of the flows that lose a packet within a round trip in which one loses several.
fn share_if_hit_again(run: &Watch) -> Option<f64> {
    let events = run.events().into_iter();
    let again = events.filter(|event| event.flows < event.drops);
    let shares: Vec<f64> = again.map(|event| event.flows as f64 / f64::from(FLOWS)).collect();
    mean(&shares)
}

/// Mean fall of the queue after a drop without company, in bytes: from its longest within two round trips of the drop to
/// the shortest that follows within as many.
fn fall_after_single_drops(run: &Watch) -> Option<f64> {
    let groups = run.groups().into_iter();
    let falls: Vec<f64> =
        groups.filter(|group| group.len() == 1).map(|group| fall(run, group[0].at.as_secs_f64(), 4.0 * RTT)).collect();
    mean(&falls)
}

/// Fall of the queue after a drop at `at` seconds, in bytes: from its longest within two round trips to the shortest that
/// follows until `within` seconds after the drop.
pub(super) fn fall(run: &Watch, at: f64, within: f64) -> f64 {
    let (mut top, mut peak) = (0.0, at);
    for (time, bytes) in run.backlogs(at, at + 2.0 * RTT) {
        if bytes > top {
            (top, peak) = (bytes, time);
        }
    }
    let lowest = run.backlogs(peak, at + within).map(|(_, bytes)| bytes);
    top - lowest.fold(top, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_sorted_values() {
        assert_eq!(quantile(vec![], 0.5), None);
        assert_eq!(quantile(vec![3.0, 1.0, 2.0], 0.0), Some(1.0));
        assert_eq!(quantile(vec![3.0, 1.0, 2.0], 0.5), Some(2.0));
        assert_eq!(quantile(vec![3.0, 1.0, 2.0], 1.0), Some(3.0));
    }
}
