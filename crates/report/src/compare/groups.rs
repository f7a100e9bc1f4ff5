//! Connections by group of workloads, side by side.

use crate::format::{Quantity, Scale, plain, sizes};
use crate::terminal::{STYLE, align, bare, fits};
use comfy_table::{Cell, CellAlignment};
use gentle_experiment::results::{Comparison, GroupResult};

/// Column with one metric of each group.
pub(super) struct Column {
    pub(super) subject: String,
    /// Statistic of the subject, with its unit.
    pub(super) detail: String,
    /// Cells, one per row.
    pub(super) cells: Vec<String>,
    /// Rank of the column: the highest ranks are dropped first if there is little room; rank 0 stays.
    rank: u8,
}

/// Scheme and group of a row.
pub(super) struct Row<'a> {
    pub(super) scheme: &'a str,
    pub(super) group: &'a str,
}

/// Value and half-width of its confidence interval.
type Measured = (Option<f64>, Option<f64>);

/// Rows for every group under every scheme, and their columns.
pub(super) fn groups(comparison: &Comparison) -> (Vec<Row<'_>>, Vec<Column>) {
    // Groups of applications have tables of their own.
    let connects = |group: &GroupResult| {
        let same = |other: &&GroupResult| other.group == group.group;
        comparison.results.iter().any(|result| {
            result.applications.is_empty()
                || (result.groups.iter().find(same)).is_some_and(|group| group.connections > 0)
        })
    };
    let all = || {
        let schemes = comparison.results.iter();
        let groups =
            schemes.flat_map(|result| result.groups.iter().map(move |group| (result, group)));
        groups.filter(|(_, group)| connects(group))
    };
    let column = |subject: &str,
                  detail: &str,
                  rank: u8,
                  quantity: Quantity,
                  measure: &dyn Fn(&GroupResult) -> Measured| {
        let values: Vec<Measured> = all().map(|(_, group)| measure(group)).collect();
        let scale = Scale::of(quantity, values.iter().filter_map(|(value, _)| *value));
        let detail = [detail, scale.unit];
        Column {
            subject: subject.to_owned(),
            detail: detail.join(" ").trim().to_owned(),
            cells: (values.iter())
                .map(|(value, ci95)| scale.show_ci(*value, *ci95))
                .collect(),
            rank,
        }
    };
    let mut columns = vec![
        column("connections", "", 3, Quantity::Count, &|group| {
            (Some(group.connections as f64), None)
        }),
        column("response", "mean", 0, Quantity::Time, &|group| {
            let time = group.response_time_s;
            (time.mean, time.ci95)
        }),
        column("response", "p95", 4, Quantity::Time, &|group| {
            (group.response_time_s.p95, None)
        }),
    ];
    let ranges = all().next();
    let ranges = ranges.map_or(&[][..], |(_, group)| &group.response_time_by_size);
    for (index, range) in ranges.iter().enumerate() {
        let subject = format!("{} seg.", sizes(range.min_segments, range.max_segments));
        let rank = 2 + 4 * u8::from(index > 0);
        columns.push(column(&subject, "mean", rank, Quantity::Time, &|group| {
            let range = group.response_time_by_size.get(index);
            range.map_or((None, None), |range| (range.mean_s, range.ci95_s))
        }));
    }
    columns.push(column("handshake", "mean", 5, Quantity::Time, &|group| {
        (group.handshake_s.mean, group.handshake_s.ci95)
    }));
    columns.push(column("SYN rtx", "", 1, Quantity::Share, &|group| {
        let (share, ci95) = (&group.retransmission, &group.retransmission_ci95);
        (
            share.connections_with_syn_loss,
            ci95.connections_with_syn_loss,
        )
    }));
    let rows = all().map(|(result, group)| Row {
        scheme: &result.label,
        group: &group.group,
    });
    (rows.collect(), columns)
}

/// Table of groups; empty without groups. Columns are dropped until it fits in `width`.
pub(super) fn table(comparison: &Comparison, width: Option<usize>, color: bool) -> String {
    let (rows, mut columns) = groups(comparison);
    if rows.is_empty() {
        return String::new();
    }
    loop {
        let mut table = bare(STYLE, color);
        let heads = columns
            .iter()
            .map(|column| format!("{}\n{}", column.subject, column.detail));
        table.set_header(
            ["scheme".to_owned(), "group".to_owned()]
                .into_iter()
                .chain(heads),
        );
        for (index, row) in rows.iter().enumerate() {
            let names = [plain(row.scheme), plain(row.group)].map(Cell::new);
            let numbers = columns.iter().map(|column| Cell::new(&column.cells[index]));
            table.add_row(names.into_iter().chain(numbers));
        }
        align(&mut table);
        if let Some(column) = table.column_mut(1) {
            column.set_cell_alignment(CellAlignment::Left);
        }
        let fits = fits(&table, width);
        let least = columns
            .iter()
            .enumerate()
            .max_by_key(|(_, column)| column.rank);
        match least {
            Some((index, column)) if !fits && column.rank > 0 => {
                columns.remove(index);
            }
            _ => return table.trim_fmt() + "\n",
        }
    }
}
