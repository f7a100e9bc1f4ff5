//! Section III, the trace analysis: Figs. 1 and 2 and the table of the MAWI captures.
//!
//! The captures are not at hand, and what was lost in them is not known. The quantities are measured in generated
//! captures with the published rates of loss instead, of which the truth is known: of one direction, as those of CAIDA,
//! and of both, as those of MAWI.

use crate::chart::{Axis, Chart};
use crate::estimate::Estimate;
use crate::handshake_2009::network::{
    Faults, LEFT, Loss, Observer, Packets, Place, Plan, analyze, generate,
};
use crate::handshake_2009::proportion::wilson;
use crate::lab::{Failure, Lab};
use crate::measured::Measured;
use crate::setup::Setup;
use crate::table::{Cell, Table};
use gentle_experiment::{Direction, TcpChanges};
use gentle_trace::Options;
use gentle_trace::results::Filter;
use gentle_trace::row::{Outcome, Row};
use gentle_units::{Instant, Nanos};
use gentle_wire::Address;
use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::ops::Range;
use std::sync::Arc;

/// Length of the captures: those of CAIDA come in pieces of a minute.
const LENGTH: Instant = Instant::from_secs(60);

/// Loss of packets in the five captures, by direction.
const LOSSES: [[f64; 2]; 5] = [
    [0.020, 0.030],
    [0.025, 0.035],
    [0.030, 0.040],
    [0.035, 0.045],
    [0.040, 0.050],
];

/// Attempts that nobody answers.
const UNANSWERED: f64 = 0.06;

/// The 45 s filter.
const LONGEST: Nanos = Nanos::from_secs(45);

/// The traffic, under the assumption that is being varied.
fn set_up(lab: &Lab<'_>) -> Setup {
    lab.varied(Setup::from_toml(
        "papers/spa-2018/backbone.toml",
        include_str!("../../data/spa-2018/backbone.toml"),
    ))
}

/// Sums over connections and their number.
#[derive(Debug, Clone, Copy, Default)]
struct Delays {
    connections: f64,
    /// With a retransmission.
    with_any: f64,
    seconds: f64,
}

impl Delays {
    fn add(&mut self, delay: Nanos, any: bool) {
        self.connections += 1.0;
        self.with_any += f64::from(u8::from(any));
        self.seconds += delay.as_secs_f64();
    }

    fn plus(self, other: Delays) -> Delays {
        Delays {
            connections: self.connections + other.connections,
            with_any: self.with_any + other.with_any,
            seconds: self.seconds + other.seconds,
        }
    }

    /// Mean over all connections.
    fn mean(&self) -> f64 {
        self.seconds / self.connections
    }

    /// Mean over the connections with a retransmission.
    fn mean_of_retransmitting(&self) -> f64 {
        self.seconds / self.with_any
    }
}

/// Quantities of section III in one direction.
#[derive(Debug, Clone, Copy, Default)]
struct Quantities {
    connections: f64,
    segments: f64,
    again: f64,
    syns: f64,
    syns_again: f64,
    /// Connections without data segments of this direction lost or sent again.
    with_syn_loss: Delays,
    without: Delays,
}

impl Quantities {
    fn packet_probability(&self) -> f64 {
        self.again / self.segments
    }

    fn syn_share(&self) -> f64 {
        self.syns_again / self.again
    }

    fn syn_probability(&self) -> f64 {
        self.syns_again / self.syns
    }

    fn all(&self) -> Delays {
        self.with_syn_loss.plus(self.without)
    }

    /// Adds one side of a connection.
    fn add(&mut self, segments: u64, again: u64, syns_again: u32, delay: Nanos) {
        self.connections += 1.0;
        self.segments += segments as f64;
        self.again += again as f64;
        self.syns += 1.0 + f64::from(syns_again);
        self.syns_again += f64::from(syns_again);
        match syns_again > 0 {
            true => &mut self.with_syn_loss,
            false => &mut self.without,
        }
        .add(delay, again > 0);
    }
}

/// Quantities of a capture of one direction.
#[derive(Debug, Clone, Copy, Default)]
struct Capture {
    all: Quantities,
    /// Over established connections with data.
    established: Quantities,
    /// Connections with more than 45 s of delay.
    too_long: f64,
    /// Used fraction of the link's rate.
    utilization: f64,
    truth: Packets,
}

