//! Effect of a current TCP stack: the testbed with Linux 7.2 at both ends, simulated and on a kernel.

use super::comparison::comparisons;
use super::figures::{BINS, by_size, panels};
use super::quantity::{LOSS, RESPONSE_TIME, RTT, SYN_LOSS, UP_TO_3, mean, ratio};
use super::schemes::{
    BYTE_FIFO, CODEL, FQ_CODEL, FQ_CODEL_20, PACKET_FIFO, PIE, PUBLISHED_SPA, RED, REDFAVOR, SFQ, SPA, SPA_SYN_ONLY,
};
use super::testbed::SELECTION;
use super::traffic::{REAL, REAL_REVERSE, SHORT, TEN_MEGABIT, Traffic};
use crate::chart::{Axis, Chart};
use crate::estimate::Estimate;
use crate::lab::{Failure, Lab};
use crate::measured::Measured;
use crate::results::Results;
use crate::table::{Cell, Table};
use gentle_units::Nanos;

fn run(lab: &Lab<'_>, traffic: &Traffic) -> Result<Results, Failure> {
    lab.compare_with_bins(traffic.of_today(lab), &lab.seeds(4, 2), &BINS)
}

/// Panels and curves of the simulator, and of the kernel if requested.
fn figure(lab: &Lab<'_>, traffic: &Traffic, results: &Results, seconds_on_kernel: u64) -> Result<Measured, Failure> {
    let measured = panels(results).chart(by_size(results, &SELECTION));
    let beside = on_kernel(lab, traffic, seconds_on_kernel)?;
    Ok(measured.tables(beside))
}

/// `real` with current hosts.
pub(super) fn real(lab: &Lab<'_>) -> Result<Measured, Failure> {
    let results = run(lab, &REAL)?;
    let measured = figure(lab, &REAL, &results, 200)?;
    Ok(measured.claims(comparisons(lab, "linux-real", &["fig5", "fig6"], &results, run)?))
}

/// `real` with a long reverse connection and current hosts.
pub(super) fn real_reverse(lab: &Lab<'_>) -> Result<Measured, Failure> {
    let results = run(lab, &REAL_REVERSE)?;
    let measured = figure(lab, &REAL_REVERSE, &results, 200)?;
    Ok(measured.claims(comparisons(lab, "linux-real-reverse", &["fig7"], &results, run)?))
}

/// `short` with current hosts.
pub(super) fn short(lab: &Lab<'_>) -> Result<Measured, Failure> {
    let results = run(lab, &SHORT)?;
    let measured = figure(lab, &SHORT, &results, 60)?;
    Ok(measured.claims(comparisons(lab, "linux-short", &["fig9"], &results, run)?))
}

/// `10m` with current hosts.
pub(super) fn ten_megabit(lab: &Lab<'_>) -> Result<Measured, Failure> {
    let results = run(lab, &TEN_MEGABIT)?;
    let measured = figure(lab, &TEN_MEGABIT, &results, 100)?;
    Ok(measured.claims(comparisons(lab, "linux-10m", &["fig10"], &results, run)?))
}

/// Schemes that run on the kernel.
const ON_KERNEL: [&str; 11] =
    [PACKET_FIFO, BYTE_FIFO, RED, REDFAVOR, CODEL, FQ_CODEL, FQ_CODEL_20, PIE, SFQ, SPA, SPA_SYN_ONLY];

