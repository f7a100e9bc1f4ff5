//! Section III, the trace analysis: Figs. 1 and 2.
//!
//! The captures are not at hand, and what was lost in them is not known. The quantities are measured in generated
//! captures with the published rates of loss instead, of which the truth is known. CAIDA's captures have one direction
//! each.

use crate::captures::analyze;
use crate::chart::{Axis, Chart};
use crate::estimate::Estimate;
use crate::lab::{Failure, Lab};
use crate::measured::Measured;
use crate::proportion::wilson;
use crate::setup::Setup;
use crate::table::{Cell, Table};
use gentle_captures::scenario::{Faults, Observer, Packets, Plan, generate};
use gentle_captures::{Loss, Place};
use gentle_experiment::{Direction, TcpChanges};
use gentle_trace::Options;
use gentle_trace::row::{Outcome, Row};
use gentle_units::{Instant, Nanos};
use std::ops::Range;

/// Length of the captures: CAIDA's come in pieces of a minute.
const LENGTH: Instant = Instant::from_secs(60);

/// Loss of packets in the five captures, by direction.
const LOSSES: [[f64; 2]; 5] = [[0.020, 0.030], [0.025, 0.035], [0.030, 0.040], [0.035, 0.045], [0.040, 0.050]];

/// Attempts that nobody answers.
const UNANSWERED: f64 = 0.06;

/// The 45 s filter.
pub(super) const LONGEST: Nanos = Nanos::from_secs(45);

/// The traffic, under the assumption that is being varied.
fn set_up(lab: &Lab<'_>) -> Setup {
    lab.varied(Setup::from_toml("papers/spa-2018/backbone.toml", include_str!("../../data/spa-2018/backbone.toml")))
}

/// Sums over connections and their number.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Delays {
    pub(super) connections: f64,
    /// With a retransmission.
    with_any: f64,
    seconds: f64,
}

impl Delays {
    pub(super) fn add(&mut self, delay: Nanos, any: bool) {
        self.connections += 1.0;
        self.with_any += f64::from(u8::from(any));
        self.seconds += delay.as_secs_f64();
    }

    pub(super) fn plus(self, other: Delays) -> Delays {
        Delays {
            connections: self.connections + other.connections,
            with_any: self.with_any + other.with_any,
            seconds: self.seconds + other.seconds,
        }
    }

    /// Mean over all connections.
    pub(super) fn mean(&self) -> f64 {
        self.seconds / self.connections
    }

    /// Mean over the connections with a retransmission.
    fn mean_of_retransmitting(&self) -> f64 {
        self.seconds / self.with_any
    }
}

/// Quantities of section III in one direction.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Quantities {
    connections: f64,
    segments: f64,
    pub(super) again: f64,
    syns: f64,
    pub(super) syns_again: f64,
    /// Connections without data segments of this direction lost or sent again.
    with_syn_loss: Delays,
    without: Delays,
}

impl Quantities {
    pub(super) fn packet_probability(&self) -> f64 {
        self.again / self.segments
    }

    fn syn_share(&self) -> f64 {
        self.syns_again / self.again
    }

    pub(super) fn syn_probability(&self) -> f64 {
        self.syns_again / self.syns
    }

    fn all(&self) -> Delays {
        self.with_syn_loss.plus(self.without)
    }

    /// Adds one side of a connection.
    pub(super) fn add(&mut self, segments: u64, again: u64, syns_again: u32, delay: Nanos) {
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
        self.all.add(side.segments, side.retransmissions, again, delay);
        // Without the other direction, data shows that the handshake was completed.
        let went_on = row.outcome == Some(Outcome::OneSided) || !row.syn_seen;
        if went_on && side.bytes > 0 {
            self.established.add(side.segments, side.retransmissions, again, delay);
        }
    }
}

const ONE_WAY: [Observer; 2] = [
    Observer { place: Place::Middle, only: Some(Direction::Down) },
    Observer { place: Place::Middle, only: Some(Direction::Up) },
];