impl Capture {
    /// Adds the side of a connection that a capture of one direction has.
    fn add(&mut self, row: &Row) {
        let (side, again) = match row.syn_seen {
            true => (&row.from_client, row.syn_retransmissions),
            false => (&row.from_server, row.synack_retransmissions),
        };
        if row.outcome.is_none() || side.segments == 0 {
            return;
        }
        let delay = side.retransmission_delay_sum;
        if delay > LONGEST {
            self.too_long += 1.0;
            return;
        }
        self.all
            .add(side.segments, side.retransmissions, again, delay);
        // Without the other direction, data shows that the handshake was completed.
        let went_on = row.outcome == Some(Outcome::OneSided) || !row.syn_seen;
        if went_on && side.bytes > 0 {
            self.established
                .add(side.segments, side.retransmissions, again, delay);
        }
    }
}

const ONE_WAY: [Observer; 2] = [
    Observer {
        place: Place::Middle,
        only: Some(Direction::Down),
    },
    Observer {
        place: Place::Middle,
        only: Some(Direction::Up),
    },
];

/// Captures of the two directions of one trace. SYNs and SYN/ACKs are lost `factor` times as often as other packets.
fn one_way(setup: &Setup, trace: usize, factor: f64, seed: u64) -> [Capture; 2] {
    let loss = LOSSES[trace].map(|loss| Loss::new(loss * factor, loss));
    let plan = Plan {
        scenario: &setup.scenario,
        faults: Faults {
            loss,
            unanswered: [UNANSWERED; 2],
            ..Faults::default()
        },
        observers: &ONE_WAY,
        until: Some(LENGTH),
        seed: seed * LOSSES.len() as u64 + trace as u64,
    };
    let generated = generate(&plan);
    let options = Options {
        rate: Some(setup.scenario.link(Direction::Down).rate),
        ..Options::default()
    };
    let mut captures = [Capture::default(); 2];
    for (way, bytes) in generated.captures.into_iter().enumerate() {
        let capture = &mut captures[way];
        capture.truth = generated.truth.packets[way];
        let analysis = analyze(bytes, &options, &mut |row| capture.add(row));
        // Connections of either end of the link are in the capture: the analysis has two directions.
        let parts = analysis.directions.iter();
        capture.utilization = parts.filter_map(|part| part.utilization).sum();
    }
    captures
}

/// All captures of one direction: by trace, then seed, then direction.
fn all_one_way(lab: &Lab<'_>) -> Result<Vec<Capture>, Failure> {
    captures_of(lab, &set_up(lab), 0..LOSSES.len(), 1.0)
}

/// Captures of one direction of some traces: by trace, then seed, then direction.
fn captures_of(
    lab: &Lab<'_>,
    setup: &Setup,
    traces: Range<usize>,
    factor: f64,
) -> Result<Vec<Capture>, Failure> {
    let seeds = lab.seeds(10, 1);
    let inputs: Vec<(usize, u64)> = traces
        .flat_map(|trace| seeds.iter().map(move |seed| (trace, *seed)))
        .collect();
    let captures = lab.map(&(setup, factor), inputs, |&(trace, seed)| {
        Ok(one_way(setup, trace, factor, seed))
    })?;
    Ok(captures.into_iter().flat_map(|pair| *pair).collect())
}

fn over(captures: &[Capture], of: impl Fn(&Capture) -> f64) -> Estimate {
    Estimate::over(captures.iter().map(|capture| Some(of(capture))))
}

/// Names of the bars of charts: capture and direction.
fn names() -> Vec<String> {
    let names = (1..=LOSSES.len()).flat_map(|trace| [format!("{trace} A"), format!("{trace} B")]);
    names.collect()
}

/// A number of each capture and direction.
fn by_capture(captures: &[Capture], of: &dyn Fn(&Capture) -> f64) -> Vec<Estimate> {
    let seeds = captures.len() / LOSSES.len() / 2;
    let bars = (0..LOSSES.len() * 2).map(|bar| {
        let (trace, way) = (bar / 2, bar % 2);
        let own = (0..seeds).map(|seed| &captures[(trace * seeds + seed) * 2 + way]);
        Estimate::over(own.map(|capture| Some(of(capture))))
    });
    bars.collect()
}

