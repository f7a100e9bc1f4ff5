//! Charts and tables of the testbed's figures.

use super::quantity::{
    ABOVE_100, FROM_4_TO_10, FROM_11_TO_100, LOSS, Quantity, RESPONSE_TIME, RETRANSMISSION_DELAY, RTT, SYN_LOSS,
    SYN_PART, UP_TO_3, mean,
};
use crate::chart::{Axis, Bars, Chart, Draw, Point};
use crate::measured::Measured;
use crate::results::Results;
use crate::table::{Cell, Table};

/// Upper ends of the ranges of sizes: from the claims (3, 5 to 7, 10, 100), divided for curves.
pub(super) const BINS: [u64; 17] = [1, 2, 3, 4, 5, 6, 7, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 6_000, 12_000];

fn bars(results: &Results, id: &str, title: &str, label: &str, unit: &str) -> Bars {
    let categories = results.roles().iter().copied();
    Chart::bars(id, title, categories, Axis::linear(label, unit))
}

fn all<'a>(results: &'a Results, quantity: Quantity, factor: f64) -> impl Iterator<Item = crate::Estimate> + 'a {
    let roles = results.roles().iter();
    roles.map(move |role| mean(results, role, quantity).scaled(factor))
}

/// The four panels of Figs. 5, 7 and 9, and a table with their numbers.
pub(super) fn panels(results: &Results) -> Measured {
    let roles = results.roles().iter();
    let data_part = roles.map(|role| {
        results.per_seed(|values| {
            let delay = RETRANSMISSION_DELAY.of(results, values, role)?;
            Some(delay - SYN_PART.of(results, values, role)?)
        })
    });
    let loss = "packets lost";
    let delay = "mean retransmission delay";
    Measured::new()
        .chart(bars(results, "rtt", "Mean round-trip time", "round-trip time", "ms").series("", all(results, RTT, 1e3)))
        .chart(
            bars(results, "loss", "Packet loss", loss, "%")
                .series("all packets", all(results, LOSS, 100.0))
                .series("SYNs", all(results, SYN_LOSS, 100.0)),
        )
        .chart(
            bars(results, "delay", "Mean retransmission delay of a connection", delay, "s")
                .stacked()
                .series("of SYN and SYN/ACK", all(results, SYN_PART, 1.0))
                .series("of other packets", data_part),
        )
        .chart(response_times(results))
        .table(numbers(results))
}

/// Mean response times of all connections.
pub(super) fn response_times(results: &Results) -> Chart {
    let title = "Mean response time";
    bars(results, "response-time", title, "response time", "s").series("", all(results, RESPONSE_TIME, 1.0)).into()
}

/// A row per scheme.
pub(super) fn numbers(results: &Results) -> Table {
    let columns = [
        "scheme",
        "response time, s",
        "1–3 segments",
        "4–10",
        "11–100",
        "more",
        "RTT, ms",
        "loss, %",
        "of SYNs, %",
        "retransmission delay, s",
        "of SYN and SYN/ACK, s",
    ];
    let table = Table::new("Means by scheme", columns);
    results.roles().iter().fold(table, |table, role| {
        let cell = |quantity, factor, decimals| Cell::estimate(mean(results, role, quantity).scaled(factor), decimals);
        table.row([
            Cell::text(*role),
            cell(RESPONSE_TIME, 1.0, 2),
            cell(UP_TO_3, 1.0, 2),
            cell(FROM_4_TO_10, 1.0, 2),
            cell(FROM_11_TO_100, 1.0, 2),
            cell(ABOVE_100, 1.0, 1),
            cell(RTT, 1e3, 0),
            cell(LOSS, 100.0, 1),
            cell(SYN_LOSS, 100.0, 1),
            cell(RETRANSMISSION_DELAY, 1.0, 2),
            cell(SYN_PART, 1.0, 2),
        ])
    })
}

/// Mean response time by size of the connection: Figs. 6, 8 and 10.
pub(super) fn by_size(results: &Results, roles: &[&'static str]) -> Chart {
    let chart = Chart::curves(
        "by-size",
        "Mean response time by size",
        Axis::log("size", "segments"),
        Axis::log("response time", "s"),
    );
    let chart = roles.iter().fold(chart, |chart, role| {
        let bins = results.of(role).response_time_by_size.iter();
        let points = bins.filter_map(|bin| {
            let largest = bin.max_segments?;
            Some(Point { x: (bin.min_segments as f64 * largest as f64).sqrt(), y: bin.mean_s?, ci95: bin.ci95_s })
        });
        chart.draw(role, Draw::Marks, points)
    });
    chart.into()
}