/// Kernel and simulator with the same connections of `seconds`; `None` if the kernel is not requested.
fn on_kernel(lab: &Lab<'_>, traffic: &Traffic, seconds: u64) -> Result<Option<Table>, Failure> {
    let mut setup = traffic.of_today(lab);
    setup.scenario.set_duration(Nanos::from_secs(seconds));
    setup.schemes.retain(|(role, _)| ON_KERNEL.contains(role));
    let seeds = lab.seeds(3, 1);
    let Some(kernel) = lab.kernel(setup.clone(), &seeds)? else {
        return Ok(None);
    };
    let simulated = lab.compare(setup, &seeds)?;
    let quantities = [
        ("response time, s", RESPONSE_TIME, 1.0, 2),
        ("1–3 segments, s", UP_TO_3, 1.0, 2),
        ("RTT, ms", RTT, 1e3, 0),
        ("loss, %", LOSS, 100.0, 1),
        ("SYN loss, %", SYN_LOSS, 100.0, 1),
    ];
    let heads = quantities.iter().flat_map(|(name, ..)| [format!("{name}: kernel"), "simulator".to_owned()]);
    let heads = std::iter::once("scheme".to_owned()).chain(heads);
    let title = format!("On a Linux kernel in virtual time, {seconds} s");
    let table = kernel.roles().iter().fold(Table::new(&title, heads), |table, role| {
        let cells = quantities.iter().flat_map(|&(_, quantity, factor, decimals)| {
            [&kernel, &simulated].map(|results| Cell::estimate(mean(results, role, quantity).scaled(factor), decimals))
        });
        table.row(std::iter::once(Cell::text(*role)).chain(cells))
    });
    Ok(Some(table))
}

const LENGTH_CHECK: &str = "SPA, FINs up to 100 bytes";

/// `short` with SPA's treatments of FINs, between hosts with and without SACK.
pub(super) fn overtaking_fin(lab: &Lab<'_>) -> Result<Measured, Failure> {
    let mut setup = SHORT.scenario(lab).schemes(&[
        (CODEL, "codel"),
        (SPA, PUBLISHED_SPA),
        (LENGTH_CHECK, "spa fin=priority maxlen=100 share=100"),
        (SPA_SYN_ONLY, "spa"),
    ]);
    setup.set_profile("linux-7.2");
    if !lab.quick() {
        setup.scenario.set_duration(Nanos::from_secs(120));
    }
    let seeds = lab.seeds(6, 2);
    let with = lab.compare(setup.clone(), &seeds)?;
    setup.set_knob("sack", "false");
    let without = lab.compare(setup, &seeds)?;
    let roles = with.roles().to_vec();
    let series = |results: &Results| -> Vec<Estimate> {
        let roles = roles.iter();
        roles.map(|role| mean(results, role, RESPONSE_TIME)).collect()
    };
    let axis = Axis::linear("response time", "s");
    let chart = Chart::bars("response-time", "Mean response time", roles.clone(), axis)
        .series("with SACK", series(&with))
        .series("without SACK", series(&without));
    let columns = [
        "scheme",
        "response time, s",
        "1–3 segments, s",
        "lost, %",
        "retransmitted, %",
        "without SACK: response time, s",
        "lost, %",
    ];
    let table = Table::new("SPA's treatments of FINs under short", columns);
    let again = super::quantity::Quantity::Metric("retransmission.packet_probability");
    let table = roles.iter().fold(table, |table, role| {
        table.row([
            Cell::text(*role),
            Cell::estimate(mean(&with, role, RESPONSE_TIME), 2),
            Cell::estimate(mean(&with, role, UP_TO_3), 2),
            Cell::estimate(mean(&with, role, LOSS).scaled(100.0), 1),
            Cell::estimate(mean(&with, role, again).scaled(100.0), 1),
            Cell::estimate(mean(&without, role, RESPONSE_TIME), 2),
            Cell::estimate(mean(&without, role, LOSS).scaled(100.0), 1),
        ])
    });
    let drops = |role: &str| with.of(role).drops.values().sum::<u64>() as f64;
    let to_codel = |role| ratio(&with, role, CODEL, RESPONSE_TIME);
    Ok(Measured::new()
        .chart(chart)
        .table(table)
        .claim("mean", mean(&with, SPA, RESPONSE_TIME))
        .claim("drops", Estimate::exact(drops(SPA) / drops(CODEL)))
        .claim("length-check", to_codel(LENGTH_CHECK))
        .claim("syn-only", to_codel(SPA_SYN_ONLY))
        .claim("without-sack", ratio(&without, SPA, CODEL, RESPONSE_TIME)))
}
