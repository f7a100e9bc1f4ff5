//! The table of the MAWI captures, of both directions, from section III; see [`traces`](super::traces).

use super::traces::{Delays, LONGEST, Quantities};
use crate::captures::analyze;
use crate::estimate::Estimate;
use crate::lab::{Failure, Lab};
use crate::measured::Measured;
use crate::setup::Setup;
use crate::table::{Cell, Table};
use gentle_captures::scenario::{Faults, LEFT, Observer, Packets, Plan, generate};
use gentle_captures::{Loss, Place};
use gentle_trace::Options;
use gentle_trace::results::Filter;
use gentle_units::Nanos;
use gentle_wire::Address;
use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::ops::Range;
use std::sync::Arc;

/// A row of the published table: direction A and B, before the flood filter and after it.
struct Row4 {
    name: &'static str,
    before: [f64; 2],
    after: [f64; 2],
    decimals: u8,
}

const MAWI: [Row4; 6] = [
    Row4 { name: "packet retransmission probability (%)", before: [1.65, 2.73], after: [1.63, 2.72], decimals: 2 },
    Row4 { name: "SYN, SYN/ACK among retransmissions (%)", before: [29.8, 79.5], after: [28.8, 78.9], decimals: 1 },
    Row4 {
        name: "SYN, SYN/ACK retransmission probability (%)",
        before: [13.1, 29.9],
        after: [12.8, 40.6],
        decimals: 1,
    },
    Row4 {
        name: "mean retransmission delay, all (ms)",
        before: [5276.96, 2114.93],
        after: [5312.9, 2114.93],
        decimals: 1,
    },
    Row4 { name: "with SYN loss (ms)", before: [6324.93, 2390.63], after: [6469.4, 2390.63], decimals: 1 },
    Row4 { name: "without (ms)", before: [4707.11, 1011.93], after: [4710.5, 1011.93], decimals: 1 },
];

/// Share of the connections over which the means were taken that have a SYN loss, as the three means imply.
fn implied_share([all, with, without]: [f64; 3]) -> f64 {
    (all - without) / (with - without)
}

/// Share of SYNs and SYN/ACKs among packets, as the three probabilities imply.
fn implied_syns([packets, share, syns]: [f64; 3]) -> f64 {
    packets * share / syns / 100.0
}

/// Loss of packets down (direction A) and up (B), and attempts down and up that nobody answers.
const MAWI_LOSS: [f64; 2] = [0.017, 0.030];
const MAWI_UNANSWERED: [f64; 2] = [0.13, 0.70];

/// Flooding addresses in direction B, and SYNs of each: more than the 1,000 connections of the filter.
const FLOODERS: u32 = 13;
const FLOOD_SYNS: u32 = 1_020;

/// Quantities of one direction, before and after a filter: in the order of [`MAWI`], as fractions and seconds.
#[derive(Debug, Clone, Copy, Default)]
struct Filtered {
    before: [[f64; 6]; 2],
    after: [[f64; 6]; 2],
    established: [[f64; 6]; 2],
    /// Connections with a retransmission, by whether they have a SYN loss.
    with_syn_loss: [Delays; 2],
    without: [Delays; 2],
    flooders: f64,
    /// Connections by the direction of their SYN, and those among them that the flood filter removes.
    connections: [f64; 2],
    removed: [f64; 2],
    /// Quantities after the filter of floods, of both directions together.
    together: Quantities,
    truth: [Packets; 2],
    /// Quantities without floods by the longest delay of a connection: removed connections, then the retransmission
    /// probabilities of packets (A, B) and of SYNs and SYN/ACKs (A, B).
    by_limit: [[f64; 5]; LIMITS.len()],
    /// Addresses that flood by other thresholds: connections without data, and how many times more than with data.
    by_threshold: [f64; THRESHOLDS.len()],
}

const THRESHOLDS: [(u64, u64); 4] = [(100, 100), (500, 500), (1_000, 1_000), (2_000, 1_000)];

/// Longest delays of a connection, seconds; the paper's is 45 s.
const LIMITS: [u64; 4] = [10, 45, 90, u64::MAX / 1_000_000_000];

