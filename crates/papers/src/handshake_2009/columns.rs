//! Table 1: the captures of the paper, and generated captures with their losses.

use super::derived::derived;
use super::hosts::hosts;
use crate::captures::analyze;
use crate::estimate::Estimate;
use crate::lab::{Failure, Lab};
use crate::measured::Measured;
use crate::setup::Setup;
use crate::table::{Cell, Table};
use gentle_captures::scenario::{Faults, Observer, Plan, Repeat, generate};
use gentle_captures::{CLIENT, Loss, Place, SERVER};
use gentle_trace::{Options, VantagePoint};
use gentle_units::Nanos;
use std::sync::Arc;

/// A column of Table 1.
pub(super) struct Column {
    /// Name in claims.
    id: &'static str,
    name: &'static str,
    /// Places of the captures: sections 3.1 to 3.3; the paper does not give the company proxy's.
    places: &'static [Place],
    tries: u64,
    successful: u64,
    unsuccessful: u64,
    /// Tries with several SYNs: all, successful, not successful.
    several: u64,
    several_of_successful: u64,
    several_of_unsuccessful: u64,
    /// Tries with several SYNs outside the standard intervals.
    outside: u64,
    /// SYNs per successful connection.
    syns: f64,
    /// Connections per duplicate SYN.
    every: f64,
}

const COLUMNS: [Column; 5] = [
    Column {
        id: "webmail1",
        name: "Webmail 1",
        places: &[Place::Server],
        tries: 737_188,
        successful: 730_523,
        unsuccessful: 6_665,
        several: 5_968,
        several_of_successful: 5_162,
        several_of_unsuccessful: 806,
        outside: 690,
        syns: 1.007,
        every: 142.0,
    },
    Column {
        id: "webmail2",
        name: "Webmail 2",
        places: &[Place::Server],
        tries: 665_829,
        successful: 659_913,
        unsuccessful: 5_916,
        several: 4_838,
        several_of_successful: 4_064,
        several_of_unsuccessful: 774,
        outside: 577,
        syns: 1.006,
        every: 162.0,
    },
    Column {
        id: "company",
        name: "company proxy",
        places: &[Place::Client],
        tries: 75_493,
        successful: 75_049,
        unsuccessful: 444,
        several: 480,
        several_of_successful: 214,
        several_of_unsuccessful: 266,
        outside: 48,
        syns: 1.003,
        every: 351.0,
    },
    Column {
        id: "university",
        name: "university proxy",
        places: &[Place::Client],
        tries: 1_721_382,
        successful: 1_708_442,
        unsuccessful: 12_940,
        several: 19_452,
        several_of_successful: 5_696,
        several_of_unsuccessful: 13_756,
        outside: 23,
        syns: 1.003,
        every: 300.0,
    },
    Column {
        id: "lbnl",
        name: "LBNL/ICSI",
        places: &[Place::Client, Place::Server],
        tries: 232_852,
        successful: 219_867,
        unsuccessful: 12_985,
        several: 22_268,
        several_of_successful: 4_103,
        several_of_unsuccessful: 18_165,
        outside: 428,
        syns: 1.019,
        every: 54.0,
    },
];

impl Column {
    fn share(part: u64, whole: u64) -> f64 {
        part as f64 / whole as f64
    }

    /// The column with the name `id` in claims.
    pub(super) fn of(id: &str) -> Option<&'static Column> {
        COLUMNS.iter().find(|column| column.id == id)
    }

    /// Observers at the places of the column's captures.
    pub(super) fn observers(&self) -> Vec<Observer> {
        self.places.iter().copied().map(Observer::at).collect()
    }

    /// A row of the column as published, by its name in claims.
    pub(super) fn row(&self, name: &str) -> Option<f64> {
        let count = match name {
            "tries" => self.tries,
            "successful" => self.successful,
            "unsuccessful" => self.unsuccessful,
            "several" => self.several,
            "several-of-successful" => self.several_of_successful,
            "several-of-unsuccessful" => self.several_of_unsuccessful,
            "outside" => self.outside,
            _ => return None,
        };
        Some(count as f64)
    }

    /// Faults of a generated capture with the numbers of the column. Tries outside the standard intervals are taken for
    /// frames that were captured twice, in proportion among successful tries and the others.
    pub(super) fn faults(&self) -> Faults {
        let copied = Column::share(self.outside, self.several);
        let with_loss = Column::share(self.several_of_successful, self.successful) * (1.0 - copied);
        // SYN and SYN/ACK are each lost with this probability. A client repeats its SYN after either loss; at a server,
        // only the SYN that follows a lost SYN/ACK is the second one.
        let at_client = self.places.iter().filter(|it| **it == Place::Client);
        let seen = 1.0 + at_client.count() as f64 / self.places.len() as f64;
        let loss = 1.0 - libm::pow(1.0 - with_loss, 1.0 / seen);
        let silent = self.several_of_unsuccessful.min(self.unsuccessful);
        Faults {
            loss: [Loss::new(loss, 0.0); 2],
            unanswered: [Column::share(silent, self.tries); 2],
            refused: Column::share(self.unsuccessful - silent, self.tries - silent),
            copied: Column::share(self.outside, self.tries),
            ..Faults::default()
        }
    }
}

