//! Results of the measurement of one figure or table.

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

    /// Adds tables.
    #[must_use]
    pub fn tables(mut self, tables: impl IntoIterator<Item = Table>) -> Measured {
        self.tables.extend(tables);
        self
    }

    /// Adds charts.
    #[must_use]
    pub fn charts(mut self, charts: impl IntoIterator<Item = Chart>) -> Measured {
        self.charts.extend(charts);
        self
    }

    /// Adds our numbers for claims, as [`Measured::claim`] does.
    #[must_use]
    pub fn claims<N: Into<String>>(mut self, claims: impl IntoIterator<Item = (N, Estimate)>) -> Measured {
        let claims = claims.into_iter().map(|(name, ours)| (name.into(), ours));
        self.claims.extend(claims);
        self
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
