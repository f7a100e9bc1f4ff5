//! Tables 2 to 4 and the table of section 4.2: packets and the time until the request leaves, without and with the tool
//! that sends SYNs and SYN/ACKs again.

use super::derived::derived;
use crate::captures::generate_with;
use crate::chart::{Axis, Chart};
use crate::estimate::Estimate;
use crate::lab::{Failure, Lab};
use crate::measured::Measured;
use crate::setup::Setup;
use crate::table::{Cell, Table};
use gentle_captures::scenario::{Listed, Plan, Single, Trace};
use gentle_captures::{CLIENT, Kind, Place, SERVER, Side};
use gentle_rexmit::{Config, Selection, Timing};
use gentle_units::Nanos;

/// Delay of `syn_optimizer -d 200 -r 3`: 200 ms, and what the published tool is late at each copy. Its copies of a SYN/ACK left
/// at 0.316, 0.560 and 0.801 s (section 4.2), 244 and 241 ms after each other.
const DELAY: Nanos = Nanos::from_millis(243);
const COPIES: u32 = 3;

/// A connection of the paper's tests: Table 2 acknowledges 552 of the request and has the server's FIN at 18x.
pub(super) const SINGLE: Single = Single { request: 551, answer: 184, lost_first: [0; 2] };

/// A test of the paper.
struct Case {
    /// Name in claims.
    id: &'static str,
    /// Lost packets.
    lost: &'static str,
    /// Number of first SYNs and SYN/ACKs that are lost.
    script: [u32; 2],
    /// Published times without and with the tool, seconds.
    published: [f64; 2],
    /// Times without the tool, and with it (`gentle rexmit wire`), on Linux 7.2 with an initial RTO of 3 s, seconds:
    /// `docs/concepts/rexmit.md`.
    kernel: [f64; 2],
}

const CLIENT_SIDE: [Case; 4] = [
    Case { id: "syn", lost: "1 SYN", script: [1, 0], published: [3.00, 0.26], kernel: [3.08, 0.26] },
    Case { id: "synack", lost: "1 SYN/ACK", script: [0, 1], published: [3.00, 0.30], kernel: [3.09, 0.26] },
    Case { id: "both", lost: "1 SYN, 1 SYN/ACK", script: [1, 1], published: [6.50, 0.45], kernel: [6.10, 0.46] },
    Case { id: "3-syns", lost: "3 SYN", script: [3, 0], published: [21.02, 0.73], kernel: [9.10, 0.66] },
];

const SERVER_SIDE: [Case; 4] = [
    Case { id: "syn", lost: "1 SYN", script: [1, 0], published: [2.99, 3.00], kernel: [3.08, 3.09] },
    Case { id: "synack", lost: "1 SYN/ACK", script: [0, 1], published: [3.00, 0.33], kernel: [3.09, 0.26] },
    Case { id: "both", lost: "1 SYN, 1 SYN/ACK", script: [1, 1], published: [6.27, 3.28], kernel: [6.10, 3.30] },
    Case { id: "3-synacks", lost: "3 SYN/ACK", script: [0, 3], published: [9.00, 0.80], kernel: [9.10, 0.66] },
];

/// Time after which an impatient user clicks on "refresh", seconds; the paper gives none.
const REFRESH: f64 = 1.0;

fn set_up(lab: &Lab<'_>) -> Setup {
    lab.varied(Setup::from_toml(
        "papers/handshake-2009/optimizer.toml",
        include_str!("../../data/handshake-2009/optimizer.toml"),
    ))
}

/// The set-up with hosts of today.
fn today(mut setup: Setup) -> Setup {
    setup.set_profile("linux-7.2");
    setup
}

/// A connection whose first SYNs and SYN/ACKs are lost, these many, with the tool on the host `tool`, if on any.
fn run(setup: &Setup, lost_first: [u32; 2], tool: Option<Side>) -> Trace {
    let plan = Plan { single: Some(Single { lost_first, ..SINGLE }), ..Plan::new(&setup.scenario, 1) };
    let tool = tool.map(|at| {
        let selection = Selection { client: at == CLIENT, server: at == SERVER, ..Selection::default() };
        let config = Config {
            timing: Timing::fixed(DELAY),
            copies: COPIES,
            stack_rto: setup.scenario.profile.initial_rto,
            ..Config::new(selection)
        };
        (at, config)
    });
    generate_with(&plan, &tool)
}

/// Time until the request leaves, seconds.
fn time(setup: &Setup, case: &Case, tool: Option<Side>) -> Estimate {
    let trace = run(setup, case.script, tool);
    let times = trace.attempts.iter().map(|it| it.until_request);
    Estimate::over(times.map(|time| time.map(Nanos::as_secs_f64)))
}

const COLUMNS: [&str; 5] = [
    "lost",
    "published (s)",
    "simulated (s)",
    "Linux 7.2 with gentle's tool and a path of 60 ms, measured (s)",
    "simulated with hosts of today, initial RTO of 1 s (s)",
];