/// Counts of a column of Table 1 in a generated capture, by the definitions of the paper unless said otherwise.
#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    tries: f64,
    successful: f64,
    several: f64,
    several_of_successful: f64,
    outside: f64,
    /// Tries outside the standard intervals that remain without copies made by the capture.
    outside_without_copies: f64,
    syns: Option<f64>,
    every: Option<f64>,
    /// Connections per duplicate SYN without copies made by the capture.
    every_without_copies: Option<f64>,
    /// Duplicate SYNs per unsuccessful try.
    again_of_unsuccessful: Option<f64>,
}

/// Relative and absolute tolerances of standard intervals.
const TOLERANCES: [(f64, f64); 4] = [(0.05, 0.1), (0.1, 0.2), (0.2, 0.2), (0.2, 0.5)];

/// The first standard interval between SYNs, seconds, and the number of times that it is doubled.
const FIRST: f64 = 3.0;
const DOUBLED: i32 = 5;

/// True if `interval` is near a standard one: 3 s, or that doubled (section 3).
pub(super) fn is_standard(interval: Nanos, (relative, absolute): (f64, f64)) -> bool {
    let seconds = interval.as_secs_f64();
    (0..=DOUBLED)
        .map(|times| FIRST * f64::from(1 << times))
        .any(|standard| (seconds - standard).abs() <= (standard * relative).max(absolute))
}

struct Seed {
    counts: Counts,
    outside: [f64; TOLERANCES.len()],
}

fn measure(setup: &Setup, column: &Column, seed: u64) -> Seed {
    let observers = column.observers();
    let plan = Plan { faults: column.faults(), observers: &observers, ..Plan::new(&setup.scenario, seed) };
    let trace = generate(&plan, None);
    let repeats = trace.repeats;
    let captures = trace.captures.into_iter().zip(column.places);
    let seeds: Vec<Seed> = captures.map(|(capture, place)| observed(capture, *place, &repeats)).collect();
    Seed::mean(&seeds)
}

/// Counts of one capture.
fn observed(capture: Vec<u8>, place: Place, repeats: &[Repeat]) -> Seed {
    let (vantage, host) = match place {
        Place::Server => (VantagePoint::Server, SERVER),
        Place::Client | Place::Middle => (VantagePoint::Client, CLIENT),
    };
    let options = Options { vantage: Some(vantage), ..Options::default() };
    let (mut lost, mut successful) = (0_u64, 0_u64);
    let analysis = analyze(capture, &options, &mut |row| {
        successful += u64::from(row.established);
        lost += u64::from(row.established && row.syn_retransmissions > 0);
    });
    let found = &analysis.handshakes;
    let tries = found.attempts as f64;
    let again = |n: u64, part: u64| (part > 0).then(|| n as f64 / part as f64);
    let outside = |tolerance, copies: bool| {
        repeats
            .iter()
            .filter(|it| it.at == host && it.from == CLIENT && (copies || !it.copy))
            .filter(|it| !is_standard(it.after, tolerance))
            .count() as f64
            / tries
    };
    let syns = found.syn_per_success;
    let syns_of_successful = syns.map_or(0.0, |syns| (syns - 1.0) * found.successes as f64).round() as u64;
    Seed {
        counts: Counts {
            tries,
            successful: found.successes as f64 / tries,
            several: found.attempts_with_duplicate_syn as f64 / tries,
            several_of_successful: found.successes_with_duplicate_syn as f64 / tries,
            outside: outside(TOLERANCES[1], true),
            outside_without_copies: outside(TOLERANCES[1], false),
            syns,
            every: again(found.successes, found.successes_with_duplicate_syn),
            every_without_copies: again(successful, lost),
            again_of_unsuccessful: again(found.duplicate_syn.saturating_sub(syns_of_successful), found.failures),
        },
        outside: TOLERANCES.map(|tolerance| outside(tolerance, true)),
    }
}

