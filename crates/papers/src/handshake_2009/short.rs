//! Sections 1 and 2: what a lost SYN or SYN/ACK costs a short connection, and what would avoid it.

use super::hosts::{GROUPS, hosts};
use crate::estimate::Estimate;
use crate::lab::{Failure, Lab};
use crate::measured::Measured;
use crate::setup::Setup;
use crate::table::{Cell, Table};
use gentle_captures::Loss;
use gentle_captures::scenario::{Attempt, Faults, Plan, Trace, generate};
use gentle_units::Nanos;
use std::sync::Arc;

/// Loss of SYNs and SYN/ACKs, and of data, in the generated traces.
const LOSS: f64 = 0.01;

/// Servers with ECN in 2004: section 1, paragraph 2.
const ECN_SERVERS: f64 = 0.021;

/// Requests of a page: ten connections with TCP, one association with SCTP. The paper gives no number.
const PAGE: usize = 10;

/// Wait that only a retransmission timer causes: longer than any round-trip time of the paths.
pub(super) const WAIT: Nanos = Nanos::from_secs(1);

/// Attempts of one trace, summed up.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Summary {
    pub(super) attempts: f64,
    /// Mean time until the request of completed attempts, seconds.
    pub(super) until_request: f64,
    /// Mean time until the answer, seconds: all, with a lost SYN or SYN/ACK, and without.
    pub(super) until_answer: f64,
    with_loss: f64,
    without_loss: f64,
    /// Attempts that waited for a retransmission timer before their request.
    pub(super) waited: f64,
    /// Pages of ten requests in which a connection waited.
    pages_waited: f64,
    pages: f64,
    /// Connections with a retransmission timeout of data.
    timeouts: f64,
    /// Packets of both hosts, and their bytes.
    pub(super) packets: f64,
    pub(super) bytes: f64,
    /// SYNs sent by clients, and attempts with several.
    pub(super) syns: f64,
    pub(super) several: f64,
    /// Copies of tools.
    pub(super) copies: f64,
}

fn mean<'a>(attempts: impl Iterator<Item = &'a Attempt>, of: fn(&Attempt) -> Option<Nanos>) -> f64 {
    let (mut sum, mut number) = (0.0, 0.0);
    for time in attempts.filter_map(of) {
        sum += time.as_secs_f64();
        number += 1.0;
    }
    sum / number
}

fn waited(attempt: &Attempt) -> bool {
    attempt.until_request.is_none_or(|time| time >= WAIT)
}

impl Summary {
    pub(super) fn of(mut trace: Trace) -> Summary {
        let attempts = &mut trace.attempts;
        attempts.sort_by_key(|it| it.serial);
        let attempts = &*attempts;
        let number = |test: fn(&Attempt) -> bool| attempts.iter().filter(|it| test(it)).count() as f64;
        let lost = |it: &&Attempt| it.opening.lost != [0, 0];
        let pages = attempts.chunks_exact(PAGE);
        let sum = |of: fn(&Attempt) -> u32| attempts.iter().map(|it| f64::from(of(it))).sum();
        Summary {
            attempts: attempts.len() as f64,
            until_request: mean(attempts.iter(), |it| it.until_request),
            until_answer: mean(attempts.iter(), |it| it.until_answer),
            with_loss: mean(attempts.iter().filter(lost), |it| it.until_answer),
            without_loss: mean(attempts.iter().filter(|it| !lost(it)), |it| it.until_answer),
            waited: number(waited),
            pages: pages.len() as f64,
            pages_waited: pages.filter(|page| page.iter().any(waited)).count() as f64,
            timeouts: number(|it| it.timeouts > 0),
            packets: trace.packets.iter().map(|way| way.sent as f64).sum(),
            bytes: trace.packets.iter().map(|way| way.bytes as f64).sum(),
            syns: sum(|it| it.opening.sent[0]),
            several: number(|it| it.opening.sent[0] > 1),
            copies: sum(|it| it.copies),
        }
    }
}

