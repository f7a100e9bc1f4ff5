//! Metrics of spa-2018, section III: by direction, and by filter.

use crate::analyze::section::{Cell, Chart, Head, Row, Section, Table, Value, numbers};
use crate::analyze::words::named;
use crate::format::{Quantity, bytes, count, plural, throughput};
use gentle_trace::results::{Analysis, Direction, DirectionBy, MeanOf};

const CHARTS: &[Chart] = &[
    Chart {
        name: "delay",
        caption: "Summed retransmission delay per connection, mean",
        hint: "whiskers: 95 % confidence interval",
        keys: &[],
        wide: false,
    },
    Chart {
        name: "probability",
        caption: "Retransmission probability",
        hint: "of all segments, and of SYNs and SYN/ACKs",
        keys: &[],
        wide: false,
    },
];

pub(super) fn directions(analysis: &Analysis) -> Option<Section> {
    let seen: Vec<&Direction> = analysis.directions.iter().filter(|d| d.packets > 0).collect();
    if seen.is_empty() {
        return None;
    }
    let heads = seen.iter().map(|d| Head::new(&d.name, ""));
    let mut table = Table::new(std::iter::once(Head::words("quantity")).chain(heads));
    let mut plain = |name: &str, of: &dyn Fn(&Direction) -> String| {
        let cells = seen.iter().map(|d| Cell::Text(of(d))).collect();
        table.row(Row::new(name, cells));
    };
    plain("TCP segments", &|d| count(d.packets));
    plain("bytes on the wire", &|d| bytes(d.wire_bytes));
    plain("mean rate", &|d| throughput(d.rate_bps));
    if seen.iter().any(|d| d.capacity_bps.is_some()) {
        let given = seen.iter().any(|d| d.capacity_given);
        let name = if given { "rate of the link" } else { "highest rate over a second" };
        plain(name, &|d| d.capacity_bps.map_or(String::new(), throughput));
    }
    let lossy = seen.iter().any(|d| d.packet_retransmission_probability > Some(0.0));
    let mut measured = |quantity: Quantity, lines: &[(&str, Read)]| {
        let values = lines.iter().map(|(_, of)| seen.iter().map(|d| of(d)).collect());
        let values: Vec<Vec<Value>> = values.collect();
        let (unit, rows) = numbers(quantity, &values);
        for (((name, _), values), cells) in lines.iter().zip(values).zip(rows) {
            if values.iter().any(|(value, _)| value.is_some()) {
                table.row(Row::new(format!("{name}, {unit}"), cells));
            }
        }
    };
    measured(Quantity::Share, &[("utilisation", |d| (d.utilization, None))]);
    measured(Quantity::Share, &[("segments retransmitted", packets)]);
    if lossy {
        measured(Quantity::Share, &[("SYNs, SYN/ACKs among them", syn_share), ("SYNs, SYN/ACKs retransmitted", syns)]);
        measured(
            Quantity::Time,
            &[
                ("summed delay per connection: all", delay_all),
                ("… with handshake loss", delay_with),
                ("… without handshake loss", delay_without),
            ],
        );
    }
    let by = match analysis.direction_by {
        DirectionBy::Initiator => "from and to the side that sent the SYN",
        DirectionBy::Interface => "by interface of the capture",
        DirectionBy::Local => "out of and into the local prefixes",
    };
    let mut section = Section::new("directions", format!("Directions, {by}")).table(table);
    if lossy {
        section = section.charts(CHARTS);
    }
    Some(section)
}

pub(super) fn filters(analysis: &Analysis) -> Option<Section> {
    let filters = &analysis.filters;
    if filters.iter().all(|f| f.removed_connections == 0) {
        return None;
    }
    let mut removed =
        Table::new([Head::words("filter"), Head::new("connections", "removed"), Head::new("connections", "remaining")]);
    for filter in filters {
        let cells = vec![Cell::count(filter.removed_connections), Cell::count(filter.connections)];
        let mut about = filter.description.clone();
        if let Some(addresses) = filter.removed_addresses.filter(|&n| n > 0) {
            about += &format!("; {}", plural(addresses, "address", "addresses"));
            if !filter.examples.is_empty() {
                let more = if (filter.examples.len() as u64) < addresses { ", …" } else { "" };
                let examples: Vec<String> = filter.examples.iter().map(|it| named(&analysis.names, it)).collect();
                about += &format!(": {}{more}", examples.join(", "));
            }
        }
        removed.row(Row::new(filter.name, cells).about(&about));
    }
    Some(Section::new("filters", "Filters").table(removed).table(after_filters(analysis)))
}

/// Metrics after each filter that changed them. `directions` shows them after the 45 s filter.
fn after_filters(analysis: &Analysis) -> Table {
    let filters = &analysis.filters;
    let mut lines = Vec::new();
    for (i, filter) in filters.iter().enumerate() {
        let last_of_its_kind = filters.get(i + 1).is_some_and(|next| next.removed_connections > 0);
        if filter.removed_connections > 0 || last_of_its_kind {
            lines.extend(filter.directions.iter().filter(|d| d.packets > 0).map(|d| (filter.name, d)));
        }
    }
    const COLUMNS: [Group; 2] = [
        ("rtx", Quantity::Share, &[("all", packets), ("SYN share", syn_share), ("SYN", syns)]),
        ("delay", Quantity::Time, &[("all", delay_all), ("with", delay_with), ("without", delay_without)]),
    ];
    let mut heads = vec![Head::words("after filter")];
    let mut columns: Vec<std::vec::IntoIter<Cell>> = Vec::new();
    for (subject, quantity, details) in COLUMNS {
        let values = details.iter().map(|(_, of)| {
            let bare = |(_, d): &(&str, &Direction)| (of(d).0, None);
            lines.iter().map(bare).collect()
        });
        let (unit, cells) = numbers(quantity, &values.collect::<Vec<_>>());
        heads.extend(details.iter().map(|(detail, _)| Head::new(subject, format!("{detail} {unit}"))));
        columns.extend(cells.into_iter().map(Vec::into_iter));
    }
    let mut table = Table::new(heads);
    let mut above = "";
    for (filter, direction) in lines {
        if filter != above {
            let nothing = columns.iter().map(|_| Cell::none()).collect();
            table.row(Row::new(filter, nothing));
            above = filter;
        }
        let cells = columns.iter_mut().filter_map(Iterator::next).collect();
        table.row(Row::new(&direction.name, cells).depth(1));
    }
    table
}

/// Accessor of a metric.
type Read = fn(&Direction) -> Value;

/// Columns with a common subject and scale, each with its detail.
type Group = (&'static str, Quantity, &'static [(&'static str, Read)]);

fn packets(d: &Direction) -> Value {
    (d.packet_retransmission_probability, None)
}

fn syn_share(d: &Direction) -> Value {
    (d.syn_share_of_retransmissions, None)
}

fn syns(d: &Direction) -> Value {
    (d.syn_retransmission_probability, None)
}

fn mean(m: &MeanOf) -> Value {
    (m.mean, m.ci95)
}

fn delay_all(d: &Direction) -> Value {
    mean(&d.retransmission_delay_sum_s.detail.all)
}

fn delay_with(d: &Direction) -> Value {
    mean(&d.retransmission_delay_sum_s.detail.with_handshake_loss)
}

fn delay_without(d: &Direction) -> Value {
    mean(&d.retransmission_delay_sum_s.detail.without_handshake_loss)
}
