//! Contents of a report, independent of the output format.
//!
//! Names and texts may come from a capture or a file name. They are sanitized here, so that neither output format has
//! to.

use super::columns::{explained, meaning};
use crate::format::{NONE, Quantity, Scale, count, plain, time, unbroken};
use gentle_trace::results::Quantiles;

/// Heading with its contents.
pub(super) struct Section {
    /// Anchor of the section in the page.
    pub(super) id: &'static str,
    pub(super) title: String,
    /// Whether the page may place the section beside another one.
    pub(super) narrow: bool,
    /// Charts, shown by the page only.
    pub(super) charts: &'static [Chart],
    pub(super) blocks: Vec<Block>,
}

impl Section {
    pub(super) fn new(id: &'static str, title: impl Into<String>) -> Self {
        Self { id, title: plain(&title.into()), narrow: false, charts: &[], blocks: Vec::new() }
    }

    pub(super) fn narrow(mut self) -> Self {
        self.narrow = true;
        self
    }

    pub(super) fn charts(mut self, charts: &'static [Chart]) -> Self {
        self.charts = charts;
        self
    }

    pub(super) fn prose(mut self, sentence: impl Into<String>) -> Self {
        self.blocks.push(Block::Prose(plain(&sentence.into())));
        self
    }

    /// Adds a list of sentences unless it is empty.
    pub(super) fn list(mut self, sentences: &[String]) -> Self {
        if !sentences.is_empty() {
            let sentences = sentences.iter().map(|s| unbroken(&plain(s)));
            self.blocks.push(Block::List(sentences.collect()));
        }
        self
    }

    /// Adds names with values unless there are none.
    pub(super) fn facts(mut self, facts: Vec<(String, String)>) -> Self {
        if !facts.is_empty() {
            let facts = facts.iter().map(|(name, value)| (plain(name), plain(value)));
            self.blocks.push(Block::Facts(facts.collect()));
        }
        self
    }

    /// Adds a table unless it has no rows.
    pub(super) fn table(mut self, table: Table) -> Self {
        if !table.rows.is_empty() {
            self.blocks.push(Block::Table(table));
        }
        self
    }

    /// Adds the meanings of names in its tables that need an explanation.
    pub(super) fn explained(self) -> Self {
        let tables = self.blocks.iter().filter_map(|block| match block {
            Block::Table(table) => Some(table),
            _ => None,
        });
        let sentence = explained(&self.title, &tables.collect::<Vec<&Table>>());
        match sentence.is_empty() {
            true => self,
            false => self.prose(sentence),
        }
    }

    /// Meaning of a column; empty if its head needs no explanation.
    pub(super) fn meaning(&self, head: &Head) -> &'static str {
        meaning(&self.title, &format!("{} {}", head.subject, head.detail))
    }

    /// The section, or `None` if it has a heading only.
    pub(super) fn unless_empty(self) -> Option<Self> {
        (!self.blocks.is_empty() || !self.charts.is_empty()).then_some(self)
    }
}

/// Chart: its name in `assets/analyze.js`, its caption, and a reading hint.
pub(super) struct Chart {
    pub(super) name: &'static str,
    pub(super) caption: &'static str,
    pub(super) hint: &'static str,
    /// Colours in the chart as CSS classes, with their meanings.
    pub(super) keys: &'static [(&'static str, &'static str)],
    pub(super) wide: bool,
}

pub(super) enum Block {
    Prose(String),
    List(Vec<String>),
    Facts(Vec<(String, String)>),
    Table(Table),
}

/// Table rows, each with a name and one cell per column after the first.
pub(super) struct Table {
    pub(super) caption: Option<String>,
    pub(super) heads: Vec<Head>,
    pub(super) rows: Vec<Row>,
}

impl Table {
    pub(super) fn new(heads: impl IntoIterator<Item = Head>) -> Self {
        Self { caption: None, heads: heads.into_iter().collect(), rows: Vec::new() }
    }

    pub(super) fn caption(mut self, caption: impl Into<String>) -> Self {
        self.caption = Some(plain(&caption.into()));
        self
    }

    pub(super) fn row(&mut self, row: Row) {
        self.rows.push(row);
    }
}

/// Head of a column.
pub(super) struct Head {
    pub(super) subject: String,
    /// Second line: the unit, or the statistic of the subject.
    pub(super) detail: String,
    pub(super) left: bool,
    /// Whether the cells are bars.
    pub(super) bars: bool,
}

impl Head {
    pub(super) fn new(subject: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { subject: plain(&subject.into()), detail: plain(&detail.into()), left: false, bars: false }
    }

    /// Head of a column of bars. Only the page shows its name: in a terminal, bars have no head.
    pub(super) fn bars(subject: impl Into<String>) -> Self {
        Self { bars: true, ..Self::words(subject) }
    }

    /// Head of a left-aligned column of text.
    pub(super) fn words(subject: impl Into<String>) -> Self {
        Self { left: true, ..Self::new(subject, "") }
    }
}

/// Row of a table.
pub(super) struct Row {
    pub(super) name: String,
    /// Nesting level below the row that this one is a part of.
    pub(super) depth: usize,
    /// Explanation of the name, if it needs one.
    pub(super) about: Option<String>,
    pub(super) cells: Vec<Cell>,
}

impl Row {
    pub(super) fn new(name: impl Into<String>, cells: Vec<Cell>) -> Self {
        Self { name: plain(&name.into()), depth: 0, about: None, cells }
    }

    pub(super) fn about(mut self, about: &str) -> Self {
        self.about = Some(plain(about));
        self
    }

    pub(super) fn depth(mut self, depth: usize) -> Self {
        self.depth = depth;
        self
    }
}

pub(super) enum Cell {
    Text(String),
    /// Text to copy verbatim. A terminal without room for the column shows it in lines below the table.
    Code(String),
    /// Bar with a length of this share, 0 to 1, of its column.
    Bar(f64),
}

impl Cell {
    pub(super) fn none() -> Self {
        Cell::Text(String::new())
    }

    pub(super) fn text(text: impl Into<String>) -> Self {
        Cell::Text(plain(&text.into()))
    }

    pub(super) fn count(n: u64) -> Self {
        Cell::Text(count(n))
    }
}

/// Number and half-width of its confidence interval.
pub(super) type Value = (Option<f64>, Option<f64>);

/// Common unit and cells of several rows or columns of numbers to be compared, all with the same number of decimals.
pub(super) fn numbers(quantity: Quantity, rows: &[Vec<Value>]) -> (&'static str, Vec<Vec<Cell>>) {
    let all = rows.iter().flatten();
    let scale = Scale::of(quantity, all.filter_map(|(value, _)| *value));
    let cell = |&(value, ci95): &Value| Cell::Text(scale.show_ci(value, ci95));
    let cells = rows.iter().map(|row| row.iter().map(cell).collect());
    (scale.unit, cells.collect())
}

/// Table of round-trip times with a row each; rows without observations are left out.
pub(super) fn round_trips<'a>(rows: impl IntoIterator<Item = (&'a str, Quantiles)>) -> Table {
    let heads = ["median", "mean", "p95", "p99", "longest"].map(|which| Head::new(which, ""));
    let mut table = Table::new(std::iter::once(Head::words("round-trip time")).chain(heads));
    for (name, q) in rows.into_iter().filter(|(_, q)| q.n > 0) {
        let times = [q.p50, q.mean, q.p95, q.p99, q.max];
        let cells = times.map(|value| Cell::Text(value.map_or(NONE.to_owned(), time)));
        table.row(Row::new(name, cells.into()));
    }
    table
}
