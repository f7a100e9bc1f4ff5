//! Figures 2 to 5.

use super::compared::{self, LONG, SHORT, by_size, ratio};
use super::flows::{Flows, Request};
use super::{SCHEMES, SIZES, seeds, setup};
use crate::{Axis, Cell, Chart, Draw, Estimate, Failure, Lab, Measured, Point, Table, Watched};
use std::ops::Range;

/// Fig. 2: distribution of completion times.
pub(super) fn completion_times(lab: &Lab<'_>) -> Result<Measured, Failure> {
    let watched = lab.watch::<Flows>(&setup(lab), &seeds(lab))?;
    let mut chart = Chart::curves(
        "times",
        "Completion times of web requests",
        Axis::linear("completion time", "s").range(0.0, 8.0),
        Axis::linear("fraction of requests", "").range(0.0, 1.0),
    );
    let mut table = Table::new(
        "Requests by completion time",
        ["scheme", "2.4 to 2.9 s, %", "3.0 to 3.5 s, %", "of these, lost a SYN or SYN/ACK, %", "ratio"],
    );
    let mut result = Measured::new();
    for role in SCHEMES {
        let all: Vec<Request> = of(&watched, role).flat_map(|flows| flows.requests.iter().copied()).collect();
        let below = |time: f64| share(&all, 0.0, time);
        chart = chart.line(role, (0..=160).map(|step| (f64::from(step) * 0.05, below(f64::from(step) * 0.05))));
        let within = |from, to| Estimate::over(of(&watched, role).map(|flows| Some(share(&flows.requests, from, to))));
        let peak = Estimate::over(of(&watched, role).map(|flows| Some(peak(flows))));
        let lost = of(&watched, role).map(|flows| Some(compared::lost_syn_at_peak(flows)));
        let at_peak = within(3.0, 3.5).scaled(100.0);
        table = table.row([
            role.into(),
            Cell::estimate(within(2.4, 2.9).scaled(100.0), 2),
            Cell::estimate(at_peak, 2),
            Cell::estimate(Estimate::over(lost).scaled(100.0), 1),
            Cell::estimate(peak, 2),
        ]);
        let name = role.to_lowercase();
        result = result.claim(format!("peak-{name}"), peak).claim(format!("share-{name}"), at_peak);
    }
    let in_time = |flows: &Flows| share(&flows.requests, 0.0, 3.0);
    let apart = |ours: &Flows, theirs: &Flows| {
        let steps = (0..=100).map(|step| f64::from(step) * 0.05);
        let distances = steps.map(|time| (share(&ours.requests, 0.0, time) - share(&theirs.requests, 0.0, time)).abs());
        distances.fold(0.0, f64::max)
    };
    let red_to = |role| pairs(&watched, "RED", role, |red, other| in_time(red) / in_time(other));
    Ok(result
        .claim("in-time-choke", red_to("CHOKe"))
        .claim("in-time-redfavor", red_to("REDFavor"))
        .claim("as-choke", pairs(&watched, "REDFavor", "CHOKe", apart))
        .claims(compared::claims(lab, "fig2")?)
        .chart(chart)
        .table(table))
}

/// A number of the runs of two schemes, seed by seed.
pub(super) fn pairs(
    watched: &[Watched<Flows>],
    role: &'static str,
    other: &'static str,
    number: impl Fn(&Flows, &Flows) -> f64,
) -> Estimate {
    let both = of(watched, role).zip(of(watched, other));
    Estimate::over(both.map(|(ours, theirs)| Some(number(ours, theirs))))
}

/// Requests that completed within 3.0 to 3.5 s relative to those within 2.4 to 2.9 s.
pub(super) fn peak(flows: &Flows) -> f64 {
    share(&flows.requests, 3.0, 3.5) / share(&flows.requests, 2.4, 2.9)
}

/// Fraction of requests that took at least `from` seconds and less than `to`.
fn share(requests: &[Request], from: f64, to: f64) -> f64 {
    let within = (requests.iter()).filter(|request| (from..to).contains(&request.time));
    within.count() as f64 / requests.len() as f64
}