/// Charts in the form of Figs. 1 and 2: the quantities by capture and direction.
fn charts(captures: &[Capture], of: fn(&Capture) -> &Quantities) -> [Chart; 3] {
    let by_capture = |quantity: &dyn Fn(&Quantities) -> f64| {
        by_capture(captures, &|capture| quantity(of(capture)))
    };
    let percent = |quantity: &dyn Fn(&Quantities) -> f64| {
        let bars = by_capture(quantity).into_iter();
        bars.map(|bar| bar.scaled(100.0)).collect::<Vec<_>>()
    };
    [
        Chart::bars(
            "probability",
            "Retransmission probability",
            names(),
            Axis::linear("probability", "%"),
        )
        .series("all packets", percent(&Quantities::packet_probability))
        .series("SYN, SYN/ACK", percent(&Quantities::syn_probability))
        .into(),
        Chart::bars(
            "share",
            "SYNs and SYN/ACKs among retransmissions",
            names(),
            Axis::linear("share", "%"),
        )
        .series("", percent(&Quantities::syn_share))
        .into(),
        Chart::bars(
            "delay",
            "Mean retransmission delay per connection",
            names(),
            Axis::log("delay", "s"),
        )
        .series("all", by_capture(&|it| it.all().mean()))
        .series("with SYN loss", by_capture(&|it| it.with_syn_loss.mean()))
        .series("without", by_capture(&|it| it.without.mean()))
        .into(),
    ]
}

/// Link utilization by capture and direction.
fn utilization(captures: &[Capture]) -> Chart {
    let used = by_capture(captures, &|it| 100.0 * it.utilization);
    let axis = Axis::linear("utilization", "%");
    Chart::bars("utilization", "Link utilization", names(), axis)
        .series("", used)
        .into()
}

/// Share of captures whose 95 % interval covers the truth.
fn covered(captures: &[Capture], covers: impl Fn(&Capture) -> bool) -> Cell {
    let covers = |capture: &&Capture| covers(capture);
    let number = captures.iter().filter(covers).count();
    Cell::number(100.0 * number as f64 / captures.len() as f64, 0)
}

/// Estimates beside the truth, by capture.
fn truth(captures: &[Capture]) -> Table {
    let seeds = captures.len() / LOSSES.len() / 2;
    let columns = [
        "capture",
        "packets lost (%)",
        "packets sent again, truth (%)",
        "estimate (%)",
        "intervals that cover it (%)",
        "SYNs and SYN/ACKs sent again, truth (%)",
        "estimate (%)",
        "intervals that cover it (%)",
        "left out, more than 45 s",
    ];
    let mut table = Table::new("Captures of one direction: truth and estimates", columns);
    for (trace, losses) in LOSSES.iter().enumerate() {
        for (way, loss) in losses.iter().enumerate() {
            let own: Vec<Capture> = (0..seeds)
                .map(|seed| captures[(trace * seeds + seed) * 2 + way])
                .collect();
            let percent =
                |of: &dyn Fn(&Capture) -> f64| Cell::estimate(over(&own, of).scaled(100.0), 2);
            table = table.row([
                Cell::Text(format!("{} {}", trace + 1, ["A", "B"][way])),
                Cell::number(100.0 * loss, 1),
                percent(&|it| it.truth.again as f64 / it.truth.sent as f64),
                percent(&|it| it.all.packet_probability()),
                covered(&own, |it| {
                    let (low, high) = wilson(it.all.again as u64, it.all.segments as u64);
                    (low..=high).contains(&(it.truth.again as f64 / it.truth.sent as f64))
                }),
                percent(&|it| it.truth.syns_again as f64 / it.truth.syns as f64),
                percent(&|it| it.all.syn_probability()),
                covered(&own, |it| {
                    let (low, high) = wilson(it.all.syns_again as u64, it.all.syns as u64);
                    (low..=high).contains(&(it.truth.syns_again as f64 / it.truth.syns as f64))
                }),
                Cell::estimate(over(&own, |it| it.too_long), 1),
            ]);
        }
    }
    table
}

