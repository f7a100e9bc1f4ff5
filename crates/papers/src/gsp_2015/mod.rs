//! `gsp-2015`: W. Lautenschlaeger, A. Francini, "Global Synchronization Protection for Bandwidth Sharing TCP Flows in
//! High-Speed Links", IEEE HPSR 2015.

mod ack_delay;
mod assumptions;
mod buffer;
mod changes;
mod gigabit;
mod growth;
mod intervals;
mod lanes;
mod many;
mod overflow;
mod prior;
mod rivals;
mod robustness;
mod single;
mod sync;
mod unresponsive;
mod watch;

use crate::chart::{Axis, Chart, Curves, Draw};
use crate::lab::{Failure, Lab};
use crate::measured::Measured;
use crate::paper::{Paper, Part};
use crate::setup::Setup;
use crate::table::{Cell, Table};
use gentle_units::Nanos;
use watch::Watch;

/// The paper.
pub(crate) const PAPER: Paper = Paper {
    name: "gsp-2015",
    published: &[include_str!("../../data/gsp-2015/published.toml")],
    sentences: Some(include_str!("../../data/gsp-2015/sentences.toml")),
    parts: &[
        part("prior", prior::schemes),
        part("pings", lanes::pings),
        part("buffer", buffer::arithmetic),
        part("growth", growth::growth_and_fall),
        part("single", single::drops),
        part("many", many::flows),
        part("overflow", overflow::new_flows),
        part("fig7", sync::tail_drop),
        part("fig8", sync::basic),
        part("fig9", sync::adaptive),
        part("fig10", gigabit::delay_and_utilization),
        part("fig11", rivals::distributions),
        part("fig12", rivals::round_trip_times),
        part("robustness", robustness::of_gsp),
        part("fig13", changes::rate),
        part("fig14", changes::udp),
        part("unresponsive", unresponsive::sharing),
    ],
    assumptions: assumptions::ALL,
};

const fn part(id: &'static str, measure: fn(&Lab<'_>) -> Result<Measured, Failure>) -> Part {
    Part { id, measure }
}

/// The scenario file of a figure, without schemes.
macro_rules! scenario {
    ($name:literal) => {
        $crate::setup::Setup::from_toml(
            concat!("papers/gsp-2015/", $name, ".toml"),
            include_str!(concat!("../../data/gsp-2015/", $name, ".toml")),
        )
    };
}
use scenario;

/// `setup` with another duration and warm-up in quick calls, seconds.
fn shorter(lab: &Lab<'_>, mut setup: Setup, duration: u64, warmup: u64) -> Setup {
    if lab.quick() {
        setup.scenario.duration = Nanos::from_secs(duration);
        setup.scenario.warmup = Nanos::from_secs(warmup);
    }
    setup
}

/// A chart of the queueing delay from `from` to `to` seconds.
fn delay_chart(id: &str, title: &str, from: f64, to: f64) -> Curves {
    let time = Axis::linear("time", "s").range(from, to);
    Chart::curves(id, title, time, Axis::linear("queueing delay", "ms"))
}

/// A chart of the link's load from `from` to `to` seconds.
fn utilization_chart(id: &str, title: &str, from: f64, to: f64) -> Curves {
    let time = Axis::linear("time", "s").range(from, to);
    let used = Axis::linear("link utilization", "%").range(0.0, 105.0);
    Chart::curves(id, title, time, used)
}

/// Queue and drops, and the link's load, of a run from `from` to `to` seconds, as in the paper's Figs. 7 to 9.
fn over_time(measured: Measured, watch: &Watch, title: &str, from: f64, to: f64) -> Measured {
    let delay = watch.delay_line(from, to, 0.02);
    // The drops stand above the queue.
    let top = delay.iter().map(|(_, ms)| *ms).fold(0.0, f64::max);
    let drops = watch.drop_points(from, to, 1.05 * top);
    let queue = delay_chart("queue", &format!("Queue, {title}"), from, to).line("queueing delay", delay).draw(
        "dropped packets",
        Draw::Points,
        drops,
    );
    let used = utilization_chart("utilization", &format!("Link, {title}"), from, to)
        .line("mean over 50 ms", watch.utilization_line(from, to, 0.05));
    measured.chart(queue).chart(used)
}

/// The schemes of `setup` on the kernel testbed and in the simulator, if requested. The hosts are a current Linux in
/// both, and the run lasts `duration` seconds, of which the first quarter is left out.
fn beside_the_kernel(lab: &Lab<'_>, measured: Measured, setup: Setup, duration: u64) -> Result<Measured, Failure> {
    let mut setup = setup;
    setup.set_profile("linux-7.2");
    setup.scenario.duration = Nanos::from_secs(duration);
    setup.scenario.warmup = Nanos::from_millis(250 * duration);
    let Some(kernel) = lab.kernel(setup.clone(), &[1])? else {
        return Ok(measured);
    };
    let simulated = lab.compare(setup, &[1])?;
    let columns = ["scheme", "run on", "queueing delay, mean (ms)", "95 % (ms)", "utilization (%)"];
    let mut table = Table::new("The same hosts and queue on the kernel testbed", columns);
    for role in simulated.roles() {
        for (place, results) in [("simulator", &simulated), ("Linux", &kernel)] {
            if !results.has(role) {
                continue;
            }
            let cell = |metric, factor, decimals| Cell::estimate(results.mean(role, metric).scaled(factor), decimals);
            table = table.row([
                Cell::text(*role),
                Cell::text(place),
                cell("queue_delay_s.mean", 1e3, 2),
                cell("queue_delay_s.p95", 1e3, 2),
                cell("utilization", 100.0, 2),
            ]);
        }
    }
    Ok(measured.table(table))
}
