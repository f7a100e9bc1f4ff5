//! Section 4: a lower initial RTO, sending every SYN twice, learning the delay, and where a tool should run.

use super::hosts::{GROUPS, hosts};
use super::optimizer::SINGLE;
use super::short::{Summary, compare};
use crate::captures::{Tool, generate_with};
use crate::estimate::Estimate;
use crate::lab::{Failure, Lab};
use crate::measured::Measured;
use crate::setup::Setup;
use crate::table::{Cell, Table};
use gentle_captures::scenario::{Faults, Plan};
use gentle_captures::{CLIENT, Loss, SERVER, Side};
use gentle_rexmit::{Config, Selection, Timing};
use gentle_units::Nanos;
use std::sync::Arc;

/// Loss of SYNs and SYN/ACKs.
const LOSS: f64 = 0.01;

/// Delay and copies of the call in section 4.1, and the time between the two SYNs of section 4.
const DELAY: Nanos = Nanos::from_millis(200);
const COPIES: u32 = 3;
const TWICE: Nanos = Nanos::from_millis(20);

/// A round-trip time of extreme delay, milliseconds: longer than a SYN of 100 ms is repeated.
const EXTREME: u64 = 10_000;

/// A configuration for the hosts of one side.
fn config(side: Side, timing: Timing, copies: u32, duplicate: Option<Nanos>) -> Option<Tool> {
    let selection = Selection { client: side == CLIENT, server: side == SERVER, ..Selection::default() };
    let config = Config { timing, copies, duplicate, stack_rto: Nanos::from_secs(3), ..Config::new(selection) };
    Some((side, config))
}

/// Traces with a tool and all seeds.
fn traces(lab: &Lab<'_>, setup: &Setup, loss: Loss, tool: &Option<Tool>) -> Result<Vec<Arc<Summary>>, Failure> {
    let faults = Faults { loss: [loss; 2], groups: GROUPS, ..Faults::default() };
    lab.map(&(setup, "remedy", loss, tool), lab.seeds(8, 4), |&seed| {
        let plan = Plan { faults, ..Plan::new(&setup.scenario, seed) };
        Ok(Summary::of(generate_with(&plan, tool)))
    })
}

/// One connection without loss over a path with this round-trip time.
fn single(setup: &Setup, rtt_ms: u64, initial_rto: &str, tool: &Option<Tool>) -> Summary {
    let mut setup = setup.clone();
    super::delay(&mut setup, rtt_ms);
    setup.set_knob("initial_rto", initial_rto);
    let plan = Plan { single: Some(SINGLE), ..Plan::new(&setup.scenario, 1) };
    Summary::of(generate_with(&plan, tool))
}

/// Losses of SYNs and SYN/ACKs on the ways of an access line on which clients send requests.
fn directions(lab: &Lab<'_>) -> Result<Estimate, Failure> {
    let mut setup = Setup::from_toml(
        "papers/handshake-2009/asymmetric.toml",
        include_str!("../../data/handshake-2009/asymmetric.toml"),
    )
    .scheme("FIFO", "pfifo limit=50");
    if lab.quick() {
        setup.scenario.set_duration(Nanos::from_secs(100));
    }
    let results = lab.compare(setup, &lab.seeds(8, 2))?;
    Ok(results.per_seed(|values| {
        let down = values.get("FIFO", "links.down.loss.handshake")?;
        let up = values.get("FIFO", "links.up.loss.handshake")?;
        Some(100.0 * down / (down + up))
    }))
}