/// Captures of the two directions of one trace. SYNs and SYN/ACKs are lost `factor` times as often as other packets.
fn one_way(setup: &Setup, trace: usize, factor: f64, seed: u64) -> [Capture; 2] {
    let loss = LOSSES[trace].map(|loss| Loss::new(loss * factor, loss));
    let plan = Plan {
        faults: Faults { loss, unanswered: [UNANSWERED; 2], ..Faults::default() },
        observers: &ONE_WAY,
        until: Some(LENGTH),
        ..Plan::new(&setup.scenario, seed * LOSSES.len() as u64 + trace as u64)
    };
    let generated = generate(&plan, None);
    let options = Options { rate: Some(setup.scenario.link(Direction::Down).rate), ..Options::default() };
    let mut captures = [Capture::default(); 2];
    for (way, bytes) in generated.captures.into_iter().enumerate() {
        let capture = &mut captures[way];
        capture.truth = generated.packets[way];
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
fn captures_of(lab: &Lab<'_>, setup: &Setup, traces: Range<usize>, factor: f64) -> Result<Vec<Capture>, Failure> {
    let seeds = lab.seeds(10, 1);
    let inputs: Vec<(usize, u64)> = traces.flat_map(|trace| seeds.iter().map(move |seed| (trace, *seed))).collect();
    let captures = lab.map(&(setup, factor), inputs, |&(trace, seed)| Ok(one_way(setup, trace, factor, seed)))?;
    Ok(captures.into_iter().flat_map(|pair| *pair).collect())
}

fn over<T>(captures: &[T], of: impl Fn(&T) -> f64) -> Estimate {
    Estimate::over(captures.iter().map(|capture| Some(of(capture))))
}

/// Both directions of each capture.
fn pairs(captures: &[Capture]) -> &[[Capture; 2]] {
    captures.as_chunks().0
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
    let by_capture = |quantity: &dyn Fn(&Quantities) -> f64| by_capture(captures, &|capture| quantity(of(capture)));
    let percent = |quantity: &dyn Fn(&Quantities) -> f64| {
        let bars = by_capture(quantity).into_iter();
        bars.map(|bar| bar.scaled(100.0)).collect::<Vec<_>>()
    };
    [
        Chart::bars("probability", "Retransmission probability", names(), Axis::linear("probability", "%"))
            .series("all packets", percent(&Quantities::packet_probability))
            .series("SYN, SYN/ACK", percent(&Quantities::syn_probability))
            .into(),
        Chart::bars("share", "SYNs and SYN/ACKs among retransmissions", names(), Axis::linear("share", "%"))
            .series("", percent(&Quantities::syn_share))
            .into(),
        Chart::bars("delay", "Mean retransmission delay per connection", names(), Axis::log("delay", "s"))
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
    Chart::bars("utilization", "Link utilization", names(), axis).series("", used).into()
}

/// Share of captures whose 95 % interval covers the truth.
fn covered(captures: &[Capture], covers: impl Fn(&Capture) -> bool) -> Cell {
    let covers = |capture: &&Capture| covers(capture);
    let number = captures.iter().filter(covers).count();
    Cell::number(100.0 * number as f64 / captures.len() as f64, 0)
}

/// Estimates and the truth, by capture.
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
            let own: Vec<Capture> = (0..seeds).map(|seed| captures[(trace * seeds + seed) * 2 + way]).collect();
            let percent = |of: &dyn Fn(&Capture) -> f64| Cell::estimate(over(&own, of).scaled(100.0), 2);
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
        .claim("link-utilization", over(&captures, |it| it.utilization).scaled(100.0))
        .claim("packet-probability", over(&captures, |it| it.all.packet_probability()).scaled(100.0))
        .claim("syn-probability", over(&captures, |it| it.all.syn_probability()).scaled(100.0))
        .claim("delay-with-syn-loss", over(&captures, |it| it.all.with_syn_loss.mean() / it.all.without.mean()))
        .claim(
            "delay-with-syn-loss-of-retransmitting",
            over(&captures, |it| {
                let without = it.all.without.mean_of_retransmitting();
                it.all.with_syn_loss.mean_of_retransmitting() / without
            }),
        )
        .claim("syn-share", over(&captures, |it| it.all.syn_share()).scaled(100.0))
        .claim("syn-over-packet", over(&captures, |it| it.all.syn_probability() / it.all.packet_probability()))
        .claim("connections", over(&captures, |it| it.all.with_syn_loss.connections / it.all.connections).scaled(100.0))
        .claim(
            "interval",
            over(&captures, |it| {
                let (low, high) = wilson(it.all.syns_again as u64, it.all.syns as u64);
                (high - low) / 2.0 / it.all.syn_probability()
            })
            .scaled(100.0),
        )
        .claim("fewer-losses", over(pairs(&captures), |[a, b]| a.all.packet_probability() / b.all.packet_probability()))
        .claim("packet-bias", over(&captures, |it| it.all.packet_probability() / share(it.truth.again, it.truth.sent)))
        .claim("syn-bias", over(&captures, |it| it.all.syn_probability() / share(it.truth.syns_again, it.truth.syns)));
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
    let others =
        [other(1.0, None)?, other(1.25, None)?, other(2.0, None)?, other(1.0, Some("1s"))?, other(1.0, Some("3s"))?];
    let lost = |it: &Capture| it.truth.lost as f64 / it.truth.sequenced as f64;
    let syns_lost = |it: &Capture| it.truth.syns_lost as f64 / it.truth.syns as f64;
    type Quantity<'a> = (&'a str, &'a str, &'a dyn Fn(&Capture) -> f64);
    let quantities: [Quantity<'_>; 5] = [
        ("syn-over-packet", "SYN, SYN/ACK retransmission probability / packet retransmission probability", &|it| {
            it.established.syn_probability() / it.established.packet_probability()
        }),
        ("delay-ratio", "mean delay with SYN loss / without, over all connections", &|it| {
            it.established.with_syn_loss.mean() / it.established.without.mean()
        }),
        (
            "delay-ratio-of-retransmitting",
            "mean delay with SYN loss / without, over connections with a retransmission",
            &|it| {
                let without = it.established.without.mean_of_retransmitting();
                it.established.with_syn_loss.mean_of_retransmitting() / without
            },
        ),
        ("syn-over-true-loss", "SYN, SYN/ACK retransmission probability / SYNs and SYN/ACKs lost", &|it| {
            it.established.syn_probability() / syns_lost(it)
        }),
        ("packet-over-true-loss", "packet retransmission probability / packets with data, SYN or FIN lost", &|it| {
            it.established.packet_probability() / lost(it)
        }),
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
        let others = others.iter().map(|other| Cell::estimate(over(other, of), 2));
        table = table.row([Cell::text(words), Cell::estimate(ours, 2)].into_iter().chain(others));
        measured = measured.claim(name, ours);
    }
    Ok(measured.table(table))
}