/// A connection in a capture of both directions.
struct Connection {
    ends: [Address; 2],
    /// Sides by direction: segments, retransmissions, repeated SYNs or SYN/ACKs, delay.
    sides: [(u64, u64, u32, Nanos); 2],
    /// A SYN/ACK was captured.
    answered: bool,
}

impl Connection {
    /// Direction of the SYN: 0 for A, 1 for B.
    fn syn_way(&self) -> usize {
        usize::from(is_local(self.ends[0]))
    }
}

/// Quantities without the connections of `flooders` and those that wait longer than `limit`.
fn within(connections: &[Connection], flooders: &HashSet<Address>, limit: Nanos) -> [f64; 5] {
    let mut removed = 0.0;
    let mut sums = [Quantities::default(); 2];
    for connection in connections {
        if connection.ends.iter().any(|end| flooders.contains(end)) {
            continue;
        }
        if connection.sides.iter().any(|side| side.3 > limit) {
            removed += 1.0;
            continue;
        }
        let own = connection.syn_way();
        for (way, (segments, again, syns_again, delay)) in connection.sides.into_iter().enumerate() {
            if way == own || connection.answered {
                sums[way].add(segments, again, syns_again, delay);
            }
        }
    }
    let [a, b] = sums;
    [removed, a.packet_probability(), b.packet_probability(), a.syn_probability(), b.syn_probability()]
}

/// True for the addresses of clients in generated captures.
fn is_local(address: Address) -> bool {
    matches!(IpAddr::from(address), IpAddr::V4(address) if address.octets()[0] == 10)
}

fn of_filter(filter: &Filter) -> [[f64; 6]; 2] {
    // "in": towards the local hosts, which is down.
    ["in", "out"].map(|name| {
        let found = filter.directions.iter().find(|direction| direction.name == name);
        let Some(found) = found else {
            return [f64::NAN; 6];
        };
        let delay = &found.retransmission_delay_sum_s;
        [
            found.packet_retransmission_probability,
            found.syn_share_of_retransmissions,
            found.syn_retransmission_probability,
            delay.all,
            delay.with_handshake_loss,
            delay.without_handshake_loss,
        ]
        .map(|value| value.unwrap_or(f64::NAN))
    })
}

