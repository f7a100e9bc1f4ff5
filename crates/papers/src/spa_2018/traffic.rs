//! Traffic of the testbed: Table III.

use super::schemes;
use crate::chart::{Axis, Chart, Draw};
use crate::estimate::Estimate;
use crate::lab::{Failure, Lab};
use crate::measured::Measured;
use crate::setup::Setup;
use crate::table::{Cell, Table};
use gentle_experiment::{Direction, LinkChange, Scenario, Span};
use gentle_units::Nanos;
use std::sync::Arc;

/// A type of traffic with its links.
pub(super) struct Traffic {
    /// Name in Table III.
    pub(super) name: &'static str,
    file: &'static str,
    text: &'static str,
}

pub(super) const REAL: Traffic =
    Traffic { name: "real", file: "papers/spa-2018/real.toml", text: include_str!("../../data/spa-2018/real.toml") };

pub(super) const REAL_REVERSE: Traffic = Traffic {
    name: "real with a long reverse connection",
    file: "papers/spa-2018/real-reverse.toml",
    text: include_str!("../../data/spa-2018/real-reverse.toml"),
};

pub(super) const SHORT: Traffic =
    Traffic { name: "short", file: "papers/spa-2018/short.toml", text: include_str!("../../data/spa-2018/short.toml") };

pub(super) const TEN_MEGABIT: Traffic =
    Traffic { name: "10m", file: "papers/spa-2018/10m.toml", text: include_str!("../../data/spa-2018/10m.toml") };

/// Data on the link in `short` with the paper's hosts, which then use it to the 90 % of section VI (assumption
/// `short-load`).
const SHORT_LOAD: f64 = 0.85;

/// Length of the arrival process in a quick call.
const QUICK: Nanos = Nanos::from_secs(100);

impl Traffic {
    /// The scenario without schemes, shorter in a quick call.
    pub(super) fn scenario(&self, lab: &Lab<'_>) -> Setup {
        let mut setup = self.full();
        if lab.quick() {
            setup.scenario.set_duration(QUICK);
        }
        setup
    }

    /// The scenario as published, without schemes.
    fn full(&self) -> Setup {
        Setup::from_toml(self.file, self.text)
    }

    /// The scenario with the paper's hosts and schemes.
    pub(super) fn of_the_paper(&self, lab: &Lab<'_>) -> Setup {
        let mut setup = self.scenario(lab).schemes(&schemes::of_the_paper());
        short_load(&mut setup, SHORT_LOAD);
        setup
    }

    /// The scenario with hosts and schemes of a current Linux.
    pub(super) fn of_today(&self, lab: &Lab<'_>) -> Setup {
        let mut setup = self.scenario(lab).schemes(&schemes::of_today());
        setup.set_profile("linux-7.2");
        setup
    }
}

/// Sets the load of `short`; other scenarios stay as they are.
pub(super) fn short_load(setup: &mut Setup, load: f64) {
    if setup.scenario.name == "short" {
        let change = LinkChange { load: Some(load), ..LinkChange::default() };
        let changed = setup.scenario.change_links(&change);
        changed.expect("the load of Poisson arrivals can be set");
    }
}

/// The scenario `name` of this paper with another largest size.
pub(super) fn with_largest_size(name: &str, largest: u64) -> Scenario {
    let all = [REAL, REAL_REVERSE, SHORT, TEN_MEGABIT];
    let mut setups = all.iter().map(|traffic| {
        let lines = traffic.text.lines().map(|line| match line {
            line if line.starts_with("size = ") => {
                let (before, _) = line.split_once("max = ").expect("sizes have a maximum");
                format!("{before}max = {largest} }}")
            }
            line => line.to_owned(),
        });
        let text: String = lines.flat_map(|line| [line, "\n".to_owned()]).collect();
        Setup::from_toml(traffic.file, &text).scenario
    });
    let found = setups.find(|scenario| scenario.name == name);
    found.expect("the scenario belongs to this paper")
}

/// Sizes and number of the connections of one seed.
struct Sample {
    /// Sizes in segments, ascending.
    segments: Vec<u64>,
    /// Data with all headers, as a percentage of what the link carries until the last arrival.
    load_percent: f64,
}

impl Sample {
    fn of(scenario: &Scenario, seed: u64) -> Sample {
        let mss = u64::from(scenario.profile.mss);
        let sizes = scenario.schedule(seed).filter_map(|arrival| match arrival.span {
            Span::Bytes(bytes) if arrival.direction == Direction::Down => Some(bytes.div_ceil(mss)),
            _ => None,
        });
        let mut segments: Vec<u64> = sizes.collect();
        segments.sort_unstable();
        let down = scenario.link(Direction::Down);
        // IP and TCP headers with timestamps.
        let packet = mss + 52 + u64::from(down.overhead);
        let bits = 8.0 * (segments.iter().sum::<u64>() * packet) as f64;
        let carried = down.rate.bits_per_second() as f64 * scenario.duration.as_secs_f64();
        Sample { segments, load_percent: 100.0 * bits / carried }
    }

