//! Figs. 1 and 2: histograms of the time between duplicate SYNs, and between duplicate SYN/ACKs.

use super::network::{
    CLIENT, Faults, Loss, Observer, Place, Plan, Repeat, SERVER, analyze, generate,
};
use crate::chart::{Axis, Chart};
use crate::estimate::Estimate;
use crate::lab::{Failure, Lab};
use crate::measured::Measured;
use crate::setup::Setup;
use crate::table::{Cell, Table};
use gentle_trace::results::IntervalHistogram;
use gentle_trace::{Options, VantagePoint};
use gentle_units::Nanos;

/// Loss of SYNs and SYN/ACKs, and of ACKs.
const LOSS: f64 = 0.01;

/// Connections of which the capture has each frame twice.
const COPIED: f64 = 0.02;

/// Upper ends of the bins, milliseconds. The last bin has everything beyond.
const BINS: [(u64, &str); 12] = [
    (300, "0–0.3"),
    (800, "0.3–0.8"),
    (1_300, "0.8–1.3"),
    (1_800, "1.3–1.8"),
    (2_300, "1.8–2.3"),
    (2_700, "2.3–2.7"),
    (3_300, "2.7–3.3"),
    (3_700, "3.3–3.7"),
    (4_500, "3.7–4.5"),
    (5_400, "4.5–5.4"),
    (6_600, "5.4–6.6"),
    (u64::MAX, "6.6 and more"),
];

/// Duplicates of one capture by bin, and copies made by the capture.
struct Seed {
    /// Every duplicate, as the paper counts.
    all: [f64; BINS.len()],
    /// Retransmissions in truth.
    truth: [f64; BINS.len()],
    /// Retransmissions as the analysis finds them.
    found: [f64; BINS.len()],
    copies: f64,
    copies_found: f64,
}

fn bin(after: Nanos) -> usize {
    let place = BINS.iter().position(|(end, _)| after.as_millis() < *end);
    place.unwrap_or(BINS.len() - 1)
}

fn counted<'a>(repeats: impl Iterator<Item = &'a Repeat>) -> [f64; BINS.len()] {
    let mut bins = [0.0; BINS.len()];
    for repeat in repeats {
        bins[bin(repeat.after)] += 1.0;
    }
    bins
}

fn histogram(found: &IntervalHistogram) -> [f64; BINS.len()] {
    let mut bins = [0.0; BINS.len()];
    for it in &found.bins {
        bins[bin(Nanos::from_secs_f64(f64::midpoint(it.from_s, it.to_s)))] += it.count as f64;
    }
    bins
}

fn measure(setup: &Setup, kind: usize, seed: u64) -> Seed {
    let lost = Loss {
        ack: LOSS,
        ..Loss::new(LOSS, 0.0)
    };
    let plan = Plan {
        scenario: &setup.scenario,
        faults: Faults {
            loss: [lost; 2],
            copied: COPIED,
            ..Faults::default()
        },
        observers: &[Observer::at([Place::Client, Place::Server][kind])],
        until: None,
        seed,
    };
    let mut trace = generate(&plan);
    let options = Options {
        vantage: Some([VantagePoint::Client, VantagePoint::Server][kind]),
        ..Options::default()
    };
    let capture = trace.captures.pop().unwrap_or_default();
    let analysis = analyze(capture, &options, &mut |_| ());
    let repeats = &trace.truth.repeats[kind];
    let copies = analysis.handshakes.capture_duplicates;
    Seed {
        all: counted(repeats.iter()),
        truth: counted(repeats.iter().filter(|it| !it.copy)),
        found: histogram(match kind {
            CLIENT => &analysis.intervals.syn,
            _ => &analysis.intervals.synack,
        }),
        copies: repeats.iter().filter(|it| it.copy).count() as f64,
        copies_found: match kind {
            CLIENT => copies.syn,
            _ => copies.synack,
        } as f64,
    }
}

/// Fig. 1.
pub(super) fn syns(lab: &Lab<'_>) -> Result<Measured, Failure> {
    figure(lab, CLIENT, "Time between duplicate SYNs, at the client")
}

/// Fig. 2.
pub(super) fn synacks(lab: &Lab<'_>) -> Result<Measured, Failure> {
    figure(
        lab,
        SERVER,
        "Time between duplicate SYN/ACKs, at the server",
    )
}

fn figure(lab: &Lab<'_>, kind: usize, title: &str) -> Result<Measured, Failure> {
    let setup = lab.varied(Setup::from_toml(
        "papers/handshake-2009/histograms.toml",
        include_str!("../../data/handshake-2009/histograms.toml"),
    ));
    let seeds = lab.map(&(&setup, kind), lab.seeds(8, 2), |&seed| {
        Ok(measure(&setup, kind, seed))
    })?;
    let bins = |of: fn(&Seed) -> &[f64; BINS.len()]| {
        (0..BINS.len())
            .map(|bin| Estimate::over(seeds.iter().map(|seed| Some(of(seed)[bin]))))
            .collect::<Vec<_>>()
    };
    let (all, truth, found) = (
        bins(|it| &it.all),
        bins(|it| &it.truth),
        bins(|it| &it.found),
    );
    let names = BINS.map(|(_, name)| format!("{name} s"));
    let chart = Chart::bars(
        "intervals",
        title,
        names.clone(),
        Axis::log("duplicates", ""),
    )
    .series("all, as the paper counts them", all.clone())
    .series("without frames captured twice", found.clone());
    let columns = [
        "interval",
        "all, as the paper counts them",
        "retransmissions in truth",
        "retransmissions found",
    ];
    let rows = (0..BINS.len()).map(|bin| {
        [
            Cell::Text(names[bin].clone()),
            Cell::estimate(all[bin], 1),
            Cell::estimate(truth[bin], 1),
            Cell::estimate(found[bin], 1),
        ]
    });
    let table = Table::new(
        "Duplicates per capture by the time since the previous one",
        columns,
    );
    let total = |bins: &[f64]| bins.iter().sum::<f64>();
    let peak = seeds.iter().map(|it| Some(it.all[0] / total(&it.all)));
    let copies = seeds.iter().map(|it| Some(it.copies_found / it.copies));
    let wrong = seeds.iter().map(|it| {
        let bins = it.found.iter().zip(&it.truth);
        Some(
            bins.map(|(found, truth)| (found - truth).abs())
                .sum::<f64>()
                / total(&it.all),
        )
    });
    Ok(Measured::new()
        .chart(chart)
        .table(rows.fold(table, Table::row))
        .claim("peak", Estimate::over(peak).scaled(100.0))
        .claim("copies", Estimate::over(copies).scaled(100.0))
        .claim("wrong", Estimate::over(wrong).scaled(100.0)))
}