fn both_ways(setup: &Setup, seed: u64) -> Filtered {
    let plan = Plan {
        faults: Faults {
            loss: MAWI_LOSS.map(|loss| Loss::new(loss, loss)),
            unanswered: MAWI_UNANSWERED,
            floods: (FLOODERS, FLOOD_SYNS),
            ..Faults::default()
        },
        observers: &[Observer::at(Place::Middle)],
        ..Plan::new(&setup.scenario, seed)
    };
    let mut generated = generate(&plan, None);
    let options = Options { local: vec![LEFT.parse().expect("a prefix")], ..Options::default() };
    let mut addresses: HashMap<Address, (u64, u64)> = HashMap::new();
    let mut with_syn_loss = [Delays::default(); 2];
    let mut without = [Delays::default(); 2];
    let mut connections = Vec::new();
    let capture = generated.captures.pop().unwrap_or_default();
    let analysis = analyze(capture, &options, &mut |row| {
        let has_data = row.from_client.bytes + row.from_server.bytes > 0;
        for address in [row.client, row.server] {
            let (without, with) = addresses.entry(address).or_default();
            *(if has_data { with } else { without }) += 1;
        }
        let client_is_local = is_local(row.client);
        let sides = [(&row.from_client, row.syn_retransmissions), (&row.from_server, row.synack_retransmissions)];
        let [down, up] = match client_is_local {
            true => [sides[1], sides[0]],
            false => sides,
        }
        .map(|(side, again)| {
            let delay = side.retransmission_delay_sum;
            (side.segments, side.retransmissions, again, delay)
        });
        connections.push(Connection {
            ends: [row.client, row.server],
            sides: [down, up],
            answered: row.from_server.segments > 0,
        });
        for (side, syns_again, is_local) in [
            (&row.from_client, row.syn_retransmissions, client_is_local),
            (&row.from_server, row.synack_retransmissions, !client_is_local),
        ] {
            if side.retransmissions > 0 && side.retransmission_delay_sum <= LONGEST {
                let way = usize::from(is_local);
                match syns_again > 0 {
                    true => &mut with_syn_loss[way],
                    false => &mut without[way],
                }
                .add(side.retransmission_delay_sum, true);
            }
        }
    });
    // Connections without and with data: at least `least` without, and `times` as many as with.
    let floods = |(without, with): (u64, u64), (least, times): (u64, u64)| without >= least && without >= times * with;
    let flooders: HashSet<Address> = (addresses.iter())
        .filter(|(_, connections)| floods(**connections, (1_000, 1_000)))
        .map(|(address, _)| *address)
        .collect();
    let by_limit = LIMITS.map(|limit| within(&connections, &flooders, Nanos::from_secs(limit)));
    let mut number_of = [0.0; 2];
    let mut removed = [0.0; 2];
    let mut together = Quantities::default();
    for connection in &connections {
        let way = connection.syn_way();
        number_of[way] += 1.0;
        if connection.ends.iter().any(|end| flooders.contains(end)) {
            removed[way] += 1.0;
            continue;
        }
        for (side, (segments, again, syns_again, delay)) in connection.sides.iter().enumerate() {
            if *delay <= LONGEST && (side == way || connection.answered) {
                together.add(*segments, *again, *syns_again, *delay);
            }
        }
    }
    let filter = |name: &str| analysis.filters.iter().find(|filter| filter.name == name);
    let named = |name: &str| filter(name).map(of_filter).unwrap_or_default();
    let number = |threshold| {
        let flooding = |connections: &&(u64, u64)| floods(**connections, threshold);
        addresses.values().filter(flooding).count() as f64
    };
    Filtered {
        before: named("delay-45s"),
        after: named("syn-flood"),
        established: named("established-with-data"),
        with_syn_loss,
        without,
        flooders: filter("syn-flood").and_then(|filter| filter.removed_addresses).unwrap_or_default() as f64,
        connections: number_of,
        removed,
        together,
        truth: generated.packets,
        by_limit,
        by_threshold: THRESHOLDS.map(number),
    }
}