    fn mean(&self) -> f64 {
        self.segments.iter().sum::<u64>() as f64 / self.segments.len() as f64
    }

    fn median(&self) -> f64 {
        self.segments[self.segments.len() / 2] as f64
    }

    fn percent_up_to(&self, segments: u64) -> f64 {
        let within = self.segments.partition_point(|&size| size <= segments);
        100.0 * within as f64 / self.segments.len() as f64
    }
}

/// Samples of one type of traffic, one per seed.
struct Samples(Vec<Arc<Sample>>);

impl Samples {
    fn draw(lab: &Lab<'_>, traffic: &Traffic) -> Result<Samples, Failure> {
        let scenario = traffic.full().scenario;
        let seeds = lab.seeds(100, 20);
        let samples = lab.map(&scenario, seeds, |&seed| Ok(Sample::of(&scenario, seed)))?;
        Ok(Samples(samples))
    }

    fn over(&self, number: impl Fn(&Sample) -> f64) -> Estimate {
        Estimate::over(self.0.iter().map(|sample| Some(number(sample))))
    }

    fn row(&self, traffic: &Traffic) -> Vec<Cell> {
        vec![
            Cell::text(traffic.name),
            Cell::estimate(self.over(|sample| sample.segments.len() as f64), 0),
            Cell::estimate(self.over(Sample::mean), 1),
            Cell::estimate(self.over(Sample::median), 0),
            Cell::estimate(self.over(|sample| sample.percent_up_to(4)), 1),
            Cell::estimate(self.over(|sample| sample.percent_up_to(6)), 1),
            Cell::estimate(self.over(|sample| sample.segments.last().map_or(0.0, |&s| s as f64)), 0),
            Cell::estimate(self.over(|sample| sample.load_percent), 1),
        ]
    }

    /// Distribution function of the sizes.
    fn distribution(&self) -> Vec<(f64, f64)> {
        let largest = self.0.iter().filter_map(|sample| sample.segments.last());
        let largest = largest.copied().max().unwrap_or(1) as f64;
        let steps = (0..=60).map(|step| libm::pow(largest, f64::from(step) / 60.0).round());
        let mut sizes: Vec<f64> = steps.collect();
        sizes.dedup();
        let part = |size: f64| {
            let percent = self.over(|sample| sample.percent_up_to(size as u64));
            percent.value.unwrap_or(0.0)
        };
        sizes.into_iter().map(|size| (size, part(size))).collect()
    }
}

/// Table III: number and sizes of the connections that the scenarios generate.
pub(super) fn facts(lab: &Lab<'_>) -> Result<Measured, Failure> {
    let real = Samples::draw(lab, &REAL)?;
    let short = Samples::draw(lab, &SHORT)?;
    let ten = Samples::draw(lab, &TEN_MEGABIT)?;
    let columns =
        ["type", "connections", "mean size, segments", "median", "up to 4, %", "up to 6, %", "largest", "load, %"];
    let table = Table::new("Connections of 1,000 s", columns)
        .row(real.row(&REAL))
        .row(short.row(&SHORT))
        .row(ten.row(&TEN_MEGABIT));
    let chart = Chart::curves(
        "sizes",
        "Sizes of connections",
        Axis::log("size", "segments"),
        Axis::linear("connections up to this size", "%").range(0.0, 100.0),
    )
    .draw(REAL.name, Draw::Steps, real.distribution())
    .draw(SHORT.name, Draw::Steps, short.distribution())
    .draw(TEN_MEGABIT.name, Draw::Steps, ten.distribution());
    let links = &REAL.full().scenario.links;
    let rtt = links[0].delay + links[1].delay;
    Ok(Measured::new()
        .table(table)
        .chart(chart)
        .claim("rtt", Estimate::exact(1e3 * rtt.as_secs_f64()))
        .claim("real-connections", real.over(|sample| sample.segments.len() as f64))
        .claim("real-mean", real.over(Sample::mean))
        .claim("real-median", real.over(Sample::median))
        .claim("real-up-to-6", real.over(|sample| sample.percent_up_to(6)))
        .claim("short-mean", short.over(Sample::mean))
        .claim("short-median", short.over(Sample::median))
        .claim("short-up-to-4", short.over(|sample| sample.percent_up_to(4)))
        .claim(
            "short-largest",
            Estimate::exact(short.0.iter().filter_map(|s| s.segments.last()).max().map_or(0.0, |&s| s as f64)),
        )
        .claim("10m-mean", ten.over(Sample::mean))
        .claim("10m-median", ten.over(Sample::median))
        .claim("10m-up-to-6", ten.over(|sample| sample.percent_up_to(6)))
        .claim("10m-load", ten.over(|sample| sample.load_percent)))
}