/// The flows of the runs of a scheme.
fn of<'a>(watched: &'a [Watched<Flows>], role: &'static str) -> impl Iterator<Item = &'a Flows> + use<'a> {
    let runs = watched.iter().filter(move |run| run.role == role);
    runs.map(|run| &*run.seen)
}

/// Fig. 3: mean completion time by size.
pub(super) fn completion_by_size(lab: &Lab<'_>) -> Result<Measured, Failure> {
    let watched = lab.watch::<Flows>(&setup(lab), &seeds(lab))?;
    let mut chart = Chart::curves(
        "by-size",
        "Mean completion time by size",
        Axis::linear("size", "packets").range(0.0, 200.0),
        Axis::linear("mean completion time", "s"),
    );
    for role in SCHEMES {
        let runs: Vec<Vec<f64>> = of(&watched, role).map(|flows| by_size(&flows.requests)).collect();
        let points = (0..SIZES.len()).filter_map(|range| {
            let first = range.checked_sub(1).map_or(1, |before| SIZES[before] + 1);
            let mean = Estimate::over(runs.iter().map(|means| Some(means[range])));
            Some(Point { x: f64::midpoint(first as f64, SIZES[range] as f64), y: mean.value?, ci95: mean.ci95 })
        });
        chart = chart.draw(role, Draw::Marks, points);
    }
    let ratio = |over: &'static str, under: &'static str, ranges: Range<usize>| {
        pairs(&watched, over, under, |over, under| {
            let both = by_size(&over.requests).into_iter().zip(by_size(&under.requests));
            let both: Vec<(f64, f64)> = both.collect();
            ratio(&both[ranges.clone()])
        })
    };
    let (short, long) = (SHORT, LONG);
    let mut table = Table::new(
        "Completion time under REDFavor relative to the others: mean of the ratios by size",
        ["sizes", "to CHOKe", "to RED"],
    );
    for (label, ranges) in [("1 to 10", &short), ("71 to 200", &long)] {
        table = table.row([
            label.into(),
            Cell::estimate(ratio("REDFavor", "CHOKe", ranges.clone()), 2),
            Cell::estimate(ratio("REDFavor", "RED", ranges.clone()), 2),
        ]);
    }
    Ok(Measured::new()
        .chart(chart)
        .table(table)
        .claims(compared::claims(lab, "fig3")?)
        .claim("long-below-red", ratio("REDFavor", "RED", long.clone()))
        .claim("choke-short", ratio("CHOKe", "RED", short.clone()))
        .claim("short-as-choke", ratio("REDFavor", "CHOKe", short.clone()))
        .claim("short-below-red", ratio("REDFavor", "RED", short))
        .claim("long-as-red", ratio("REDFavor", "RED", long)))
}