/// The table of the MAWI captures.
pub(super) fn mawi(lab: &Lab<'_>) -> Result<Measured, Failure> {
    let setup =
        lab.varied(Setup::from_toml("papers/spa-2018/mawi.toml", include_str!("../../data/spa-2018/mawi.toml")));
    let found = lab.map(&setup, lab.seeds(12, 2), |&seed| Ok(both_ways(&setup, seed)))?;
    let over = |of: &dyn Fn(&Filtered) -> f64| Estimate::over(found.iter().map(|it| Some(of(it))));
    let ratio = |way: usize, row: usize, other: usize| over(&|it| it.before[way][row] / it.before[way][other]);
    let filtered = |way: usize, row: usize| over(&|it| it.after[way][row] / it.before[way][row]);
    let three = |rows: Range<usize>, way: usize| {
        let values: Vec<f64> = MAWI[rows].iter().map(|row| row.before[way]).collect();
        [values[0], values[1], values[2]]
    };
    let mut measured = Measured::new()
        .table(published_mawi())
        .table(generated_mawi(&over))
        .table(limits(&found))
        .table(thresholds(&found));
    for (way, name) in ["a", "b"].into_iter().enumerate() {
        for (claim, ours) in [
            ("packet-probability", over(&|it| 100.0 * it.before[way][0])),
            ("syn-share", over(&|it| 100.0 * it.before[way][1])),
            ("syn-probability", over(&|it| 100.0 * it.before[way][2])),
            ("with-over-without-of-all", ratio(way, 4, 5)),
            ("with-over-without", over(&|it| it.with_syn_loss[way].mean() / it.without[way].mean())),
            (
                "with-over-all",
                over(&|it| {
                    let all = it.with_syn_loss[way].plus(it.without[way]);
                    it.with_syn_loss[way].mean() / all.mean()
                }),
            ),
            ("flood-filter", filtered(way, 2)),
            ("established-syn-over-packet", over(&|it| it.established[way][2] / it.established[way][0])),
            ("established-delay-ratio", over(&|it| it.established[way][4] / it.established[way][5])),
            ("removed", over(&|it| 100.0 * it.removed[way] / it.connections[way])),
            ("established-syn-probability", over(&|it| 100.0 * it.established[way][2])),
            ("established-fewer", over(&|it| it.established[way][2] / it.before[way][2])),
            ("established-share", over(&|it| it.established[way][1] / it.before[way][1])),
            (
                "established-delay-part",
                over(&|it| {
                    let [_, _, _, all, with, without] = it.established[way];
                    100.0 * implied_share([all, with, without]) * with / all
                }),
            ),
            ("after-packet", filtered(way, 0)),
            ("after-syn-share", filtered(way, 1)),
            ("after-delay", filtered(way, 3)),
            ("after-delay-with", filtered(way, 4)),
            ("after-delay-without", filtered(way, 5)),
            ("implied-share", Estimate::exact(100.0 * implied_share(three(3..6, way)))),
            (
                "with-syn-loss",
                over(&|it| {
                    let all = it.with_syn_loss[way].plus(it.without[way]);
                    100.0 * it.with_syn_loss[way].connections / all.connections
                }),
            ),
            (
                "packet-bias",
                over(&|it| {
                    let truth = it.truth[way];
                    it.after[way][0] / (truth.again as f64 / truth.sent as f64)
                }),
            ),
            (
                "syn-bias",
                over(&|it| {
                    let truth = it.truth[way];
                    it.after[way][2] / (truth.syns_again as f64 / truth.syns as f64)
                }),
            ),
        ] {
            measured = measured.claim(format!("{name}-{claim}"), ours);
        }
    }
    let measured = measured
        .claim(
            "delay-a-over-b",
            over(&|it| {
                let of = |way: usize| it.with_syn_loss[way].plus(it.without[way]).mean();
                of(0) / of(1)
            }),
        )
        .claim("syn-share", over(&|it| 100.0 * it.together.syns_again / it.together.again))
        .claim(
            "with-over-without",
            over(&|it| {
                let [with, without] = [it.with_syn_loss, it.without].map(|[a, b]| a.plus(b));
                with.mean() / without.mean()
            }),
        )
        .claim("removed", over(&|it| 100.0 * it.removed.iter().sum::<f64>() / it.connections.iter().sum::<f64>()))
        .claim("removed-in-b", over(&|it| 100.0 * it.removed[1] / it.removed.iter().sum::<f64>()));
    Ok(measured.claim("flooders", over(&|it| it.flooders / f64::from(FLOODERS))))
}

/// The published table, with what its rows imply.
fn published_mawi() -> Table {
    let columns = ["", "A, before", "B, before", "A, after", "B, after"];
    let mut table = Table::new("Published: before and after the flood filter", columns);
    let mut values: Vec<[f64; 4]> = Vec::new();
    for row in &MAWI {
        let four = [row.before[0], row.before[1], row.after[0], row.after[1]];
        values.push(four);
        let cells = four.map(|value| Cell::number(value, row.decimals));
        table = table.row(std::iter::once(Cell::text(row.name)).chain(cells));
    }
    let column = |rows: [usize; 3], at: usize| rows.map(|row| values[row][at]);
    let cells = (0..4).map(|at| Cell::number(100.0 * implied_share(column([3, 4, 5], at)), 1));
    table = table.row(std::iter::once(Cell::text("connections with SYN loss, as the means imply (%)")).chain(cells));
    let cells = (0..4).map(|at| Cell::number(100.0 * implied_syns(column([0, 1, 2], at)), 2));
    table.row(std::iter::once(Cell::text("SYN, SYN/ACK among packets, as the probabilities imply (%)")).chain(cells))
}

type Over<'a> = dyn Fn(&dyn Fn(&Filtered) -> f64) -> Estimate + 'a;

