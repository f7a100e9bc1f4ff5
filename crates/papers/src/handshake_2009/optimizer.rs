//! Tables 2 to 4: the time until the request leaves, without and with the tool that sends SYNs and SYN/ACKs again.

use super::network::{CLIENT, Faults, Plan, SERVER, generate, generate_with_tool};
use crate::chart::{Axis, Chart};
use crate::estimate::Estimate;
use crate::lab::{Failure, Lab};
use crate::measured::Measured;
use crate::setup::Setup;
use crate::table::{Cell, Table};
use gentle_rexmit::{Config, Selection, Timing};
use gentle_units::Nanos;

/// Delay of `syn_optimizer -d 200 -r 3`: 200 ms, and what the published tool is late at each copy. Its copies of a SYN/ACK left
/// at 0.316, 0.560 and 0.801 s (section 4.2), 244 and 241 ms after each other.
const DELAY: Nanos = Nanos::from_millis(243);
const COPIES: u32 = 3;

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
    /// `docs/rexmit.md`.
    kernel: [f64; 2],
}

const CLIENT_SIDE: [Case; 4] = [
    Case {
        id: "client-syn",
        lost: "1 SYN",
        script: [1, 0],
        published: [3.00, 0.26],
        kernel: [3.08, 0.26],
    },
    Case {
        id: "client-synack",
        lost: "1 SYN/ACK",
        script: [0, 1],
        published: [3.00, 0.30],
        kernel: [3.09, 0.26],
    },
    Case {
        id: "client-both",
        lost: "1 SYN, 1 SYN/ACK",
        script: [1, 1],
        published: [6.50, 0.45],
        kernel: [6.10, 0.46],
    },
    Case {
        id: "client-3-syns",
        lost: "3 SYN",
        script: [3, 0],
        published: [21.02, 0.73],
        kernel: [9.10, 0.66],
    },
];

const SERVER_SIDE: [Case; 4] = [
    Case {
        id: "server-syn",
        lost: "1 SYN",
        script: [1, 0],
        published: [2.99, 3.00],
        kernel: [3.08, 3.09],
    },
    Case {
        id: "server-synack",
        lost: "1 SYN/ACK",
        script: [0, 1],
        published: [3.00, 0.33],
        kernel: [3.09, 0.26],
    },
    Case {
        id: "server-both",
        lost: "1 SYN, 1 SYN/ACK",
        script: [1, 1],
        published: [6.27, 3.28],
        kernel: [6.10, 3.30],
    },
    Case {
        id: "server-3-synacks",
        lost: "3 SYN/ACK",
        script: [0, 3],
        published: [9.00, 0.80],
        kernel: [9.10, 0.66],
    },
];

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

/// Time until the request leaves, seconds, with the tool on the host `tool`, if on any.
fn time(setup: &Setup, case: &Case, tool: Option<usize>) -> Estimate {
    let plan = Plan {
        scenario: &setup.scenario,
        faults: Faults {
            script: case.script,
            single: true,
            ..Faults::default()
        },
        observers: &[],
        until: None,
        seed: 1,
    };
    let trace = match tool {
        None => generate(&plan),
        Some(at) => {
            let selection = Selection {
                client: at == CLIENT,
                server: at == SERVER,
                ..Selection::default()
            };
            let config = Config {
                timing: Timing::fixed(DELAY),
                copies: COPIES,
                stack_rto: setup.scenario.profile.initial_rto,
                ..Config::new(selection)
            };
            generate_with_tool(&plan, at, &config)
        }
    };
    let times = trace.truth.until_request.iter();
    Estimate::over(times.map(|time| Some(time.as_secs_f64())))
}

const COLUMNS: [&str; 5] = [
    "lost",
    "published (s)",
    "simulated (s)",
    "Linux 7.2 with gentle's tool and a path of 60 ms, measured (s)",
    "simulated with hosts of today, initial RTO of 1 s (s)",
];

/// A table of `cases`; `with` is 0 for the times without the tool, 1 for those with it on the host `tool`.
fn table(title: &str, setup: &Setup, cases: &[Case], tool: Option<usize>) -> (Table, Measured) {
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
        measured = measured.claim(case.id, ours);
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
    Chart::bars("time", title, lost, axis)
        .published("published", published)
        .series("simulated", simulated)
        .into()
}

/// Times without the tool.
pub(super) fn without(lab: &Lab<'_>) -> Result<Measured, Failure> {
    let setup = set_up(lab);
    let (client, measured) = table("Hosts of the client's tests", &setup, &CLIENT_SIDE, None);
    let (server, more) = table("Hosts of the server's tests", &setup, &SERVER_SIDE, None);
    Ok(measured.claims(more.claims).table(client).table(server))
}

/// Times with the tool on the client.
pub(super) fn client(lab: &Lab<'_>) -> Result<Measured, Failure> {
    let setup = set_up(lab);
    let (table, measured) = table(
        "With the tool on the client",
        &setup,
        &CLIENT_SIDE,
        Some(CLIENT),
    );
    let chart = chart(&CLIENT_SIDE, &measured);
    Ok(measured.chart(chart).table(table))
}

/// Times with the tool on the server.
pub(super) fn server(lab: &Lab<'_>) -> Result<Measured, Failure> {
    let setup = set_up(lab);
    let (table, measured) = table(
        "With the tool on the server",
        &setup,
        &SERVER_SIDE,
        Some(SERVER),
    );
    let chart = chart(&SERVER_SIDE, &measured);
    Ok(measured.chart(chart).table(table))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The measured times are those of `docs/rexmit.md`.
    #[test]
    fn measured_times_are_those_of_the_documentation() {
        let text = include_str!("../../../../docs/rexmit.md");
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