/// Traces of one kind with all seeds.
fn traces(lab: &Lab<'_>, setup: &Setup, name: &str, loss: Loss, spared: f64) -> Result<Vec<Arc<Summary>>, Failure> {
    let faults = Faults { loss: [loss; 2], spared, groups: GROUPS, ..Faults::default() };
    lab.map(&(setup, name), lab.seeds(8, 4), |&seed| {
        let plan = Plan { faults, ..Plan::new(&setup.scenario, seed) };
        Ok(Summary::of(generate(&plan, None)))
    })
}

/// A number of two traces, by seed.
pub(super) fn compare(
    of: &[Arc<Summary>],
    to: &[Arc<Summary>],
    number: impl Fn(&Summary, &Summary) -> f64,
) -> Estimate {
    let pairs = of.iter().zip(to);
    Estimate::over(pairs.map(|(of, to)| Some(number(of, to))))
}

/// Sections 1 and 2.
pub(super) fn measure(lab: &Lab<'_>) -> Result<Measured, Failure> {
    let two = hosts(lab, &[""]);
    let hundred = hosts(lab, &["100 segments"]);
    let four = |iw| {
        let mut setup = hosts(lab, &["4 segments"]);
        setup.set_knob("iw", iw);
        setup
    };
    let handshake = Loss::new(LOSS, 0.0);
    let data = Loss { data: LOSS, ..Loss::default() };
    let none = traces(lab, &two, "no loss", Loss::default(), 0.0)?;
    let lost = traces(lab, &two, "loss", handshake, 0.0)?;
    let long = traces(lab, &hundred, "loss", handshake, 0.0)?;
    let spared = traces(lab, &two, "marked", handshake, 1.0)?;
    let few = traces(lab, &two, "few marked", handshake, ECN_SERVERS)?;
    let [one, larger] = [four("1"), four("4")];
    let one = traces(lab, &one, "data", data, 0.0)?;
    let larger = traces(lab, &larger, "data", data, 0.0)?;
    let columns = [
        "connections",
        "time until the request (s)",
        "time until the answer (s)",
        "… with a lost SYN or SYN/ACK (s)",
        "… without (s)",
        "waited for the timer of a SYN or SYN/ACK (%)",
        "timeout of data (%)",
    ];
    let rows = [
        ("2 segments, no loss", &none),
        ("2 segments, 1 % of SYNs and SYN/ACKs lost", &lost),
        ("100 segments, 1 % of SYNs and SYN/ACKs lost", &long),
        ("2 segments, 1 % of SYNs lost, SYN/ACKs marked", &spared),
        ("2 segments, 2.1 % of the SYN/ACKs marked", &few),
        ("4 segments, 1 % of data lost, initial window 1", &one),
        ("4 segments, 1 % of data lost, initial window 4", &larger),
    ];
    let table = Table::new("Generated connections between hosts with an initial RTO of 3 s", columns);
    let table = rows.into_iter().fold(table, |table, (name, traces)| {
        let over = |of: fn(&Summary) -> f64| compare(traces, traces, |it, _| of(it));
        table.row([
            Cell::text(name),
            Cell::estimate(over(|it| it.until_request), 3),
            Cell::estimate(over(|it| it.until_answer), 3),
            Cell::estimate(over(|it| it.with_loss), 2),
            Cell::estimate(over(|it| it.without_loss), 3),
            Cell::estimate(over(|it| it.waited / it.attempts).scaled(100.0), 2),
            Cell::estimate(over(|it| it.timeouts / it.attempts).scaled(100.0), 2),
        ])
    });
    let slower = |it: &Summary| it.with_loss / it.without_loss;
    Ok(Measured::new()
        .table(table)
        .claim("dominates", compare(&lost, &lost, |it, _| slower(it)))
        .claim("short-most", compare(&lost, &long, |short, long| slower(short) / slower(long)))
        .claim("opening", compare(&none, &none, |it, _| 100.0 * it.until_request / it.until_answer))
        .claim("larger-window", compare(&larger, &one, |of, to| of.timeouts / to.timeouts))
        .claim("marked", compare(&spared, &lost, |of, to| of.until_answer / to.until_answer))
        .claim("few-marked", compare(&few, &lost, |of, to| of.until_answer / to.until_answer))
        .claim(
            "connections-of-a-page",
            compare(&lost, &lost, |it, _| (it.pages_waited / it.pages) / (it.waited / it.attempts)),
        ))
}