/// A table of `cases`; `with` is 0 for the times without the tool, 1 for those with it on the host `tool`.
fn table(title: &str, setup: &Setup, cases: &[Case], tool: Option<Side>) -> (Table, Measured) {
    let with = usize::from(tool.is_some());
    let today = today(setup.clone());
    let mut table = Table::new(title, COLUMNS);
    let mut measured = Measured::new();
    for case in cases {
        let ours = time(setup, case, tool);
        table = table.row([
            Cell::text(case.lost),
            Cell::number(case.published[with], 2),
            Cell::estimate(ours, 2),
            Cell::number(case.kernel[with], 2),
            Cell::estimate(time(&today, case, tool), 2),
        ]);
        measured = measured.claim(format!("{}-{}", case.id, ["without", "with"][with]), ours);
    }
    (table, measured)
}

/// Published and `measured` times with the tool.
fn chart(cases: &[Case], measured: &Measured) -> Chart {
    let title = "Time until the request is sent";
    let axis = Axis::linear("time", "s");
    let lost = cases.iter().map(|case| case.lost);
    let published = cases.iter().map(|case| Estimate::exact(case.published[1]));
    let simulated = measured.claims.iter().map(|(_, time)| *time);
    Chart::bars("time", title, lost, axis).published("published", published).series("simulated", simulated).into()
}

/// Times of the tests of one side, without and with the tool, and what follows from them.
fn summary(part: &str, setup: &Setup, cases: &[Case], side: Side, name: &str) -> Measured {
    let (without, measured) = table("Without the tool", setup, cases, None);
    let (with, more) = table(name, setup, cases, Some(side));
    let chart = chart(cases, &more);
    let measured = measured.claims(more.claims);
    let known = |name: &str| {
        let found = measured.claims.iter().find(|(known, _)| known == name);
        found.map(|(_, ours)| *ours)
    };
    let more = derived(part, &known);
    measured.claims(more).chart(chart).table(without).table(with)
}

/// Table 4: tests of the client.
pub(super) fn table4(lab: &Lab<'_>) -> Result<Measured, Failure> {
    let setup = set_up(lab);
    let measured = summary("table4", &setup, &CLIENT_SIDE, CLIENT, "With the tool on the client");
    let window = |iw| {
        let mut setup = setup.clone();
        setup.set_knob("iw", iw);
        time(&setup, &CLIENT_SIDE[0], None).value.unwrap_or(f64::NAN)
    };
    let [without, with] = [None, Some(CLIENT)].map(|tool| run(&setup, [0, 0], tool));
    let copies = with.attempts.iter().map(|it| Some(f64::from(it.copies)));
    let until = |trace: &Trace| {
        let first = trace.attempts.first().and_then(|it| it.until_request);
        first.map_or(f64::NAN, Nanos::as_secs_f64)
    };
    let lost = time(&setup, &CLIENT_SIDE[0], None).value;
    let refreshed = REFRESH + until(&without);
    Ok(measured
        .claim("window", Estimate::exact(window("4") / window("1")))
        .claim("nothing-difference", Estimate::exact(until(&with) - until(&without)))
        .claim("nothing-copies", Estimate::over(copies))
        .claim("refresh", Estimate::exact(lost.unwrap_or(f64::NAN).min(refreshed))))
}

/// The table of section 4.2 and the test that its text discusses.
pub(super) fn server(lab: &Lab<'_>) -> Result<Measured, Failure> {
    let setup = set_up(lab);
    let measured = summary("server", &setup, &SERVER_SIDE, SERVER, "With the tool on the server");
    let case = &SERVER_SIDE[3];
    let without = Listing(run(&setup, case.script, None).listed);
    let with = run(&setup, case.script, Some(SERVER));
    let copies = with.attempts.iter().map(|it| Some(f64::from(it.copies)));
    let with = Listing(with.listed);
    let syn = |number| without.time(Place::Client, Kind::Syn, number);
    let synack = |number| with.time(Place::Server, Kind::SynAck, number);
    // SYN/ACKs that the server's timer sent: no SYN has just arrived.
    let own = without.alone(Place::Server, Kind::SynAck, Kind::Syn);
    Ok(measured
        .table(without.table("3 SYN/ACKs lost, without the tool"))
        .table(with.table("3 SYN/ACKs lost, with the tool on the server"))
        .claim("list-second-syn", syn(1))
        .claim("list-server-timer", own)
        .claim("list-third-syn", syn(2))
        .claim("list-first-synack", synack(0))
        .claim("list-copy-1", synack(1))
        .claim("list-copy-2", synack(2))
        .claim("list-copy-3", synack(3))
        .claim("list-copies", Estimate::over(copies)))
}

/// Packets of a connection on both links, in the order of time.
struct Listing(Vec<Listed>);

impl Listing {
    fn at(&self, place: Place) -> impl Iterator<Item = &Listed> {
        self.0.iter().filter(move |it| it.place == place)
    }

