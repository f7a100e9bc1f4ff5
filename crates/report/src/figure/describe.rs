//! Charts in words, for readers who do not see them.

use super::axis::title;
use gentle_papers::{Bars, Chart, Curves, Line};
use gentle_units::text::significant;

/// Describes a chart: form, axes, and the values of bars or the ends of curves.
pub(super) fn describe(chart: &Chart) -> String {
    match chart {
        Chart::Curves(curves) => of_curves(curves),
        Chart::Bars(bars) => of_bars(bars),
    }
}

fn of_curves(curves: &Curves) -> String {
    let line = |line: &Line| {
        let name = if line.label.is_empty() { "one series" } else { &line.label };
        match (line.points.first(), line.points.last()) {
            (Some(first), Some(last)) if line.points.len() > 1 => format!(
                "{name}: from {} at {} to {} at {}",
                significant(first.y, 3),
                significant(first.x, 3),
                significant(last.y, 3),
                significant(last.x, 3)
            ),
            (Some(only), _) => format!("{name}: {} at {}", significant(only.y, 3), significant(only.x, 3)),
            (None, _) => format!("{name}: no points"),
        }
    };
    let lines: Vec<String> = curves.lines.iter().map(line).collect();
    format!("{} over {}. {}.", title(&curves.y), title(&curves.x), lines.join("; "))
}

fn of_bars(bars: &Bars) -> String {
    let series = bars.series.iter().map(|series| {
        let values = bars.categories.iter().zip(&series.values).map(|(category, estimate)| {
            let value = estimate.value.map_or("no value".to_owned(), |value| significant(value, 3));
            format!("{category} {value}")
        });
        let values: Vec<String> = values.collect();
        match series.label.is_empty() {
            true => values.join(", "),
            false => format!("{}: {}", series.label, values.join(", ")),
        }
    });
    let series: Vec<String> = series.collect();
    format!("Bars of {}. {}.", title(&bars.y), series.join("; "))
}