/// The table of the MAWI captures, measured in generated captures.
fn generated_mawi(over: &Over<'_>) -> Table {
    let columns = ["", "A, before", "B, before", "A, after", "B, after", "A, established", "B, established"];
    let mut table = Table::new("Generated captures, by filter", columns);
    for (row, published) in MAWI.iter().enumerate() {
        let factor = if row < 3 { 100.0 } else { 1000.0 };
        let cell = |of: &dyn Fn(&Filtered) -> f64| Cell::estimate(over(of).scaled(factor), published.decimals);
        table = table.row([
            Cell::text(published.name),
            cell(&|it| it.before[0][row]),
            cell(&|it| it.before[1][row]),
            cell(&|it| it.after[0][row]),
            cell(&|it| it.after[1][row]),
            cell(&|it| it.established[0][row]),
            cell(&|it| it.established[1][row]),
        ]);
    }
    let blank = || Cell::text("");
    type Means = fn(&Filtered, usize) -> Delays;
    let means: [(&str, Means); 3] = [
        ("… all (ms)", |it, way| it.with_syn_loss[way].plus(it.without[way])),
        ("… with SYN loss (ms)", |it, way| it.with_syn_loss[way]),
        ("… without (ms)", |it, way| it.without[way]),
    ];
    for (name, of) in means {
        let cell = |way| Cell::estimate(over(&|it| 1000.0 * of(it, way).mean()), 1);
        table = table.row([
            Cell::Text(format!("over connections with a retransmission {name}")),
            cell(0),
            cell(1),
            blank(),
            blank(),
            blank(),
            blank(),
        ]);
    }
    let truth = |of: &dyn Fn(&Packets) -> f64, way: usize| Cell::estimate(over(&|it| 100.0 * of(&it.truth[way])), 2);
    let again = |it: &Packets| it.again as f64 / it.sent as f64;
    let syns = |it: &Packets| it.syns_again as f64 / it.syns as f64;
    table
        .row([
            Cell::text("truth without the floods: packets sent again (%)"),
            blank(),
            blank(),
            truth(&again, 0),
            truth(&again, 1),
            blank(),
            blank(),
        ])
        .row([
            Cell::text("truth without the floods: SYNs and SYN/ACKs sent again (%)"),
            blank(),
            blank(),
            truth(&syns, 0),
            truth(&syns, 1),
            blank(),
            blank(),
        ])
}

/// Quantities by the longest delay of a connection that is kept.
fn limits(found: &[Arc<Filtered>]) -> Table {
    let columns = [
        "longest delay",
        "connections left out",
        "packets, A (%)",
        "packets, B (%)",
        "SYN, SYN/ACK, A (%)",
        "SYN, SYN/ACK, B (%)",
    ];
    let table = Table::new("Retransmission probabilities after the flood filter, by limit", columns);
    let rows = LIMITS.iter().enumerate().map(|(number, limit)| {
        let name = match number + 1 < LIMITS.len() {
            true => format!("{limit} s"),
            false => "none".to_owned(),
        };
        let cells = (0..5).map(|column| {
            let factor = if column == 0 { 1.0 } else { 100.0 };
            let values = found.iter().map(|it| Some(it.by_limit[number][column]));
            Cell::estimate(Estimate::over(values).scaled(factor), 2)
        });
        std::iter::once(Cell::Text(name)).chain(cells).collect::<Vec<_>>()
    });
    rows.fold(table, Table::row)
}

/// Flooding addresses by threshold.
fn thresholds(found: &[Arc<Filtered>]) -> Table {
    let columns = ["connections without data", "times those with data", "addresses that flood"];
    let title = format!("Addresses that flood, by threshold, of {FLOODERS} with {FLOOD_SYNS} SYNs each");
    let rows = THRESHOLDS.iter().enumerate().map(|(number, (least, times))| {
        let counts = found.iter().map(|it| Some(it.by_threshold[number]));
        [Cell::number(*least as f64, 0), Cell::number(*times as f64, 0), Cell::estimate(Estimate::over(counts), 0)]
    });
    rows.fold(Table::new(&title, columns), Table::row)
}