/// Fig. 1: all connections.
pub(super) fn fig1(lab: &Lab<'_>) -> Result<Measured, Failure> {
    let captures = all_one_way(lab)?;
    let share = |part: u64, whole: u64| part as f64 / whole as f64;
    let measured = Measured::new()
        .charts(charts(&captures, |it| &it.all))
        .chart(utilization(&captures))
        .table(truth(&captures))
        .claim(
            "link-utilization",
            over(&captures, |it| it.utilization).scaled(100.0),
        )
        .claim(
            "packet-probability",
            over(&captures, |it| it.all.packet_probability()).scaled(100.0),
        )
        .claim(
            "syn-probability",
            over(&captures, |it| it.all.syn_probability()).scaled(100.0),
        )
        .claim(
            "delay-with-syn-loss",
            over(&captures, |it| {
                it.all.with_syn_loss.mean() / it.all.without.mean()
            }),
        )
        .claim(
            "delay-with-syn-loss-of-retransmitting",
            over(&captures, |it| {
                let without = it.all.without.mean_of_retransmitting();
                it.all.with_syn_loss.mean_of_retransmitting() / without
            }),
        )
        .claim(
            "packet-bias",
            over(&captures, |it| {
                it.all.packet_probability() / share(it.truth.again, it.truth.sent)
            }),
        )
        .claim(
            "syn-bias",
            over(&captures, |it| {
                it.all.syn_probability() / share(it.truth.syns_again, it.truth.syns)
            }),
        );
    Ok(measured)
}

/// Fig. 2: established connections with data.
pub(super) fn fig2(lab: &Lab<'_>) -> Result<Measured, Failure> {
    let captures = all_one_way(lab)?;
    // The other cases in the middle one of the traces.
    let middle = LOSSES.len() / 2..LOSSES.len() / 2 + 1;
    let base = set_up(lab);
    let other = |factor, rto: Option<&str>| {
        let mut setup = base.clone();
        if let Some(rto) = rto {
            for workload in &mut setup.scenario.workloads {
                workload.tcp = TcpChanges::default();
            }
            setup.set_knob("initial_rto", rto);
        }
        captures_of(lab, &setup, middle.clone(), factor)
    };
    let others = [
        other(1.0, None)?,
        other(1.25, None)?,
        other(2.0, None)?,
        other(1.0, Some("1s"))?,
        other(1.0, Some("3s"))?,
    ];
    let lost = |it: &Capture| it.truth.lost as f64 / it.truth.sequenced as f64;
    let syns_lost = |it: &Capture| it.truth.syns_lost as f64 / it.truth.syns as f64;
    type Quantity<'a> = (&'a str, &'a str, &'a dyn Fn(&Capture) -> f64);
    let quantities: [Quantity<'_>; 5] = [
        (
            "syn-over-packet",
            "SYN, SYN/ACK retransmission probability / packet retransmission probability",
            &|it| it.established.syn_probability() / it.established.packet_probability(),
        ),
        (
            "delay-ratio",
            "mean delay with SYN loss / without, over all connections",
            &|it| it.established.with_syn_loss.mean() / it.established.without.mean(),
        ),
        (
            "delay-ratio-of-retransmitting",
            "mean delay with SYN loss / without, over connections with a retransmission",
            &|it| {
                let without = it.established.without.mean_of_retransmitting();
                it.established.with_syn_loss.mean_of_retransmitting() / without
            },
        ),
        (
            "syn-over-true-loss",
            "SYN, SYN/ACK retransmission probability / SYNs and SYN/ACKs lost",
            &|it| it.established.syn_probability() / syns_lost(it),
        ),
        (
            "packet-over-true-loss",
            "packet retransmission probability / packets with data, SYN or FIN lost",
            &|it| it.established.packet_probability() / lost(it),
        ),
    ];
    let columns = [
        "established connections with data",
        "all captures",
        "capture 3",
        "capture 3, SYNs lost 1.25 times as often",
        "capture 3, SYNs lost twice as often",
        "capture 3, all hosts 1 s",
        "capture 3, all hosts 3 s",
    ];
    let title = "Ratios, by the loss of SYNs relative to other packets, and by initial RTO";
    let mut table = Table::new(title, columns);
    let mut measured = Measured::new().charts(charts(&captures, |it| &it.established));
    for (name, words, of) in quantities {
        let ours = over(&captures, of);
        let others = others
            .iter()
            .map(|other| Cell::estimate(over(other, of), 2));
        table = table.row(
            [Cell::text(words), Cell::estimate(ours, 2)]
                .into_iter()
                .chain(others),
        );
        measured = measured.claim(name, ours);
    }
    Ok(measured.table(table))
}

