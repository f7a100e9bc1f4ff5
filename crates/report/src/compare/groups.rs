//! Groups of workloads, side by side: their connections, and their packets on each link.

use crate::columns::{self, legend};
use crate::format::{Quantity, Scale, plain, sizes};
use crate::terminal::{STYLE, align, bare, fits, paragraph};
use comfy_table::{Cell, CellAlignment};
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

/// Value and half-width of its confidence interval.
type Measured = (Option<f64>, Option<f64>);

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
        statistic: &'static str,
        meaning: &'static str,
        rank: u8,
        quantity: Quantity,
        measure: &dyn Fn(&GroupResult) -> Measured,
    ) -> Column {
        let values: Vec<Measured> = self.all.iter().map(|(_, group)| measure(group)).collect();
        let scale = Scale::of(quantity, values.iter().filter_map(|(value, _)| *value));
        let detail = [statistic, scale.unit];
        Column {
            subject: subject.to_owned(),
            detail: detail.join(" ").trim().to_owned(),
            statistic,
            meaning,
            cells: (values.iter()).map(|(value, ci95)| scale.show_ci(*value, *ci95)).collect(),
            rank,
        }
    }

    /// Columns of connections that end, with the sizes `ranges`.
    fn of_connections(&self, ranges: &[SizeBin]) -> Vec<Column> {
        let mut columns = vec![
            self.column(
                "connections",
                "",
                "connections of the group that began in the measured time, all seeds together",
                3,
                Quantity::Count,
                &|group| (Some(group.connections as f64), None),
            ),
            self.column(
                "response",
                "mean",
                "from the first SYN until the initiator knows that all its data and its FIN have arrived",
                0,
                Quantity::Time,
                &|group| {
                    let time = group.response_time_s;
                    (time.mean, time.ci95)
                },
            ),
            self.column(
                "response",
                "p95",
                "95 % of the connections took at most this long",
                4,
                Quantity::Time,
                &|group| (group.response_time_s.p95, None),
            ),
        ];
        for (index, range) in ranges.iter().enumerate() {
            let subject = format!("{} seg.", sizes(range.min_segments, range.max_segments));
            let rank = 2 + 4 * u8::from(index > 0);
            let meaning = "response time of connections of this many segments";
            columns.push(self.column(&subject, "mean", meaning, rank, Quantity::Time, &|group| {
                let range = group.response_time_by_size.get(index);
                range.map_or((None, None), |range| (range.mean_s, range.ci95_s))
            }));
        }
        columns.push(self.column(
            "handshake",
            "mean",
            "from the first SYN until the initiator has the SYN/ACK",
            5,
            Quantity::Time,
            &|group| (group.handshake_s.mean, group.handshake_s.ci95),
        ));
        columns.push(self.column(
            "SYN rtx",
            "",
            "connections that retransmitted a SYN or SYN/ACK",
            1,
            Quantity::Share,
            &|group| {
                let (share, ci95) = (&group.retransmission, &group.retransmission_ci95);
                (share.connections_with_syn_loss, ci95.connections_with_syn_loss)
            },
        ));
        columns
    }

    /// Columns of packets on the link of `of`; their names end in `suffix`.
    fn of_link(&self, suffix: &str, of: OfLink) -> Vec<Column> {
        let columns = OF_LINK.iter().map(|(subject, detail, meaning, rank, quantity, measure)| {
            let subject = format!("{subject}{suffix}");
            self.column(&subject, detail, meaning, *rank, *quantity, &|group| {
                of(&group.links).map_or((None, None), measure)
            })
        });
        columns.collect()
    }
}

/// Columns of the packets of a group on a link: head, meaning, rank, quantity and value.
type LinkColumn = (&'static str, &'static str, &'static str, u8, Quantity, fn(&GroupLinkResult) -> Measured);

const OF_LINK: [LinkColumn; 6] = [
    ("rate", "mean", "bits on the wire that the link carried for the group", 0, Quantity::Rate, |link| {
        (link.rate_bps.mean, link.rate_bps.ci95)
    }),
    ("share of link", "mean", "that rate as a share of the link's rate", 2, Quantity::Share, |link| {
        (link.share.mean, link.share.ci95)
    }),
    (
        "loss",
        "mean",
        "packets of the group dropped on the link, of those offered to its queue",
        1,
        Quantity::Share,
        |link| (link.loss.mean, link.loss.ci95),
    ),
    ("queue", "mean", "sojourn time of the group's packets in the queue", 3, Quantity::Time, |link| {
        (link.queue_delay_s.mean, link.queue_delay_s.ci95)
    }),
    ("queue", "p95", "95 % of the group's packets had at most this sojourn time", 5, Quantity::Time, |link| {
        (link.queue_delay_s.p95, None)
    }),
    ("queue", "p99", "99 % of the group's packets had at most this sojourn time", 4, Quantity::Time, |link| {
        (link.queue_delay_s.p99, None)
    }),
];

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