    /// Time of packet `number` of a kind since the first SYN, seconds.
    fn time(&self, place: Place, kind: Kind, number: usize) -> Estimate {
        let found = self.at(place).filter(|it| it.kind == kind).nth(number);
        found.map_or_else(Estimate::default, |it| Estimate::exact(it.at.as_secs_f64()))
    }

    /// Time from the first packet at a place to packet `number` of a kind, milliseconds.
    fn since_first(&self, place: Place, kind: Kind, number: usize) -> Estimate {
        let first = self.at(place).next().map_or(f64::NAN, |it| it.at.as_secs_f64());
        let time = self.time(place, kind, number).value.unwrap_or(f64::NAN);
        Estimate::exact(1e3 * (time - first))
    }

    /// Time of the first repeated packet of a kind, seconds, that does not follow a packet of the kind `cause` at once.
    fn alone(&self, place: Place, kind: Kind, cause: Kind) -> Estimate {
        let here: Vec<&Listed> = self.at(place).collect();
        let answers = |it: &Listed| {
            let mut causes = here.iter().filter(|other| other.kind == cause);
            causes.any(|other| other.at == it.at)
        };
        let found = here.iter().filter(|it| it.kind == kind).skip(1);
        let found = found.map(|it| **it).find(|it| !answers(it));
        found.map_or_else(Estimate::default, |it| Estimate::exact(it.at.as_secs_f64()))
    }

    /// Number of packets of a kind.
    fn number(&self, place: Place, kind: Kind) -> Estimate {
        Estimate::exact(self.at(place).filter(|it| it.kind == kind).count() as f64)
    }

    fn table(&self, title: &str) -> Table {
        let columns = ["link", "time (s)", "from", "packet"];
        let rows = [(Place::Client, "client to router"), (Place::Server, "router to server")];
        let rows = rows.into_iter().flat_map(|(place, link)| {
            let here: Vec<&Listed> = self.at(place).collect();
            let first = here.first().map_or(Nanos::ZERO, |it| it.at);
            here.into_iter().map(move |it| {
                [
                    Cell::text(link),
                    Cell::number((it.at - first).as_secs_f64(), 6),
                    Cell::text(["client", "server"][it.from.index()]),
                    Cell::text(match it.kind {
                        Kind::Syn => "SYN",
                        Kind::SynAck => "SYN/ACK",
                        Kind::Data if it.from == CLIENT => "request",
                        Kind::Data => "answer",
                        Kind::Fin => "FIN",
                        Kind::Ack => "ACK",
                    }),
                ]
            })
        });
        rows.fold(Table::new(title, columns), Table::row)
    }
}

/// The packets of the test with one lost SYN: Tables 2 and 3.
fn listing(lab: &Lab<'_>, tool: Option<Side>, title: &str) -> Measured {
    let listing = Listing(run(&set_up(lab), CLIENT_SIDE[0].script, tool).listed);
    let client = |kind, number| listing.time(Place::Client, kind, number);
    let server = |kind, number| listing.since_first(Place::Server, kind, number);
    Measured::new()
        .table(listing.table(title))
        .claim("client-second-syn", client(Kind::Syn, 1))
        .claim("client-ack", client(Kind::Ack, 0))
        .claim("client-answer", client(Kind::Data, 1))
        .claim("server-syns", listing.number(Place::Server, Kind::Syn))
        .claim("server-synack", server(Kind::SynAck, 0))
        .claim("server-ack", server(Kind::Ack, 0))
        .claim("server-request", server(Kind::Data, 0))
}

/// Table 2.
pub(super) fn table2(lab: &Lab<'_>) -> Result<Measured, Failure> {
    Ok(listing(lab, None, "1 SYN lost, without the tool"))
}

/// Table 3.
pub(super) fn table3(lab: &Lab<'_>) -> Result<Measured, Failure> {
    Ok(listing(lab, Some(CLIENT), "1 SYN lost, with the tool on the client"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The measured times appear in `docs/concepts/rexmit.md`.
    #[test]
    fn measured_times_are_those_of_the_documentation() {
        let text = include_str!("../../../../docs/concepts/rexmit.md");
        let rows: Vec<Vec<&str>> = text
            .lines()
            .filter(|line| line.starts_with("| ") && line.contains(" → "))
            .map(|line| line.split('|').map(str::trim).collect())
            .collect();
        let cases = CLIENT_SIDE.iter().chain(&SERVER_SIDE);
        assert_eq!(rows.len(), cases.clone().count());
        for (row, case) in rows.iter().zip(cases) {
            let [without, with] = case.published;
            assert_eq!(row[1], case.lost);
            assert_eq!(row[2], format!("{without:.2} → {with:.2}"));
            assert_eq!(row[3], format!("{:.2}", case.kernel[0]));
            assert_eq!(row[5], format!("{:.2}", case.kernel[1]));
        }
    }
}