/// A row of the published table: direction A and B, before the flood filter and after it.
struct Row4 {
    name: &'static str,
    before: [f64; 2],
    after: [f64; 2],
    decimals: u8,
}

const MAWI: [Row4; 6] = [
    Row4 {
        name: "packet retransmission probability (%)",
        before: [1.65, 2.73],
        after: [1.63, 2.72],
        decimals: 2,
    },
    Row4 {
        name: "SYN, SYN/ACK among retransmissions (%)",
        before: [29.8, 79.5],
        after: [28.8, 78.9],
        decimals: 1,
    },
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
    Row4 {
        name: "with SYN loss (ms)",
        before: [6324.93, 2390.63],
        after: [6469.4, 2390.63],
        decimals: 1,
    },
    Row4 {
        name: "without (ms)",
        before: [4707.11, 1011.93],
        after: [4710.5, 1011.93],
        decimals: 1,
    },
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

/// Quantities without the connections of `flooders` and those that wait longer than `limit`.
fn within(
    connections: &[Connection],
    flooders: &HashSet<Address>,
    limit: Nanos,
    client_way: impl Fn(&Connection) -> usize,
) -> [f64; 5] {
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
        let own = client_way(connection);
        for (way, (segments, again, syns_again, delay)) in connection.sides.into_iter().enumerate()
        {
            if way == own || connection.answered {
                sums[way].add(segments, again, syns_again, delay);
            }
        }
    }
    let [a, b] = sums;
    [
        removed,
        a.packet_probability(),
        b.packet_probability(),
        a.syn_probability(),
        b.syn_probability(),
    ]
}

/// True for the addresses of clients in generated captures.
fn is_local(address: Address) -> bool {
    matches!(IpAddr::from(address), IpAddr::V4(address) if address.octets()[0] == 10)
}

fn of_filter(filter: &Filter) -> [[f64; 6]; 2] {
    // "in": towards the local hosts, which is down.
    ["in", "out"].map(|name| {
        let found = filter
            .directions
            .iter()
            .find(|direction| direction.name == name);
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
        scenario: &setup.scenario,
        faults: Faults {
            loss: MAWI_LOSS.map(|loss| Loss::new(loss, loss)),
            unanswered: MAWI_UNANSWERED,
            floods: (FLOODERS, FLOOD_SYNS),
            ..Faults::default()
        },
        observers: &[Observer::at(Place::Middle)],
        until: None,
        seed,
    };
    let mut generated = generate(&plan);
    let options = Options {
        local: vec![LEFT.parse().expect("a prefix")],
        ..Options::default()
    };
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
        let sides = [
            (&row.from_client, row.syn_retransmissions),
            (&row.from_server, row.synack_retransmissions),
        ];
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
            (
                &row.from_server,
                row.synack_retransmissions,
                !client_is_local,
            ),
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
    let floods = |(without, with): (u64, u64), (least, times): (u64, u64)| {
        without >= least && without >= times * with
    };
    let flooders: HashSet<Address> = (addresses.iter())
        .filter(|(_, connections)| floods(**connections, (1_000, 1_000)))
        .map(|(address, _)| *address)
        .collect();
    let by_limit = LIMITS.map(|limit| {
        let limit = Nanos::from_secs(limit);
        within(&connections, &flooders, limit, |it| {
            usize::from(is_local(it.ends[0]))
        })
    });
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
        flooders: filter("syn-flood")
            .and_then(|filter| filter.removed_addresses)
            .unwrap_or_default() as f64,
        truth: generated.truth.packets,
        by_limit,
        by_threshold: THRESHOLDS.map(number),
    }
}

