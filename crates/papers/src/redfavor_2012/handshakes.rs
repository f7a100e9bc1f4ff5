//! Statements of the text about lost SYNs, SYNs in the queue, and other traffic than in the figures.

use super::compared::{self, by_size, penalty, runs};
use super::figures::peak;
use super::flows::Flows;
use super::{SCHEMES, SIZES, seeds, setup};
use crate::{Cell, Estimate, Failure, Lab, Measured, Table};

/// Completion times with and without a lost SYN, and with another initial RTO.
pub(super) fn penalties(lab: &Lab<'_>) -> Result<Measured, Failure> {
    let red = runs(lab, "RED")?;
    let mut table = Table::new(
        "Mean completion time by size under RED, in s",
        [
            "packets, up to",
            "no SYN lost",
            "a SYN lost",
            "ratio",
            "initial RTO 1 s, all requests",
            "initial RTO 3 s, all requests",
        ],
    );
    let sooner = runs(lab, "RED with initial-rto")?;
    for (range, last) in SIZES.iter().enumerate() {
        let over = |number: &dyn Fn(&Flows) -> f64| Estimate::over(red.iter().map(|flows| Some(number(flows))));
        let pair = |flows: &Flows| penalty(flows, range..range + 1)[0];
        let sooner = sooner.iter().map(|flows| Some(by_size(&flows.requests)[range]));
        table = table.row([
            last.to_string().into(),
            Cell::estimate(over(&|flows| pair(flows).1), 2),
            Cell::estimate(over(&|flows| pair(flows).0), 2),
            Cell::estimate(over(&|flows| pair(flows).0 / pair(flows).1), 2),
            Cell::estimate(Estimate::over(sooner), 2),
            Cell::estimate(over(&|flows| by_size(&flows.requests)[range]), 2),
        ]);
    }
    Ok(Measured::new().claims(compared::claims(lab, "penalty")?).table(table))
}

/// SYNs and standard packets in the queue.
pub(super) fn queue(lab: &Lab<'_>) -> Result<Measured, Failure> {
    let watched = lab.watch::<Flows>(&setup(lab), &seeds(lab))?;
    let mut table = Table::new(
        "SYNs and standard packets in the queue of the link under test",
        [
            "scheme",
            "wait of a SYN, ms",
            "of a standard packet, ms",
            "most SYNs in the queue",
            "SYNs in the sent bytes, %",
            "SYNs in the sent packets, %",
            "a dropped data packet is sent again after, s",
        ],
    );
    for role in SCHEMES {
        let runs = || watched.iter().filter(|run| run.role == role);
        let over = |number: &dyn Fn(&Flows) -> f64| Estimate::over(runs().map(|run| Some(number(&run.seen))));
        let part = |syns: u64, standard: u64| 100.0 * syns as f64 / (syns + standard) as f64;
        let wait = over(&|flows| 1e3 * flows.syns.wait.seconds());
        let standard = over(&|flows| 1e3 * flows.standard.wait.seconds());
        table = table.row([
            role.into(),
            Cell::estimate(wait, 2),
            Cell::estimate(standard, 2),
            Cell::estimate(over(&|flows| flows.most_syns as f64), 1),
            Cell::estimate(over(&|flows| part(flows.syns.sent_bytes, flows.standard.sent_bytes)), 2),
            Cell::estimate(over(&|flows| part(flows.syns.sent, flows.standard.sent)), 2),
            Cell::estimate(over(&|flows| flows.recovery.seconds()), 2),
        ]);
    }
    Ok(Measured::new().claims(compared::claims(lab, "queue")?).table(table).table(readings(lab)?))
}

/// REDFavor by both readings of the paper: RED decides on SYNs, or does not.
fn readings(lab: &Lab<'_>) -> Result<Table, Failure> {
    let mut table = Table::new(
        "REDFavor as the paper's text and as its algorithm have it",
        [
            "RED decides on SYNs",
            "dropped SYNs, % of all",
            "of these, found no packet in the queue, %",
            "drop rate",
            "requests within 3.0 to 3.5 s / within 2.4 to 2.9 s",
            "bandwidth use, %",
        ],
    );
    for (reading, words) in [("no", "REDFavor"), ("yes", "REDFavor with red-check")] {
        let runs = runs(lab, words)?;
        let over = |number: &dyn Fn(&Flows) -> f64| Estimate::over(runs.iter().map(|flows| Some(number(flows))));
        let part = |of: u64, all: u64| 100.0 * of as f64 / all as f64;
        table = table.row([
            reading.into(),
            Cell::estimate(over(&|flows| part(flows.syns.dropped, flows.syns.offered)), 3),
            Cell::estimate(over(&|flows| part(flows.dropped_syns_at_empty, flows.syns.dropped)), 1),
            Cell::estimate(over(&|flows| flows.dropped() as f64 / flows.offered() as f64), 3),
            Cell::estimate(over(&peak), 2),
            Cell::estimate(over(&|flows| 100.0 * flows.utilization()), 2),
        ]);
    }
    Ok(table)
}

/// Other traffic: datagrams, few sessions, a flood of SYNs.
pub(super) fn other_traffic(lab: &Lab<'_>) -> Result<Measured, Failure> {
    let mut table = Table::new(
        "Nine long-lived flows with datagrams of 5 Mb/s, or with SYNs of 12 Mb/s, instead of the web, in Mb/s",
        ["scheme", "with", "long-lived flows", "datagrams"],
    );
    for (role, other) in [("RED", "datagrams"), ("CHOKe", "datagrams"), ("RED", "flood"), ("REDFavor", "flood")] {
        let runs = runs(lab, &format!("{role} with {other}"))?;
        let over = |number: &dyn Fn(&Flows) -> f64| Estimate::over(runs.iter().map(|flows| Some(number(flows) / 1e6)));
        table = table.row([
            role.into(),
            other.into(),
            Cell::estimate(over(&|flows| flows.long_goodput_bps().iter().sum()), 2),
            Cell::estimate(over(&Flows::datagrams_bps), 2),
        ]);
    }
    Ok(Measured::new().claims(compared::claims(lab, "other-traffic")?).table(table))
}
