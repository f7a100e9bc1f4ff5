//! Losses inferred from duplicate SYNs and SYN/ACKs at each capture point, tested on generated captures: bias and
//! coverage.

use crate::captures::analyze;
use crate::estimate::Estimate;
use crate::lab::{Failure, Lab};
use crate::measured::Measured;
use crate::proportion::wilson;
use crate::setup::Setup;
use crate::table::{Cell, Table};
use gentle_captures::scenario::{Faults, Observer, Plan, generate};
use gentle_captures::{Loss, Opening, Place};
use gentle_trace::{Options, VantagePoint};

/// Loss of every packet.
const LOSS: f64 = 0.01;

const OBSERVERS: [Observer; 3] =
    [Observer::at(Place::Client), Observer::at(Place::Middle), Observer::at(Place::Server)];

/// A statement about losses that an observer reads from duplicates.
struct Reading {
    /// Name in claims.
    id: &'static str,
    /// Observer, by its place in [`OBSERVERS`].
    observer: usize,
    duplicate: Duplicate,
    /// The loss that the observer infers from the duplicate.
    means: &'static str,
    truth: fn(&Opening) -> bool,
    /// Probability of the loss.
    expected: f64,
}

#[derive(Clone, Copy)]
enum Duplicate {
    Syn,
    SynAck,
    /// A loss as `gentle analyze` infers it from all segments.
    Inferred,
}

impl Duplicate {
    fn name(self) -> &'static str {
        match self {
            Duplicate::Syn => "duplicate SYN",
            Duplicate::SynAck => "duplicate SYN/ACK",
            Duplicate::Inferred => "loss inferred from all segments",
        }
    }
}

fn syn_or_synack(opening: &Opening) -> bool {
    opening.lost != [0; 2]
}

fn synack(opening: &Opening) -> bool {
    opening.lost[1] > 0
}

fn ack(opening: &Opening) -> bool {
    opening.ack_lost == Some(true)
}

fn synack_or_ack(opening: &Opening) -> bool {
    synack(opening) || ack(opening)
}

/// Probability that one of two independent losses happens.
const EITHER: f64 = 1.0 - (1.0 - LOSS) * (1.0 - LOSS);

const READINGS: [Reading; 9] = [
    Reading {
        id: "client-syn",
        observer: 0,
        duplicate: Duplicate::Syn,
        means: "SYN or SYN/ACK lost",
        truth: syn_or_synack,
        expected: EITHER,
    },
    Reading {
        id: "client-synack",
        observer: 0,
        duplicate: Duplicate::SynAck,
        means: "ACK lost",
        truth: ack,
        expected: LOSS,
    },
    Reading {
        id: "client-inferred",
        observer: 0,
        duplicate: Duplicate::Inferred,
        means: "SYN or SYN/ACK lost",
        truth: syn_or_synack,
        expected: EITHER,
    },
    Reading {
        id: "middle-syn",
        observer: 1,
        duplicate: Duplicate::Syn,
        means: "SYN or SYN/ACK lost",
        truth: syn_or_synack,
        expected: EITHER,
    },
    Reading {
        id: "middle-synack",
        observer: 1,
        duplicate: Duplicate::SynAck,
        means: "SYN/ACK or ACK lost",
        truth: synack_or_ack,
        expected: EITHER,
    },
    Reading {
        id: "middle-inferred",
        observer: 1,
        duplicate: Duplicate::Inferred,
        means: "SYN or SYN/ACK lost",
        truth: syn_or_synack,
        expected: EITHER,
    },
    Reading {
        id: "server-syn",
        observer: 2,
        duplicate: Duplicate::Syn,
        means: "SYN/ACK lost",
        truth: synack,
        expected: LOSS,
    },
    Reading {
        id: "server-synack",
        observer: 2,
        duplicate: Duplicate::SynAck,
        means: "SYN/ACK or ACK lost",
        truth: synack_or_ack,
        expected: EITHER,
    },
    Reading {
        id: "server-inferred",
        observer: 2,
        duplicate: Duplicate::Inferred,
        means: "SYN or SYN/ACK lost",
        truth: syn_or_synack,
        expected: EITHER,
    },
];