/// The table of the MAWI captures.
pub(super) fn mawi(lab: &Lab<'_>) -> Result<Measured, Failure> {
    let setup = lab.varied(Setup::from_toml(
        "papers/spa-2018/mawi.toml",
        include_str!("../../data/spa-2018/mawi.toml"),
    ));
    let found = lab.map(&setup, lab.seeds(12, 2), |&seed| {
        Ok(both_ways(&setup, seed))
    })?;
    let over = |of: &dyn Fn(&Filtered) -> f64| Estimate::over(found.iter().map(|it| Some(of(it))));
    let ratio = |way: usize, row: usize, other: usize| {
        over(&|it| it.before[way][row] / it.before[way][other])
    };
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
            (
                "with-over-without",
                over(&|it| it.with_syn_loss[way].mean() / it.without[way].mean()),
            ),
            (
                "with-over-all",
                over(&|it| {
                    let all = it.with_syn_loss[way].plus(it.without[way]);
                    it.with_syn_loss[way].mean() / all.mean()
                }),
            ),
            ("flood-filter", filtered(way, 2)),
            (
                "established-syn-over-packet",
                over(&|it| it.established[way][2] / it.established[way][0]),
            ),
            (
                "established-delay-ratio",
                over(&|it| it.established[way][4] / it.established[way][5]),
            ),
            ("after-packet", filtered(way, 0)),
            ("after-syn-share", filtered(way, 1)),
            ("after-delay", filtered(way, 3)),
            ("after-delay-with", filtered(way, 4)),
            ("after-delay-without", filtered(way, 5)),
            (
                "implied-share",
                Estimate::exact(100.0 * implied_share(three(3..6, way))),
            ),
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
    table = table.row(
        std::iter::once(Cell::text(
            "connections with SYN loss, as the means imply (%)",
        ))
        .chain(cells),
    );
    let cells = (0..4).map(|at| Cell::number(100.0 * implied_syns(column([0, 1, 2], at)), 2));
    table.row(
        std::iter::once(Cell::text(
            "SYN, SYN/ACK among packets, as the probabilities imply (%)",
        ))
        .chain(cells),
    )
}

type Over<'a> = dyn Fn(&dyn Fn(&Filtered) -> f64) -> Estimate + 'a;

/// The table of the MAWI captures, measured in generated captures.
fn generated_mawi(over: &Over<'_>) -> Table {
    let columns = [
        "",
        "A, before",
        "B, before",
        "A, after",
        "B, after",
        "A, established",
        "B, established",
    ];
    let mut table = Table::new("Generated captures, by filter", columns);
    for (row, published) in MAWI.iter().enumerate() {
        let factor = if row < 3 { 100.0 } else { 1000.0 };
        let cell = |of: &dyn Fn(&Filtered) -> f64| {
            Cell::estimate(over(of).scaled(factor), published.decimals)
        };
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
        ("… all (ms)", |it, way| {
            it.with_syn_loss[way].plus(it.without[way])
        }),
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
    let truth = |of: &dyn Fn(&Packets) -> f64, way: usize| {
        Cell::estimate(over(&|it| 100.0 * of(&it.truth[way])), 2)
    };
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
    let table = Table::new(
        "Retransmission probabilities after the flood filter, by limit",
        columns,
    );
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
        std::iter::once(Cell::Text(name))
            .chain(cells)
            .collect::<Vec<_>>()
    });
    rows.fold(table, Table::row)
}

/// Flooding addresses by threshold.
fn thresholds(found: &[Arc<Filtered>]) -> Table {
    let columns = [
        "connections without data",
        "times those with data",
        "addresses that flood",
    ];
    let title =
        format!("Addresses that flood, by threshold, of {FLOODERS} with {FLOOD_SYNS} SYNs each");
    let rows = THRESHOLDS
        .iter()
        .enumerate()
        .map(|(number, (least, times))| {
            let counts = found.iter().map(|it| Some(it.by_threshold[number]));
            [
                Cell::number(*least as f64, 0),
                Cell::number(*times as f64, 0),
                Cell::estimate(Estimate::over(counts), 0),
            ]
        });
    rows.fold(Table::new(&title, columns), Table::row)
}