/// Section 4.
pub(super) fn measure(lab: &Lab<'_>) -> Result<Measured, Failure> {
    let setup = hosts(lab, &[""]);
    let mut low = setup.clone();
    low.set_knob("initial_rto", "100ms");
    let longer = hosts(lab, &["up to 400 ms"]);
    let none = Loss::default();
    let lost = Loss::new(LOSS, 0.0);
    let syns = Loss { syn: LOSS, ..none };
    let fixed = Timing::fixed(DELAY);
    let edge = Timing { edge: true, ..fixed };
    let twice = config(CLIENT, fixed, 0, Some(TWICE));
    let learning = config(CLIENT, Timing::LEARNED, COPIES, None);
    let client = config(CLIENT, fixed, COPIES, None);
    let server = config(SERVER, fixed, COPIES, None);
    let at_edge = config(CLIENT, edge, COPIES, None);
    let rows = [
        ("3 s, no loss", traces(lab, &setup, none, &None)?),
        ("100 ms, no loss", traces(lab, &low, none, &None)?),
        ("3 s, SYNs lost", traces(lab, &setup, syns, &None)?),
        ("3 s, SYNs lost, sent twice", traces(lab, &setup, syns, &twice)?),
        ("3 s, both lost", traces(lab, &setup, lost, &None)?),
        ("3 s, both lost, sent twice", traces(lab, &setup, lost, &twice)?),
        ("3 s, both lost, learned delay", traces(lab, &setup, lost, &learning)?),
        ("3 s, both lost, tool on servers", traces(lab, &setup, lost, &server)?),
        ("paths up to 400 ms, no loss, -d 200", traces(lab, &longer, none, &client)?),
        ("paths up to 400 ms, no loss, -d 200 --edge", traces(lab, &longer, none, &at_edge)?),
    ];
    let columns = [
        "hosts",
        "SYNs per attempt",
        "attempts with several SYNs (%)",
        "time until the request (s)",
        "attempts that waited for a timer (%)",
        "packets per attempt",
        "bytes per attempt",
        "copies per attempt",
    ];
    let table = Table::new("Generated connections with a lower initial RTO, and with the tool", columns);
    let table = rows.iter().fold(table, |table, (name, traces)| {
        let over = |of: fn(&Summary) -> f64| compare(traces, traces, |it, _| of(it));
        table.row([
            Cell::text(*name),
            Cell::estimate(over(|it| it.syns / it.attempts), 3),
            Cell::estimate(over(|it| it.several / it.attempts).scaled(100.0), 2),
            Cell::estimate(over(|it| it.until_request), 3),
            Cell::estimate(over(|it| it.waited / it.attempts).scaled(100.0), 3),
            Cell::estimate(over(|it| it.packets / it.attempts), 2),
            Cell::estimate(over(|it| it.bytes / it.attempts), 0),
            Cell::estimate(over(|it| it.copies / it.attempts), 4),
        ])
    });
    let [plain, hurried, syn, syn_twice, both, both_twice, learned, served, fixed, edge] =
        rows.map(|(_, traces)| traces);
    let failed = |initial_rto| {
        let trace = single(&setup, EXTREME, initial_rto, &None);
        100.0 * f64::from(u8::from(!trace.until_request.is_finite()))
    };
    Ok(Measured::new()
        .table(table)
        .claim(
            "low-rto-duplicates",
            compare(&hurried, &plain, |low, normal| {
                100.0 * (low.several / low.attempts - normal.several / normal.attempts)
            }),
        )
        .claim("low-rto-long-path", Estimate::exact(single(&setup, 200, "100ms", &None).syns))
        .claim("low-rto-fails", Estimate::exact(failed("100ms")))
        .claim("normal-rto-fails", Estimate::exact(failed("3s")))
        .claim("two-syns", compare(&syn_twice, &syn, |of, to| of.waited / to.waited))
        .claim("twice-waits", compare(&both_twice, &both, |of, to| of.waited / to.waited))
        .claim(
            "twice-traffic",
            compare(&both_twice, &both, |of, to| 100.0 * ((of.bytes / of.attempts) / (to.bytes / to.attempts) - 1.0)),
        )
        .claim(
            "learned-copies",
            compare(&learned, &both_twice, |of, to| (of.copies / of.attempts) / (to.copies / to.attempts)),
        )
        .claim("short-delay-long-path", Estimate::exact(single(&setup, 300, "3s", &client).copies))
        .claim("short-delay-short-path", Estimate::exact(single(&setup, 60, "3s", &client).copies))
        .claim("edge", compare(&edge, &fixed, |of, to| of.copies / to.copies))
        .claim("server-tool", compare(&served, &both, |of, to| of.until_request / to.until_request))
        .claim("directions", directions(lab)?))
}
