//! The list of metrics: every number of a scheme's results is one entry of a `results!` block (`table`).
//!
//! An entry has the path of the number in the JSON, its type, the value of a run, the direction of improvement, the quantity and, if
//! tables show it, its column. The structs of the results, their aggregation over seeds with confidence intervals, the JSON and its
//! schema, the results by seed, CSV files, the columns of sweeps, tables and their legends follow from the entries: of a scheme
//! (`scheme`), of connections (`connections`), of links (`links`) and of applications (`application`).

pub(crate) mod application;
pub(crate) mod connections;
pub(crate) mod links;
pub(crate) mod over_seeds;
pub(crate) mod sample;
pub(crate) mod scheme;
pub(crate) mod table;

use crate::results::Better;

/// A number of the results, or of a part of them: an entry of the list.
#[derive(Debug)]
pub struct Number {
    /// Path in the JSON of the part.
    pub path: &'static str,
    /// Comparison of the values of the seeds.
    pub judged: Judged,
    /// Quantity, from which the unit follows.
    pub quantity: Quantity,
    /// Column of tables, if they show it.
    pub column: Option<Column>,
    /// Whether CSV files have a column of its confidence interval, if it has one.
    pub interval: bool,
    /// False for an example that is of no use: only the results of schemes that no list names ([`gentle_aqm::Scheme::listed`]) have
    /// it, and neither schema, help nor documentation names it.
    pub listed: bool,
}

impl Number {
    const fn new(path: &'static str, judged: Judged, quantity: Quantity) -> Number {
        Number { path, judged, quantity, column: None, interval: true, listed: true }
    }

    const fn column(mut self, subject: &'static str, statistic: &'static str, rank: u8, about: &'static str) -> Number {
        self.column = Some(Column { subject, statistic, rank, about, share_of: None });
        self
    }

    const fn share_of(mut self, whole: &'static str) -> Number {
        if let Some(column) = &mut self.column {
            column.share_of = Some(whole);
        }
        self
    }

    const fn without_interval(mut self) -> Number {
        self.interval = false;
        self
    }

    const fn unlisted(mut self) -> Number {
        self.listed = false;
        self
    }
}

/// Direction of improvement of a number, which decides whether schemes are compared by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judged {
    /// Lower values are better.
    Lower,
    /// Higher values are better.
    Higher,
    /// The direction depends on the purpose: the number has values by seed, and schemes are not compared.
    Either,
    /// The number has no values by seed; tables show it.
    Shown,
}

impl Judged {
    /// Direction of improvement; `None`: there is no such direction.
    pub fn better(self) -> Option<Better> {
        match self {
            Judged::Lower => Some(Better::Lower),
            Judged::Higher => Some(Better::Higher),
            Judged::Either | Judged::Shown => None,
        }
    }
}

/// Physical quantity of a number, which determines its unit and digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    /// Seconds.
    Time,
    /// A fraction, 0 to 1, shown in percent.
    Share,
    /// An index, 0 to 1, shown unscaled.
    Index,
    /// A whole number.
    Count,
    /// Events in a minute.
    Frequency,
    /// Bits per second.
    Rate,
}

/// Column of tables.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    /// First line of the head: the subject.
    pub subject: &'static str,
    /// Second line of the head: the statistic of the subject.
    pub statistic: &'static str,
    /// Rank: the columns with the highest ranks are dropped first if there is little room; rank 0 stays.
    pub rank: u8,
    /// Explanation: below tables, in the help and in `docs/reference/columns.md`.
    pub about: &'static str,
    /// Path of a number of which the column shows the share.
    pub share_of: Option<&'static str>,
}

/// A number at its place in the results.
#[derive(Debug, Clone)]
pub struct Metric {
    /// Path in the JSON of a scheme's result, or of the part that was asked about.
    pub name: String,
    /// The number.
    pub number: &'static Number,
}

/// A number found in results, and the half-width of its 95 % confidence interval.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Measured {
    /// The number; `None`: no observation.
    pub value: Option<f64>,
    /// Half-width of the interval, if any.
    pub ci95: Option<f64>,
    /// Whether the number is a sample statistic, which has an interval unless all seeds gave the same value.
    pub sampled: bool,
}

impl Measured {
    /// A number without an interval.
    pub fn bare(value: Option<f64>) -> Measured {
        Measured { value, ..Measured::default() }
    }

    /// A sample statistic.
    pub fn sampled(value: Option<f64>, ci95: Option<f64>) -> Measured {
        Measured { value, ci95, sampled: true }
    }
}
