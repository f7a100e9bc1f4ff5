//! Intervals between duplicates: histograms and the underlying backoff series.

use crate::analyze::histogram::{Range, ranges};
use crate::analyze::section::{Cell, Chart, Head, Row, Section, Table};
use crate::format::{count, interval, plural};
use gentle_trace::results::{Analysis, IntervalHistogram};

const HINT: &str = "bar height: square root of the count, so that rare intervals are visible";

const KEYS: &[(&str, &str)] = &[("near", "near a standard interval"), ("stray", "other")];

const CHARTS: &[Chart] = &[
    Chart {
        name: "syn-intervals",
        caption: "Time from a SYN to its next duplicate",
        hint: HINT,
        keys: KEYS,
        wide: true,
    },
    Chart {
        name: "synack-intervals",
        caption: "Time from a SYN/ACK to its next duplicate",
        hint: HINT,
        keys: KEYS,
        wide: true,
    },
];

pub(super) fn intervals(analysis: &Analysis) -> Option<Section> {
    let i = &analysis.intervals;
    if i.syn.total + i.synack.total == 0 {
        return None;
    }
    let charts = match (i.syn.total, i.synack.total) {
        (_, 0) => &CHARTS[..1],
        (0, _) => &CHARTS[1..],
        _ => CHARTS,
    };
    let mut series = Table::new([Head::words("backoff series"), Head::words("of"), Head::new("count", "")]);
    for s in i.series.iter().filter(|s| s.count > 0) {
        let of = match s.segment {
            "synack" => "SYN/ACK",
            _ => "SYN",
        };
        series.row(Row::new(&s.label, vec![Cell::text(of), Cell::count(s.count)]));
    }
    Some(
        Section::new("intervals", "Time between duplicates")
            .charts(charts)
            .table(histogram("SYN", &i.syn))
            .table(histogram("SYN/ACK", &i.synack))
            .table(series),
    )
}

fn histogram(segment: &str, histogram: &IntervalHistogram) -> Table {
    let mut table = Table::new([
        Head::words("between"),
        Head::new("count", ""),
        Head::bars("share of the most"),
        Head::words("standard"),
    ])
    .caption(format!(
        "{} between duplicate {segment}s, {} not near a standard one",
        plural(histogram.total, "interval", "intervals"),
        count(histogram.outside)
    ));
    let ranges = ranges(histogram);
    let most = ranges.iter().map(|range| range.count).max().unwrap_or(0);
    for range in ranges {
        let standard: Vec<String> =
            range.standard.iter().map(|(s, n)| format!("{}: {}", interval(*s), count(*n))).collect();
        let cells = vec![
            Cell::count(range.count),
            Cell::Bar(range.count as f64 / most as f64),
            Cell::Text(standard.join(", ")),
        ];
        table.row(Row::new(name(&range), cells));
    }
    table
}

/// Name of a range: `0.3–0.7 s`, `10–100 ms`, `over 80 s`.
fn name(range: &Range) -> String {
    match range.to_s {
        None => format!("over {}", interval(range.from_s)),
        Some(to) if range.from_s == 0.0 => format!("up to {}", interval(to)),
        Some(to) => {
            let (from, to) = (interval(range.from_s), interval(to));
            // A common unit is written once.
            match (from.split_once(' '), to.split_once(' ')) {
                (Some((number, from_unit)), Some((_, to_unit))) if from_unit == to_unit => {
                    format!("{number}–{to}")
                }
                _ => format!("{from}–{to}"),
            }
        }
    }
}
