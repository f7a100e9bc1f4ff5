//! Fig. 3: the response-time model of section IV.

use crate::chart::{Axis, Chart};
use crate::estimate::Estimate;
use crate::lab::{Failure, Lab};
use crate::measured::Measured;
use crate::table::{Cell, Table};
use gentle_model::{Backoff, DEFAULT_SIZES, OfRto, Path, Prediction, predict};

/// Round-trip time of "the conditions of the trace", which the paper does not give.
const RTT_S: f64 = 0.1;
/// Packet loss of "the conditions of the trace": within the 1 to 3.5 % of section III.
const LOSS: f64 = 0.02;
/// Initial RTOs of the figure.
const INITIAL_RTOS_S: [f64; 2] = [1.0, 3.0];

/// The published formula: a wait of the initial RTO for each lost SYN, twice the loss of other packets.
fn prediction(rtt_s: f64, loss: f64) -> Prediction {
    let path = Path { rtt_s, loss, handshake_loss: 2.0 * loss, backoff: Backoff::Constant, ..Path::default() };
    predict(&path, &INITIAL_RTOS_S, &DEFAULT_SIZES).expect("the path is valid")
}

/// Increase of the response time by one lost SYN, in percent.
fn increase_percent(rto: &OfRto, segments: u32) -> f64 {
    let found = rto.sizes.iter().find(|size| size.segments == segments);
    100.0 * found.expect("one of the sizes").increase_by_one_loss
}

/// Response time per segment of 25 segments without a lost SYN, divided by that of 10,000 segments.
fn short_over_long(rto: &OfRto) -> f64 {
    let per_segment = |segments: u32| {
        let size = rto.sizes.iter().find(|size| size.segments == segments);
        size.expect("one of the sizes").without_handshake_loss_s / f64::from(segments)
    };
    per_segment(25) / per_segment(10_000)
}

/// Wait of a connection that loses its first three SYNs, with an initial RTO of 3 s that doubles.
fn three_lost_s() -> f64 {
    let backoff = Backoff::Doubling { linear: 0, retries: 6 };
    backoff.wait_s(INITIAL_RTOS_S[1], 3)
}

/// Fig. 3.
pub(super) fn response_times(_: &Lab<'_>) -> Result<Measured, Failure> {
    let found = prediction(RTT_S, LOSS);
    let [one, three] = [&found.rtos[0], &found.rtos[1]];
    let sizes = || one.sizes.iter().map(|size| f64::from(size.segments));
    let with = |rto: &OfRto| {
        let times = rto.sizes.iter().map(|size| size.with_one_loss_s);
        sizes().zip(times).collect::<Vec<_>>()
    };
    let increase = |rto: &OfRto| {
        let percent = rto.sizes.iter().map(|size| 100.0 * size.increase_by_one_loss);
        sizes().zip(percent).collect::<Vec<_>>()
    };
    let without = one.sizes.iter().map(|size| size.without_handshake_loss_s);
    let times = Chart::curves(
        "response-time",
        "Response time by the model",
        Axis::log("size", "segments"),
        Axis::log("response time", "s"),
    )
    .line("no SYN lost", sizes().zip(without))
    .line("one SYN lost, RTO 1 s", with(one))
    .line("one SYN lost, RTO 3 s", with(three));
    let increases =
        Chart::curves("increase", "Increase by a lost SYN", Axis::log("size", "segments"), Axis::log("increase", "%"))
            .line("RTO 1 s", increase(one))
            .line("RTO 3 s", increase(three));
    let columns =
        ["segments", "no SYN lost, s", "one lost, RTO 1 s, s", "increase, %", "one lost, RTO 3 s, s", "increase, %"];
    let rows = one.sizes.iter().zip(&three.sizes);
    let table = rows.fold(Table::new("Response times", columns), |table, (one, three)| {
        table.row([
            Cell::number(f64::from(one.segments), 0),
            Cell::number(one.without_handshake_loss_s, 2),
            Cell::number(one.with_one_loss_s, 2),
            Cell::number(100.0 * one.increase_by_one_loss, 1),
            Cell::number(three.with_one_loss_s, 2),
            Cell::number(100.0 * three.increase_by_one_loss, 1),
        ])
    });
    Ok(Measured::new()
        .chart(times)
        .chart(increases)
        .table(table)
        .table(conditions())
        .table(as_scanned(one, three))
        .claim("short", Estimate::exact(increase_percent(three, 25)))
        .claim("long-1s", Estimate::exact(increase_percent(one, 1_000)))
        .claim("long-3s", Estimate::exact(increase_percent(three, 2_000)))
        .claim("short-per-segment", Estimate::exact(short_over_long(one)))
        .claim("three-lost", Estimate::exact(three_lost_s())))
}

/// The three numbers of the paper's text by the formula as scanned: congestion avoidance sends S − 2^(n_ss − 1) segments.
/// The product subtracts 2^n_ss − 1, which is what slow start sends.
fn as_scanned(one: &OfRto, three: &OfRto) -> Table {
    let path = Path { rtt_s: RTT_S, loss: LOSS, ..Path::default() };
    let largest = path.largest_window();
    let more_s = (2.0 * largest - 1.0 - largest) / path.throughput();
    let columns = ["segments, RTO", "increase, %", "as scanned, %"];
    let rows = [
        ("25, 3 s", three, 25, INITIAL_RTOS_S[1]),
        ("1,000, 1 s", one, 1_000, INITIAL_RTOS_S[0]),
        ("2,000, 3 s", three, 2_000, INITIAL_RTOS_S[1]),
    ];
    rows.into_iter().fold(
        Table::new("Increase by a lost SYN, by the two readings of section IV", columns),
        |table, (name, rto, segments, wait_s)| {
            let size = rto.sizes.iter().find(|size| size.segments == segments);
            let without_s = size.expect("one of the sizes").without_handshake_loss_s;
            table.row([
                Cell::text(name),
                Cell::number(increase_percent(rto, segments), 0),
                Cell::number(100.0 * wait_s / (without_s + more_s), 0),
            ])
        },
    )
}

/// The three numbers of the paper's text under other conditions.
fn conditions() -> Table {
    let columns = [
        "RTT, ms",
        "loss, %",
        "25 segments, RTO 1 s: increase, %",
        "25 segments, RTO 3 s",
        "1,000 segments, RTO 1 s",
        "2,000 segments, RTO 3 s",
    ];
    let mut table = Table::new("Increase by a lost SYN under other conditions", columns);
    // Losses of section III: MAWI in both directions, and about the mean and the upper end of CAIDA.
    for loss in [0.0165, 0.02, 0.0273, 0.035] {
        for rtt_ms in [50.0, 100.0, 150.0, 200.0, 300.0] {
            let found = prediction(1e-3 * rtt_ms, loss);
            let [one, three] = [&found.rtos[0], &found.rtos[1]];
            table = table.row([
                Cell::number(rtt_ms, 0),
                Cell::number(100.0 * loss, 2),
                Cell::number(increase_percent(one, 25), 0),
                Cell::number(increase_percent(three, 25), 0),
                Cell::number(increase_percent(one, 1_000), 1),
                Cell::number(increase_percent(three, 2_000), 1),
            ]);
        }
    }
    table
}
