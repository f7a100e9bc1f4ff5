//! Section IV.G and the conclusion: TCP's part of a link with a UDP flow, the drops, and the influence of alpha and tau.

use super::changes::{END, LATE, START, swing, time_to};
use super::scenario;
use super::watch::{Drop, Runs, Watch};
use crate::estimate::Estimate;
use crate::lab::{Failure, Lab};
use crate::measured::Measured;
use crate::table::{Cell, Table};
use gentle_units::Nanos;

const GSP: &str = "GSP";
const CODEL: &str = "CoDel";
const PIE: &str = "PIE";
const ROLES: [&str; 3] = [GSP, CODEL, PIE];
const WEAK: &str = "GSP, alpha = 1";
const FAST: &str = "GSP, tau = 0.2 s";
const SLOW: &str = "GSP, tau = 5 s";
const SCHEME: &str = "gsp threshold=5ms limit=1000000 limit_bytes=1250000";
/// Length of the runs that show stability, and their last part, seconds: a tau of 5 s takes minutes to settle.
const LONG: f64 = 300.0;
const LAST: f64 = 240.0;
/// Part of the link that the UDP flow leaves.
const LEFT: f64 = 0.1;
/// Rate of the link, bytes per second.
const RATE: f64 = 12.5e6;

/// TCP on a link with UDP.
pub(super) fn sharing(lab: &Lab<'_>) -> Result<Measured, Failure> {
    // The runs of Fig. 14 are shared.
    let setup = scenario!("fig14").schemes(&[
        (GSP, SCHEME),
        (CODEL, "codel target=5ms limit=825"),
        (PIE, "pie target=5ms limit=825"),
    ]);
    let runs = Runs::watch(lab, &setup, &lab.seeds(10, 1))?;
    let setup = scenario!("fig14")
        .scheme(GSP, SCHEME)
        .scheme(WEAK, &format!("{SCHEME} alpha=1"))
        .scheme(FAST, &format!("{SCHEME} tau=200ms"))
        .scheme(SLOW, &format!("{SCHEME} tau=5s"));
    let other = Runs::watch(lab, &setup, &lab.seeds(5, 1))?;
    let mut setup =
        scenario!("fig14").scheme(FAST, &format!("{SCHEME} tau=200ms")).scheme(SLOW, &format!("{SCHEME} tau=5s"));
    setup.scenario.duration = Nanos::from_secs_f64(LONG);
    let long = Runs::watch(lab, &setup, &lab.seeds(3, 1))?;
    let mut table = Table::new(
        "Ten TCP flows with 90 Mb/s of UDP",
        [
            "scheme",
            "share of TCP later (%)",
            "drops a second before",
            "later",
            "share of UDP in the drops (%)",
            "time to twice the target (s)",
            "swing later, 5 to 95 % (ms)",
        ],
    );
    let roles = ROLES.map(|role| (role, &runs)).into_iter();
    for (role, runs) in roles.chain([WEAK, FAST, SLOW].map(|role| (role, &other))) {
        table = table.row([
            Cell::text(role),
            Cell::estimate(runs.mean(role, |run| Some(100.0 * share(run))), 2),
            Cell::estimate(runs.mean(role, |run| Some(drops(run).0)), 2),
            Cell::estimate(runs.mean(role, |run| Some(drops(run).1)), 2),
            Cell::estimate(runs.mean(role, |run| Some(100.0 * of_udp(run)?)), 1),
            Cell::estimate(runs.mean(role, settled), 1),
            Cell::estimate(runs.mean(role, swing).scaled(1e3), 1),
        ]);
    }
    let mut measured = Measured::new().table(table);
    for role in ROLES {
        let tcp = runs.mean(role, |run| Some(100.0 * share(run)));
        measured = measured.claim(format!("share-{}", role.to_lowercase()), tcp);
    }
    let isolation = runs.per_seed(ROLES, |runs| {
        let [gsp, codel, pie] = runs.map(share);
        Some(gsp / codel.max(pie))
    });
    let more = runs.per_seed(ROLES, |runs| {
        let ratios = runs.map(drops).map(|(before, after)| after / before);
        ratios.into_iter().reduce(f64::min)
    });
    let udp = runs.per_seed(ROLES, |runs| {
        let shares = runs.map(of_udp).into_iter().collect::<Option<Vec<f64>>>()?;
        Some(100.0 * shares.into_iter().reduce(f64::min)?)
    });
    let settled_in = |of, to| -> Estimate {
        other.per_seed([of, to], |runs: [&Watch; 2]| {
            let [of, to] = runs.map(settled);
            Some(of? / to?)
        })
    };
    let swings = long.per_seed([SLOW, FAST], |runs| {
        let [slow, fast] = runs.map(|run| {
            let high = run.quantile_over_time(0.95, LAST, LONG)?;
            Some(high - run.quantile_over_time(0.05, LAST, LONG)?)
        });
        Some(slow? / fast?)
    });
    Ok(measured
        .claim("isolation", isolation)
        .claim("what-is-left", runs.mean(GSP, |run| Some(share(run) / LEFT)))
        .claim("more-drops", more)
        .claim("drops-of-udp", udp)
        .claim("alpha", settled_in(GSP, WEAK))
        .claim("tau-agility", settled_in(SLOW, FAST))
        .claim("tau-stability", swings)
        .claim("codel-removes", runs.mean(CODEL, |run| Some(run.removed() as f64))))
}

/// Fraction of the link that carries TCP in the last part.
fn share(run: &Watch) -> f64 {
    run.rates_sent(LATE, END).1 / RATE
}

/// Early drops a second before the UDP flow, and in the last part.
fn drops(run: &Watch) -> (f64, f64) {
    let (from, _) = run.span();
    let rate = |from: f64, to: f64| early(run, from, to).count() as f64 / (to - from);
    (rate(from, START), rate(LATE, END))
}

/// Fraction of the early drops of the last part that hit the UDP flow; `None` without one.
fn of_udp(run: &Watch) -> Option<f64> {
    let all = early(run, LATE, END).count();
    let udp = early(run, LATE, END).filter(|drop| drop.flow.is_none());
    (all > 0).then(|| udp.count() as f64 / all as f64)
}

fn early(run: &Watch, from: f64, to: f64) -> impl Iterator<Item = &Drop> {
    run.measured_drops().filter(move |drop| !drop.overflow && (from..to).contains(&drop.at.as_secs_f64()))
}

/// Seconds until the delay is at most twice the target again; if it is not, until the end.
fn settled(run: &Watch) -> Option<f64> {
    let back = time_to(run, START, END, 2.0 * run.target()?);
    Some(back.unwrap_or(END - START))
}