/// Fig. 4: distribution of the position of dropped packets in their flows.
pub(super) fn dropped_positions(lab: &Lab<'_>) -> Result<Measured, Failure> {
    let watched = lab.watch::<Flows>(&setup(lab), &seeds(lab))?;
    let mut chart = Chart::curves(
        "positions",
        "Positions of dropped packets in their flows; the SYN is packet 1",
        Axis::log("packet number", ""),
        Axis::linear("fraction of dropped packets", "").range(0.0, 1.0),
    );
    let mut table = Table::new(
        "Share of dropped packets by position, in %",
        ["scheme", "SYN", "data packets 1 to 10", "11 to 200", "later"],
    );
    let mut result = Measured::new();
    for role in SCHEMES {
        let mut all: Vec<u32> = of(&watched, role).flat_map(|flows| flows.positions.iter().copied()).collect();
        all.sort_unstable();
        let below = |position: f64| {
            let count = all.partition_point(|dropped| f64::from(*dropped) + 1.0 <= position);
            count as f64 / all.len() as f64
        };
        // Sixteen points per decade, up to 100,000.
        let positions = (0..=80).map(|step| libm::exp10(f64::from(step) / 16.0));
        chart = chart.draw(role, Draw::Steps, positions.map(|position| (position, below(position))));
        let within = |from: u32, to: u32| {
            let shares = of(&watched, role).map(|flows| {
                let range = flows.positions.iter().filter(|p| (from..=to).contains(*p));
                Some(100.0 * range.count() as f64 / flows.positions.len() as f64)
            });
            Estimate::over(shares)
        };
        let syns = Estimate::over(
            of(&watched, role).map(|flows| Some(100.0 * flows.syns.dropped as f64 / flows.dropped() as f64)),
        );
        table = table.row([
            role.into(),
            Cell::estimate(within(0, 0), 2),
            Cell::estimate(within(1, 10), 1),
            Cell::estimate(within(11, 200), 1),
            Cell::estimate(within(201, u32::MAX), 1),
        ]);
        result = result.claim(format!("syns-{}", role.to_lowercase()), syns);
    }
    // Numbers of data packets; the SYN has 0.
    let part = |flows: &Flows, from: u32, to: u32| {
        let data = flows.positions.iter().filter(|number| **number > 0);
        let range = data.clone().filter(|number| (from..=to).contains(*number));
        range.count() as f64 / data.count() as f64
    };
    let apart = |ours: &Flows, theirs: &Flows| {
        let distances = (10..=200).map(|to| (part(ours, 1, to) - part(theirs, 1, to)).abs());
        distances.fold(0.0, f64::max)
    };
    let median = |flows: &Flows| {
        let mut data: Vec<u32> = flows.positions.iter().copied().filter(|n| *n > 0).collect();
        data.sort_unstable();
        data.get(data.len() / 2).map_or(f64::NAN, |number| f64::from(*number))
    };
    let first = |ours: &Flows, theirs: &Flows| part(ours, 1, 9) / part(theirs, 1, 9);
    let later = |ours: &Flows, theirs: &Flows| median(ours) / median(theirs);
    Ok(result
        .claim("first-as-red", pairs(&watched, "REDFavor", "RED", first))
        .claim("later-as-choke", pairs(&watched, "REDFavor", "CHOKe", apart))
        .claim("higher-numbers", pairs(&watched, "REDFavor", "RED", later))
        .chart(chart)
        .table(table))
}

/// Fig. 5: rate of each long-lived flow.
pub(super) fn long_flows(lab: &Lab<'_>) -> Result<Measured, Failure> {
    let setup = setup(lab);
    let watched = lab.watch::<Flows>(&setup, &seeds(lab))?;
    let (from, to) = (setup.scenario.workloads[0].rtt).expect("long-lived flows have separate times");
    let flows = setup.scenario.long_flows(gentle_experiment::Direction::Down);
    let step = (to - from).as_secs_f64() / (flows - 1) as f64;
    let labels = (0..flows).map(|flow| {
        let rtt = from.as_secs_f64() + step * flow as f64;
        format!("{:.0} ms", rtt * 1e3)
    });
    let mut chart = Chart::bars(
        "rates",
        "Rate of each long-lived flow, by round-trip time",
        labels,
        Axis::linear("goodput", "Mb/s"),
    );
    let total = |flows: &Flows| flows.long_goodput_bps().iter().sum::<f64>();
    for role in SCHEMES {
        let rates = (0..flows as usize).map(|flow| {
            Estimate::over(of(&watched, role).map(|run| run.long_goodput_bps().get(flow).map(|rate| rate / 1e6)))
        });
        chart = chart.series(role, rates);
    }
    let to_red = |role: &'static str| {
        let pairs = of(&watched, role).zip(of(&watched, "RED"));
        Estimate::over(pairs.map(|(ours, red)| Some(total(ours) / total(red))))
    };
    let mut table = Table::new("Goodput of the long-lived flows together", ["scheme", "Mb/s", "relative to RED"]);
    for role in SCHEMES {
        let goodput = Estimate::over(of(&watched, role).map(|flows| Some(total(flows) / 1e6)));
        table = table.row([role.into(), Cell::estimate(goodput, 2), Cell::estimate(to_red(role), 3)]);
    }
    let farthest = pairs(&watched, "REDFavor", "RED", |ours, red| {
        let both = ours.long_goodput_bps().into_iter().zip(red.long_goodput_bps());
        both.map(|(ours, red)| (ours / red - 1.0).abs()).fold(0.0, f64::max)
    });
    Ok(Measured::new()
        .chart(chart)
        .table(table)
        .claims(compared::claims(lab, "fig5")?)
        .claim("each-as-red", farthest)
        .claim("redfavor-as-red", to_red("REDFavor"))
        .claim("choke-lower", to_red("CHOKe")))
}