impl Seed {
    /// Means over captures of the same connections.
    fn mean(seeds: &[Seed]) -> Seed {
        let mean = |of: &dyn Fn(&Seed) -> f64| seeds.iter().map(of).sum::<f64>() / seeds.len().max(1) as f64;
        let some = |of: &dyn Fn(&Counts) -> Option<f64>| {
            let mean = mean(&|it| of(&it.counts).unwrap_or(f64::NAN));
            Some(mean).filter(|mean| mean.is_finite())
        };
        // Connections per duplicate: the mean of the rates, as in one capture of both places.
        let every =
            |of: &dyn Fn(&Counts) -> Option<f64>| some(&|it| of(it).map(|every| 1.0 / every)).map(|rate| 1.0 / rate);
        Seed {
            counts: Counts {
                tries: mean(&|it| it.counts.tries),
                successful: mean(&|it| it.counts.successful),
                several: mean(&|it| it.counts.several),
                several_of_successful: mean(&|it| it.counts.several_of_successful),
                outside: mean(&|it| it.counts.outside),
                outside_without_copies: mean(&|it| it.counts.outside_without_copies),
                syns: some(&|it| it.syns),
                every: every(&|it| it.every),
                every_without_copies: every(&|it| it.every_without_copies),
                again_of_unsuccessful: some(&|it| it.again_of_unsuccessful),
            },
            outside: std::array::from_fn(|number| mean(&|it| it.outside[number])),
        }
    }
}

/// Table 1.
pub(super) fn table1(lab: &Lab<'_>) -> Result<Measured, Failure> {
    let seeds = lab.seeds(16, 4);
    let setup = hosts(lab, &[""]);
    let inputs: Vec<(usize, u64)> =
        (0..COLUMNS.len()).flat_map(|column| seeds.iter().map(move |seed| (column, *seed))).collect();
    let found = lab.map(&setup, inputs, |&(column, seed)| Ok(measure(&setup, &COLUMNS[column], seed)))?;
    let by_column: Vec<&[Arc<Seed>]> = found.chunks(seeds.len()).collect();
    let over = |column: usize, of: &dyn Fn(&Counts) -> Option<f64>| {
        Estimate::over(by_column[column].iter().map(|seed| of(&seed.counts)))
    };
    let mut measured = Measured::new().table(published()).table(generated(&over)).table(tolerances(&by_column));
    for (number, column) in COLUMNS.iter().enumerate() {
        let id = column.id;
        let exact = |value: u64| Estimate::exact(value as f64);
        let every = Column::share(column.successful, column.several_of_successful);
        for (name, ours) in [
            ("tries", exact(column.successful + column.unsuccessful)),
            ("several", exact(column.several_of_successful + column.several_of_unsuccessful)),
            ("several-of-unsuccessful", exact(column.several_of_unsuccessful)),
            ("every-by-rows", Estimate::exact(every)),
            ("syns-by-rows", Estimate::exact(1.0 + 1.0 / every)),
            ("syns", over(number, &|it| it.syns)),
            ("every", over(number, &|it| it.every)),
            ("outside", over(number, &|it| Some(it.outside / it.several)).scaled(100.0)),
            ("outside-without-copies", over(number, &|it| Some(it.outside_without_copies / it.several)).scaled(100.0)),
        ] {
            measured = measured.claim(format!("{id}-{name}"), ours);
        }
    }
    let published = |name: &str| published_number(name).map(Estimate::exact);
    Ok(measured.claims(derived("table1", &published)))
}

/// A published number by its name in `published.toml`: column, a dot, and the row. `all` adds the columns.
fn published_number(name: &str) -> Option<f64> {
    let (column, row) = name.split_once('.')?;
    match column {
        "all" => COLUMNS.iter().map(|column| column.row(row)).sum(),
        _ => Column::of(column)?.row(row),
    }
}

/// The published table, with what follows from its rows.
fn published() -> Table {
    let heads = std::iter::once("").chain(COLUMNS.iter().map(|column| column.name));
    let row = |name: &str, of: &dyn Fn(&Column) -> (f64, u8)| {
        let cells = COLUMNS.iter().map(|column| {
            let (value, decimals) = of(column);
            Cell::number(value, decimals)
        });
        std::iter::once(Cell::text(name)).chain(cells).collect::<Vec<_>>()
    };
    let whole = |of: fn(&Column) -> u64| move |column: &Column| (of(column) as f64, 0);
    let percent = |part: fn(&Column) -> u64, of: fn(&Column) -> u64| {
        move |column: &Column| (100.0 * Column::share(part(column), of(column)), 2)
    };
    Table::new("Published, and what follows from the rows", heads)
        .row(row("connection tries", &whole(|it| it.tries)))
        .row(row("successful", &whole(|it| it.successful)))
        .row(row("not successful", &whole(|it| it.unsuccessful)))
        .row(row("tries with several SYNs", &whole(|it| it.several)))
        .row(row("… of successful", &whole(|it| it.several_of_successful)))
        .row(row("… of unsuccessful", &whole(|it| it.several_of_unsuccessful)))
        .row(row("… outside the standard intervals", &whole(|it| it.outside)))
        .row(row("SYNs per successful connection", &|it| (it.syns, 3)))
        .row(row("a duplicate SYN every … connections", &|it| (it.every, 0)))
        .row(row("successful tries with several SYNs (%)", &percent(|it| it.several_of_successful, |it| it.successful)))
        .row(row("duplicate SYNs outside the standard intervals (%)", &percent(|it| it.outside, |it| it.several)))
        .row(row(
            "unsuccessful tries with several SYNs (%)",
            &percent(|it| it.several_of_unsuccessful, |it| it.unsuccessful),
        ))
        .row(row("loss of a SYN or SYN/ACK, as generated (%)", &|it| (100.0 * it.faults().loss[0].syn, 3)))
}

