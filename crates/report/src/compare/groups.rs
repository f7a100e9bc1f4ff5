//! Groups of workloads, side by side: their connections, and their packets on each link.

use crate::columns::{self, legend};
use crate::format::{Quantity, Scale, plain, sizes};
use crate::terminal::{STYLE, align, bare, fits, paragraph};
use comfy_table::{Cell, CellAlignment};
use gentle_experiment::measure::{self, Measured, Metric};
use gentle_experiment::results::{Comparison, GroupLinkResult, GroupLinks, GroupResult, SchemeResult, SizeBin};

/// Column with one metric of each group.
pub(super) struct Column {
    pub(super) subject: String,
    /// Statistic of the subject, with its unit.
    pub(super) detail: String,
    /// Statistic of the subject.
    statistic: &'static str,
    /// Meaning of the column.
    pub(super) meaning: &'static str,
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

/// Result of a group on one of the links.
type OfLink = fn(&GroupLinks) -> Option<&GroupLinkResult>;

fn has_links(group: &GroupResult) -> bool {
    group.links.down.is_some() || group.links.up.is_some()
}

/// Whether the table has rows for `group`. Groups of applications have tables of their own.
pub(super) fn is_shown(comparison: &Comparison, group: &GroupResult) -> bool {
    let results = &comparison.results;
    let connects = results.iter().any(|result| {
        let same = |other: &&GroupResult| other.group == group.group;
        let found = result.groups.iter().find(same);
        found.is_some_and(|group| group.connections > 0)
    });
    let mut applications = results.iter().flat_map(|result| &result.applications);
    connects || !applications.any(|application| application.application == group.group)
}

/// Every group under every scheme.
struct Groups<'a> {
    all: Vec<(&'a SchemeResult, &'a GroupResult)>,
}

impl Groups<'_> {
    fn any(&self, is: impl Fn(&GroupResult) -> bool) -> bool {
        self.all.iter().any(|(_, group)| is(group))
    }

    fn column(
        &self,
        subject: &str,
        column: &measure::Column,
        quantity: Quantity,
        measure: impl Fn(&GroupResult) -> Option<Measured>,
    ) -> Column {
        let values = self.all.iter().map(|(_, group)| measure(group).unwrap_or_default());
        let values: Vec<Measured> = values.collect();
        let scale = Scale::of(quantity, values.iter().filter_map(|measured| measured.value));
        let detail = [column.statistic, scale.unit];
        Column {
            subject: subject.to_owned(),
            detail: detail.join(" ").trim().to_owned(),
            statistic: column.statistic,
            meaning: column.about,
            cells: (values.iter()).map(|measured| scale.show_ci(measured.value, measured.ci95)).collect(),
            rank: column.rank,
        }
    }

    /// Columns of `metrics`, found in the results of a group by `at`; their names end in `suffix`.
    fn listed(
        &self,
        metrics: &[Metric],
        suffix: &str,
        at: impl Fn(&GroupResult, &str) -> Option<Measured>,
    ) -> Vec<Column> {
        let columns = metrics.iter().filter_map(|metric| {
            let column = metric.number.column?;
            let subject = format!("{}{suffix}", column.subject);
            Some(self.column(&subject, &column, metric.number.quantity, |group| at(group, &metric.name)))
        });
        columns.collect()
    }

    /// Columns of connections that end, with the sizes `ranges`.
    fn of_connections(&self, ranges: &[SizeBin]) -> Vec<Column> {
        let metrics = GroupResult::metrics();
        let of_times = |metric: &Metric| metric.name.starts_with("response_time_s.");
        let after = metrics.iter().rposition(of_times).map_or(0, |last| last + 1);
        let (first, others) = metrics.split_at(after);
        let mut columns = self.listed(first, "", GroupResult::at);
        columns.extend(ranges.iter().enumerate().map(|(index, range)| {
            let subject = format!("{} seg.", sizes(range.min_segments, range.max_segments));
            let column = measure::Column {
                subject: "",
                statistic: "mean",
                rank: 2 + 4 * u8::from(index > 0),
                about: "response time of connections of this many segments",
                share_of: None,
            };
            let name = format!("response_time_by_size.{index}.mean_s");
            self.column(&subject, &column, Quantity::Time, |group| group.at(&name))
        }));
        columns.extend(self.listed(others, "", GroupResult::at));
        columns
    }

    /// Columns of packets on the link of `of`; their names end in `suffix`.
    fn of_link(&self, suffix: &str, of: OfLink) -> Vec<Column> {
        self.listed(&GroupLinkResult::metrics(), suffix, |group, name| of(&group.links)?.at(name))
    }
}

/// Every column of the table, with connections of the sizes `ranges`.
pub(super) fn columns(ranges: &[SizeBin]) -> Vec<columns::Column> {
    let nothing = Groups { all: Vec::new() };
    let mut columns = nothing.of_connections(ranges);
    columns.extend(nothing.of_link("", |links| links.down.as_ref()));
    columns.iter().map(columns::Column::from).collect()
}

impl From<&Column> for columns::Column {
    fn from(column: &Column) -> columns::Column {
        columns::Column {
            head: format!("{} {}", column.subject, column.statistic).trim().to_owned(),
            meaning: column.meaning,
        }
    }
}

/// Rows for every group under every scheme, and their columns.
pub(super) fn groups(comparison: &Comparison) -> (Vec<Row<'_>>, Vec<Column>) {
    let schemes = comparison.results.iter();
    let all = schemes.flat_map(|result| result.groups.iter().map(move |group| (result, group)));
    let all = all.filter(|(_, group)| is_shown(comparison, group));
    let groups = Groups { all: all.collect() };
    let mut columns = Vec::new();
    let connects = |group: &GroupResult| group.connections > 0;
    if groups.any(connects) || !groups.any(has_links) {
        let ranges = groups.all.first();
        let ranges = ranges.map_or(&[][..], |(_, group)| &group.response_time_by_size);
        columns.extend(groups.of_connections(ranges));
    }
    // Response times say it all about groups of connections that end.
    if groups.any(|group| !connects(group)) {
        let links: [(&str, OfLink); 2] = [("", |links| links.down.as_ref()), (" up", |links| links.up.as_ref())];
        for (suffix, of) in links {
            if groups.any(|group| of(&group.links).is_some()) {
                columns.extend(groups.of_link(suffix, of));
            }
        }
    }
    let rows = groups.all.iter().map(|(result, group)| Row { scheme: &result.label, group: &group.group });
    (rows.collect(), columns)
}

/// Table of groups with its legend; empty without groups. Columns are dropped until it fits in `width`.
pub(super) fn table(comparison: &Comparison, width: Option<usize>, color: bool) -> String {
    let (rows, mut columns) = groups(comparison);
    if rows.is_empty() {
        return String::new();
    }
    loop {
        let mut table = bare(STYLE, color);
        let heads = columns.iter().map(|column| format!("{}\n{}", column.subject, column.detail));
        table.set_header(["scheme".to_owned(), "group".to_owned()].into_iter().chain(heads));
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
        let least = columns.iter().enumerate().max_by_key(|(_, column)| column.rank);
        match least {
            Some((index, column)) if !fits && column.rank > 0 => {
                columns.remove(index);
            }
            _ => {
                let legend = legend(columns.iter().map(columns::Column::from));
                return table.trim_fmt() + "\n" + &paragraph("", &legend, width);
            }
        }
    }
}
