//! Figs. 13 and 14: a change of the rate, and a UDP flow that takes most of it.

use super::watch::{Runs, Watch};
use super::{delay_chart, scenario, utilization_chart};
use crate::estimate::Estimate;
use crate::lab::{Failure, Lab};
use crate::measured::Measured;
use crate::table::{Cell, Table};
use gentle_experiment::Direction;

const TAIL: &str = "tail drop";
const LARGE: &str = "tail drop, 5 MB";
const GSP: &str = "GSP";
const CODEL: &str = "CoDel";
const PIE: &str = "PIE";
const LENGTH: &str = "GSP, threshold in bytes";
/// Start of the UDP flow in Fig. 14, and the end, seconds.
pub(super) const START: f64 = 30.0;
pub(super) const END: f64 = 90.0;
/// Begin of the last part of Fig. 14, in which all schemes have returned to their targets, seconds.
pub(super) const LATE: f64 = 70.0;

/// Fig. 13: 100, 10 and 100 Mb/s for thirty seconds each.
pub(super) fn rate(lab: &Lab<'_>) -> Result<Measured, Failure> {
    /// Times of the changes, seconds.
    const FALL: f64 = 30.0;
    const RISE: f64 = 60.0;
    /// The start of the flows is over.
    const SETTLED: f64 = 10.0;
    /// GSP's threshold.
    const THRESHOLD: f64 = 0.015;
    let setup = scenario!("fig13").schemes(&[
        (GSP, "gsp threshold=15ms limit=1000000 limit_bytes=500000"),
        (TAIL, "bfifo limit=500000"),
        (LARGE, "bfifo limit=5000000"),
        // 15 ms at the high rate.
        (LENGTH, "gsp threshold=187500b limit=1000000 limit_bytes=500000"),
    ]);
    let runs = Runs::watch(lab, &setup, &lab.seeds(10, 1))?;
    let before = |run: &Watch| Some(1e3 * run.longest_delay(SETTLED, FALL));
    let spike = |run: &Watch| Some(1e3 * run.longest_delay(FALL, FALL + 2.0));
    // The second half of the time at the low rate.
    let late = |p: f64| {
        move |run: &Watch| {
            let late = run.quantile_over_time(p, f64::midpoint(FALL, RISE), RISE);
            late.map(|delay| 1e3 * delay)
        }
    };
    // After the return to the high rate.
    let after = |run: &Watch| Some(1e3 * run.quantile_over_time(0.1, RISE, RISE + 5.0)?);
    let back = runs.mean(GSP, |run| time_to(run, FALL, RISE, THRESHOLD));
    // Time from the fall to the longest delay, in round trips with that delay.
    let peak = |run: &Watch| {
        const RTT: f64 = 0.1;
        const STEP: f64 = 0.01;
        let line = run.delay_line(FALL, FALL + 5.0, STEP).into_iter();
        let (at, ms) = line.reduce(|a, b| if b.1 > a.1 { b } else { a })?;
        Some((at + STEP - FALL) / (RTT + 1e-3 * ms))
    };
    let length = runs.per_seed([LENGTH, GSP], |runs| {
        let [length, delay] = runs.map(late(0.5));
        Some(length? / delay?)
    });
    let refill = runs.per_seed([GSP, TAIL], |runs| {
        let [gsp, tail] = runs.map(|run| Some(run.full_again(RISE)? - RISE));
        Some(gsp? / tail?)
    });
    let columns =
        ["scheme", "longest delay at first (ms)", "after the fall (ms)", "delay 15 s later, 5 % (ms)", "50 %", "95 %"];
    let mut table = Table::new("Queueing delay before and after the fall of the rate", columns);
    let mut queue = delay_chart("delay", "Queueing delay", 0.0, 90.0);
    let mut link = utilization_chart("utilization", "Link, of the rate of the time", 0.0, 90.0);
    for role in [GSP, TAIL, LARGE, LENGTH] {
        let run = runs.first(role);
        queue = queue.line(role, run.delay_line(0.0, 90.0, 0.1));
        link = link.line(role, run.utilization_line(0.0, 90.0, 0.2));
        let cell = |number| Cell::estimate(number, 1);
        table = table.row([
            Cell::text(role),
            cell(runs.mean(role, before)),
            cell(runs.mean(role, spike)),
            cell(runs.mean(role, late(0.05))),
            cell(runs.mean(role, late(0.5))),
            cell(runs.mean(role, late(0.95))),
        ]);
    }
    Ok(Measured::new()
        .chart(queue)
        .chart(link)
        .table(table)
        .claim("before-gsp", runs.mean(GSP, before))
        .claim("before-tail-drop", runs.mean(TAIL, before))
        .claim("spike-gsp", runs.mean(GSP, spike))
        .claim("spike-tail-drop", runs.mean(TAIL, spike))
        .claim("peak", runs.mean(GSP, peak))
        .claim("length-threshold", length)
        .claim("refill", refill)
        .claim("recovery", back)
        .claim("empty-gsp", runs.mean(GSP, after))
        .claim("empty-tail-drop", runs.mean(TAIL, after))
        .claim("large-buffer", runs.mean(LARGE, after))
        .claim("large-buffer-delay", runs.mean(LARGE, late(0.5)))
        .claim("after-gsp", runs.mean(GSP, late(0.5)))
        .claim("tail-drop-low", runs.mean(TAIL, late(0.05)))
        .claim("tail-drop-high", runs.mean(TAIL, late(0.95))))
}

