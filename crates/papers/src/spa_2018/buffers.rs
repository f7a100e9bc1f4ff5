//! Sizes of buffers, rates of links and attacks: statements of sections II and V about long connections.

use super::schemes::{CODEL, FQ_CODEL, PUBLISHED_SPA, SFQ, SPA};
use crate::lab::{Failure, Lab};
use crate::measured::Measured;
use crate::results::{Results, Values};
use crate::setup::Setup;
use crate::table::{Cell, Table};
use gentle_experiment::Direction;

/// Rates of the link under test: that of Table III and two others.
const RATES: [&str; 3] = ["0.6mbit", "2.4mbit", "10mbit"];
const TABLE_III: usize = 1;

/// The bandwidth-delay product of Table III: 2.4 Mb/s times 94 ms.
const PRODUCT: &str = "byte FIFO of one product";
const TENTH: &str = "byte FIFO of a tenth";
const TENFOLD: &str = "byte FIFO of ten products";
const SHORT_PRIO: &str = "SYN/FIN Prio, 50 packets";
const LONG_PRIO: &str = "SYN/FIN Prio, 200 packets";

const SCHEMES: &[(&str, &str)] = &[
    (PRODUCT, "bfifo limit=28200"),
    (TENTH, "bfifo limit=2820"),
    (TENFOLD, "bfifo limit=282000"),
    (SHORT_PRIO, "syn_fin_prio maxlen=0 share=100 limit=50"),
    (LONG_PRIO, "syn_fin_prio maxlen=0 share=100 limit=200"),
    (SPA, PUBLISHED_SPA),
];

/// Four long downloads on the links of Table III.
pub(super) fn long() -> Setup {
    Setup::from_toml("papers/spa-2018/long.toml", include_str!("../../data/spa-2018/long.toml"))
}

const RTT: &str = "rtt_s.mean";
const DELAY: &str = "queue_delay_s.mean";
const USED: &str = "utilization";

/// Buffers and rates.
pub(super) fn buffers(lab: &Lab<'_>) -> Result<Measured, Failure> {
    let mut runs = Vec::new();
    for rate in RATES {
        let mut setup = long().schemes(SCHEMES);
        // Buffers keep their size: who sets them up does not know the rate.
        setup.scenario.links[Direction::Down as usize].rate = rate.parse().expect("a rate");
        runs.push(lab.compare(setup, &lab.seeds(5, 2))?);
    }
    let usual = &runs[TABLE_III];
    let ratio =
        |of: &str, to: &str, metric: &str| usual.per_seed(|seed| Some(seed.get(of, metric)? / seed.get(to, metric)?));
    let slower = |role: &str, metric: &str| {
        runs[0].per_seed_with(usual, |slow, usual| Some(slow.get(role, metric)? / usual.get(role, metric)?))
    };
    let prio = |seed: &Values<'_>| Some(seed.get(SHORT_PRIO, RTT)? / seed.get(SPA, RTT)?);
    let over_rates = |metric: &str, better: fn(f64, f64) -> f64| {
        let all = runs.iter().map(|run| run.mean(SPA, metric));
        all.reduce(|a, b| match (a.value, b.value) {
            (Some(x), Some(y)) if better(x, y) == y => b,
            _ => a,
        })
        .unwrap_or_default()
    };
    Ok(Measured::new()
        .claim("too-large", ratio(TENFOLD, PRODUCT, RTT))
        .claim("too-small", ratio(TENTH, PRODUCT, USED))
        .claim("slower-byte-fifo", slower(PRODUCT, RTT))
        .claim("slower-spa", slower(SPA, RTT))
        .claim("prio-limit", ratio(LONG_PRIO, SHORT_PRIO, RTT))
        .claim("prio-spa", ratio(SHORT_PRIO, SPA, RTT))
        .claim("prio-slower", runs[0].per_seed_with(usual, |slow, usual| Some(prio(slow)? / prio(usual)?)))
        .claim("spa-utilization", over_rates(USED, f64::min).scaled(100.0))
        .claim("spa-delay", over_rates(DELAY, f64::max).scaled(1e3))
        .table(table(&runs)))
}

fn table(runs: &[Results]) -> Table {
    let columns = ["scheme", "rate", "RTT, ms", "queueing delay, ms", "link used, %"];
    let mut table = Table::new("Four long downloads at three rates", columns);
    for (role, _) in SCHEMES {
        for (rate, run) in RATES.iter().zip(runs) {
            table = table.row([
                Cell::text(*role),
                Cell::text(*rate),
                Cell::estimate(run.mean(role, RTT).scaled(1e3), 0),
                Cell::estimate(run.mean(role, DELAY).scaled(1e3), 0),
                Cell::estimate(run.mean(role, USED).scaled(100.0), 1),
            ]);
        }
    }
    table
}

/// Flood of SYNs at five sixths of the rate of the link.
const FLOOD: &str = "\n[[workload]]\nkind = \"syn_flood\"\nrate = \"2mbit\"\n";

const SPA_WITHOUT_BOUND: &str = "SPA without a bound";

/// Floods of SYNs.
pub(super) fn floods(lab: &Lab<'_>) -> Result<Measured, Failure> {
    let text = format!("{}{FLOOD}", include_str!("../../data/spa-2018/long.toml"));
    let setup = Setup::from_toml("papers/spa-2018/long.toml", &text).schemes(&[
        (CODEL, "codel"),
        (SPA_WITHOUT_BOUND, PUBLISHED_SPA),
        (SPA, "spa"),
        (FQ_CODEL, "fq_codel"),
        (SFQ, "sfq"),
    ]);
    let results = lab.compare(setup, &lab.seeds(5, 2))?;
    let goodput = |role: &'static str| results.mean(role, "long_goodput_bps.mean");
    let below = |role: &str| {
        results.per_seed(|seed| {
            let metric = "long_goodput_bps.mean";
            Some(seed.get(role, metric)? / seed.get(CODEL, metric)?)
        })
    };
    // Nearly all packets are SYNs of the flood.
    let flood_over_data =
        results.per_seed(|seed| Some(seed.get(FQ_CODEL, "loss.all")? / seed.get(FQ_CODEL, "loss.data")?));
    let columns = ["scheme", "goodput of each download, kb/s", "all packets lost, %", "data lost, %"];
    let table =
        results.roles().iter().fold(Table::new("Four long downloads and 2 Mb/s of SYNs", columns), |table, role| {
            table.row([
                Cell::text(*role),
                Cell::estimate(goodput(role).scaled(1e-3), 0),
                Cell::estimate(results.mean(role, "loss.all").scaled(100.0), 1),
                Cell::estimate(results.mean(role, "loss.data").scaled(100.0), 1),
            ])
        });
    Ok(Measured::new()
        .claim("spa", below(SPA_WITHOUT_BOUND))
        .claim("fq-codel", below(FQ_CODEL))
        .claim("sfq", below(SFQ))
        .claim("syns-over-data", flood_over_data)
        .table(table))
}
