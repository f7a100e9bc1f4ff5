//! What the measurement of a figure or table returns.

use crate::chart::Chart;
use crate::estimate::Estimate;
use crate::table::Table;

/// Charts, tables and numbers of one figure or table of a paper.
#[derive(Debug, Clone, Default)]
pub struct Measured {
    pub(crate) charts: Vec<Chart>,
    pub(crate) tables: Vec<Table>,
    pub(crate) claims: Vec<(String, Estimate)>,
}

impl Measured {
    /// Nothing yet.
    pub fn new() -> Measured {
        Measured::default()
    }

    /// Adds a chart.
    #[must_use]
    pub fn chart(mut self, chart: impl Into<Chart>) -> Measured {
        self.charts.push(chart.into());
        self
    }

    /// Adds a table.
    #[must_use]
    pub fn table(mut self, table: Table) -> Measured {
        self.tables.push(table);
        self
    }

    /// Adds our number for the claim `name`, without the figure's prefix, in the claim's unit.
    #[must_use]
    pub fn claim(mut self, name: impl Into<String>, ours: Estimate) -> Measured {
        self.claims.push((name.into(), ours));
        self
    }
}