/// Completed attempts in a capture, by what was found.
#[derive(Debug, Clone, Copy, Default)]
struct Found {
    all: u64,
    duplicate_syn: u64,
    duplicate_synack: u64,
    inferred: u64,
}

impl Found {
    fn of(&self, duplicate: Duplicate) -> u64 {
        match duplicate {
            Duplicate::Syn => self.duplicate_syn,
            Duplicate::SynAck => self.duplicate_synack,
            Duplicate::Inferred => self.inferred,
        }
    }
}

struct Seed {
    /// Completed attempts.
    completed: Vec<Opening>,
    found: [Found; OBSERVERS.len()],
}

impl Seed {
    fn estimate(&self, reading: &Reading) -> f64 {
        let found = &self.found[reading.observer];
        found.of(reading.duplicate) as f64 / found.all as f64
    }

    fn truth(&self, reading: &Reading) -> f64 {
        let lost = self.completed.iter().filter(|it| (reading.truth)(it));
        lost.count() as f64 / self.completed.len() as f64
    }

    fn covers(&self, reading: &Reading) -> bool {
        let found = &self.found[reading.observer];
        let (low, high) = wilson(found.of(reading.duplicate), found.all);
        (low..=high).contains(&reading.expected)
    }
}

fn generated(setup: &Setup, seed: u64) -> Seed {
    let plan = Plan {
        faults: Faults { loss: [Loss::new(LOSS, LOSS); 2], ..Faults::default() },
        observers: &OBSERVERS,
        ..Plan::new(&setup.scenario, seed)
    };
    let trace = generate(&plan, None);
    let mut found = [Found::default(); OBSERVERS.len()];
    for (found, (capture, observer)) in found.iter_mut().zip(trace.captures.into_iter().zip(OBSERVERS)) {
        let options = Options {
            vantage: Some(match observer.place {
                Place::Client => VantagePoint::Client,
                Place::Middle => VantagePoint::Middle,
                Place::Server => VantagePoint::Server,
            }),
            ..Options::default()
        };
        analyze(capture, &options, &mut |row| {
            if row.outcome.is_some_and(|outcome| outcome.is_complete()) {
                found.all += 1;
                found.duplicate_syn += u64::from(row.syn_retransmissions > 0);
                found.duplicate_synack += u64::from(row.synack_retransmissions > 0);
                found.inferred += u64::from(row.handshake_lost > 0);
            }
        });
    }
    let completed = trace.attempts.iter().filter(|it| it.until_request.is_some());
    Seed { completed: completed.map(|it| it.opening).collect(), found }
}

/// Losses inferred from duplicates, by capture point.
pub(super) fn measure(lab: &Lab<'_>) -> Result<Measured, Failure> {
    let setup = lab.varied(Setup::from_toml(
        "papers/handshake-2009/captures.toml",
        include_str!("../../data/handshake-2009/captures.toml"),
    ));
    let seeds = lab.map(&setup, lab.seeds(40, 3), |&seed| Ok(generated(&setup, seed)))?;
    let columns = [
        "capture point",
        "observed",
        "taken for",
        "truth (%)",
        "estimate (%)",
        "estimate / truth",
        "captures whose 95 % interval covers the probability (%)",
    ];
    let mut table = Table::new("Attempts with a loss, by what duplicates mean", columns);
    let mut measured = Measured::new();
    for reading in &READINGS {
        let over = |of: &dyn Fn(&Seed) -> f64| Estimate::over(seeds.iter().map(|it| Some(of(it))));
        let ratio = over(&|it| it.estimate(reading) / it.truth(reading));
        let covered = over(&|it| f64::from(u8::from(it.covers(reading))));
        let place = ["client", "middle", "server"][reading.observer];
        table = table.row([
            Cell::text(place),
            Cell::text(reading.duplicate.name()),
            Cell::text(reading.means),
            Cell::estimate(over(&|it| it.truth(reading)).scaled(100.0), 3),
            Cell::estimate(over(&|it| it.estimate(reading)).scaled(100.0), 3),
            Cell::estimate(ratio, 3),
            Cell::number(100.0 * covered.value.unwrap_or(f64::NAN), 0),
        ]);
        measured = measured.claim(reading.id, ratio);
    }
    Ok(measured.table(table))
}