type Over<'a> = dyn Fn(usize, &dyn Fn(&Counts) -> Option<f64>) -> Estimate + 'a;

/// Table 1, counted in generated captures.
fn generated(over: &Over<'_>) -> Table {
    let heads = std::iter::once("").chain(COLUMNS.iter().map(|column| column.name));
    let row = |name: &str, factor: f64, decimals: u8, of: &dyn Fn(&Counts) -> Option<f64>| {
        let cells = (0..COLUMNS.len()).map(|column| Cell::estimate(over(column, of).scaled(factor), decimals));
        std::iter::once(Cell::text(name)).chain(cells).collect::<Vec<_>>()
    };
    Table::new("Generated captures with the losses of each column, at the place of its captures", heads)
        .row(row("connection tries per capture", 1.0, 0, &|it| Some(it.tries)))
        .row(row("successful (%)", 100.0, 2, &|it| Some(it.successful)))
        .row(row("tries with several SYNs (%)", 100.0, 2, &|it| Some(it.several)))
        .row(row("… of successful (%)", 100.0, 2, &|it| Some(it.several_of_successful)))
        .row(row("… outside the standard intervals (%)", 100.0, 3, &|it| Some(it.outside)))
        .row(row("… outside the standard intervals, without frames captured twice (%)", 100.0, 3, &|it| {
            Some(it.outside_without_copies)
        }))
        .row(row("SYNs per successful connection", 1.0, 4, &|it| it.syns))
        .row(row("a duplicate SYN every … connections", 1.0, 0, &|it| it.every))
        .row(row("a duplicate SYN every … connections, without frames captured twice", 1.0, 0, &|it| {
            it.every_without_copies
        }))
        .row(row("duplicate SYNs per unsuccessful try", 1.0, 2, &|it| it.again_of_unsuccessful))
}

/// Tries outside the standard intervals, by the tolerance of these.
fn tolerances(by_column: &[&[Arc<Seed>]]) -> Table {
    let heads = std::iter::once("tolerance").chain(COLUMNS.iter().map(|column| column.name));
    let table =
        Table::new("Duplicate SYNs outside the standard intervals, % of the tries, by tolerance of an interval", heads);
    let rows = TOLERANCES.iter().enumerate().map(|(number, tolerance)| {
        let (relative, absolute) = tolerance;
        let name = format!("{:.0} %, at least {absolute} s", 100.0 * relative);
        let cells = by_column.iter().map(|seeds| {
            let shares = seeds.iter().map(|seed| Some(seed.outside[number]));
            Cell::estimate(Estimate::over(shares).scaled(100.0), 3)
        });
        std::iter::once(Cell::Text(name)).chain(cells).collect::<Vec<_>>()
    });
    rows.fold(table, Table::row)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standard_intervals_are_three_seconds_doubled() {
        let standard = |ms| is_standard(Nanos::from_millis(ms), TOLERANCES[1]);
        assert!([3_000, 3_290, 6_500, 12_000, 48_000, 96_000].into_iter().all(standard));
        assert!(![300, 1_000, 2_000, 4_000, 9_000, 20_000].into_iter().any(standard));
    }

    #[test]
    fn every_computed_claim_names_published_numbers() {
        let found = derived("table1", &|name| published_number(name).map(Estimate::exact));
        assert!(found.len() > 15 && found.iter().all(|(_, ours)| ours.value.is_some()));
    }

    /// At a server, only the loss of SYN/ACKs is seen, so the same share of duplicates takes a larger loss.
    #[test]
    fn losses_follow_from_the_place_of_the_captures() {
        let loss = |id| Column::of(id).map_or(f64::NAN, |it| it.faults().loss[0].syn);
        assert!((loss("webmail1") - 0.0062).abs() < 1e-4, "{}", loss("webmail1"));
        assert!((loss("university") - 0.00167).abs() < 1e-5, "{}", loss("university"));
    }
}
