//! Cost of handshake loss by the response-time model, beside the measured one.

use crate::analyze::section::{Cell, Head, Row, Section, Table, numbers};
use crate::format::{NONE, Quantity, Scale, count, interval, percent, sizes, time};
use gentle_trace::results::{Analysis, InitialRto, MeanOf};

pub(super) fn cost(analysis: &Analysis) -> Option<Section> {
    let cost = analysis.expected_cost.as_ref()?;
    let mut facts = Vec::new();
    let mut fact = |name: &str, value: String| facts.push((name.to_owned(), value));
    fact("handshake loss", percent(cost.handshake_loss));
    if let Some(loss) = cost.packet_loss {
        fact("loss of data", percent(loss));
    }
    let rtos: Vec<String> = cost.initial_rtos.iter().map(initial_rto).collect();
    if !rtos.is_empty() {
        fact("initial RTO", rtos.join("; "));
    }
    if cost.unknown_rto > 0 {
        fact("of no known RTO", count(cost.unknown_rto));
    }
    if let Some(wait) = cost.expected_wait_s {
        fact("expected wait", time(wait));
        fact("measured wait", measured(cost.measured_wait_s));
    }
    if let Some(wait) = cost.expected_wait_like_data_s {
        fact("if lost like data", time(wait));
    }
    let shares: Vec<_> = cost.sizes.iter().flat_map(|size| [size.expected_share, size.measured_share]).collect();
    let scale = Scale::of(Quantity::Share, shares.into_iter());
    let times: Vec<_> = cost.sizes.iter().map(|size| vec![(Some(size.response_s), None)]).collect();
    let (unit, times) = numbers(Quantity::Time, &times);
    let mut table = Table::new([
        Head::words("segments"),
        Head::new("connections", ""),
        Head::new("without loss", unit),
        Head::new("expected wait", "% of total"),
        Head::new("measured wait", "% of total"),
    ])
    .caption("Wait for lost SYNs and SYN/ACKs, and response time by the model without it");
    for (size, time) in cost.sizes.iter().zip(times) {
        let mut cells = vec![Cell::count(size.measured_wait_s.n)];
        cells.extend(time);
        cells.push(Cell::Text(scale.show(Some(size.expected_share))));
        cells.push(Cell::Text(scale.show(Some(size.measured_share))));
        let name = sizes(size.min_segments, size.max_segments);
        table.row(Row::new(name, cells));
    }
    Section::new("expected-cost", "Expected cost of handshake loss")
        .narrow()
        .facts(facts)
        .table(table)
        .list(&cost.not_computed)
        .unless_empty()
}

/// Initial RTO with its share, `1 s, linear at first (87 %)`.
fn initial_rto(rto: &InitialRto) -> String {
    let linear = match rto.linear {
        0 => "",
        _ => ", linear at first",
    };
    format!("{}{linear} ({})", interval(rto.initial_rto_s), percent(rto.share))
}

/// Mean with its confidence interval, `24.1 ms ±1.2 ms`.
fn measured(mean: MeanOf) -> String {
    let value = mean.mean.map_or(NONE.to_owned(), time);
    let ci95 = mean.ci95.map(|half| format!(" ±{}", time(half)));
    value + &ci95.unwrap_or_default()
}