/// Fig. 14: a UDP flow of 90 Mb/s with ten TCP flows.
pub(super) fn udp(lab: &Lab<'_>) -> Result<Measured, Failure> {
    const ROLES: [&str; 3] = [GSP, CODEL, PIE];
    let setup = scenario!("fig14").schemes(&[
        (GSP, "gsp threshold=5ms limit=1000000 limit_bytes=1250000"),
        (CODEL, "codel target=5ms limit=825"),
        (PIE, "pie target=5ms limit=825"),
    ]);
    let rate = setup.scenario.link(Direction::Down).rate;
    // Delay of a full buffer of 1.25 MB.
    let full = rate.time_to_send(1_250_000).as_secs_f64();
    let runs = Runs::watch(lab, &setup, &lab.seeds(10, 1))?;
    let saturated = |run: &Watch| Some(run.longest_delay(START, START + 1.0) / full);
    let settled = |run: &Watch| time_to(run, START, END, 2.0 * run.target()?);
    let late = |run: &Watch| Some(run.quantile_over_time(0.5, LATE, END)? / run.target()?);
    let columns = [
        "scheme",
        "longest delay in the first second (full buffers)",
        "time to twice the target (s)",
        "median later (targets)",
        "swing later, 5 to 95 % (ms)",
    ];
    let mut table = Table::new("After the start of the UDP flow", columns);
    let mut measured = Measured::new();
    let mut queue = delay_chart("delay", "Queueing delay", 20.0, END);
    for role in ROLES {
        queue = queue.line(role, runs.first(role).delay_line(20.0, END, 0.1));
        let numbers: [(Estimate, u8); 4] = [
            (runs.mean(role, saturated), 2),
            (runs.mean(role, settled), 1),
            (runs.mean(role, late), 2),
            (runs.mean(role, swing).scaled(1e3), 1),
        ];
        let cells = numbers.map(|(number, decimals)| Cell::estimate(number, decimals));
        table = table.row(std::iter::once(Cell::text(role)).chain(cells));
        let name = role.to_lowercase();
        measured =
            measured.claim(format!("saturation-{name}"), numbers[0].0).claim(format!("return-{name}"), numbers[2].0);
    }
    let fastest = runs.per_seed(ROLES, |runs| {
        let [gsp, codel, pie] = runs.map(settled);
        Some(pie? / gsp?.min(codel?))
    });
    let slowest = runs.per_seed(ROLES, |runs| {
        let [gsp, codel, pie] = runs.map(settled);
        Some(gsp? / codel?.max(pie?))
    });
    let narrowest = runs.per_seed(ROLES, |runs| {
        let [gsp, codel, pie] = runs.map(swing);
        Some(gsp? / codel?.min(pie?))
    });
    let wide = runs.per_seed([GSP, PIE], |runs| {
        let [gsp, pie] = runs.map(swing);
        Some(pie? / gsp?)
    });
    Ok(measured
        .chart(queue)
        .table(table)
        .claim("pie-fastest", fastest)
        .claim("gsp-slowest", slowest)
        .claim("gsp-narrowest", narrowest)
        .claim("pie-wide", wide))
}

/// Range of the delay over time from 5 % to 95 % in the last part of Fig. 14, seconds.
pub(super) fn swing(run: &Watch) -> Option<f64> {
    let high = run.quantile_over_time(0.95, LATE, END)?;
    Some(high - run.quantile_over_time(0.05, LATE, END)?)
}

/// Seconds from `from` until the delay, averaged over half a second, is at most `bound` seconds again after it has
/// exceeded it; `None`: not before `to`.
pub(super) fn time_to(run: &Watch, from: f64, to: f64, bound: f64) -> Option<f64> {
    const STEP: f64 = 0.5;
    let line = run.delay_line(from, to, STEP);
    let above = line.iter().position(|(_, ms)| *ms > 1e3 * bound)?;
    let back = line[above..].iter().find(|(_, ms)| *ms <= 1e3 * bound)?;
    Some(back.0 + STEP - from)
}
