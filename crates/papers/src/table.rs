//! Tables as data.

use crate::estimate::Estimate;
use schemars::JsonSchema;
use serde::Serialize;

/// A table of results.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Table {
    /// Title.
    pub title: String,
    /// Heads of the columns.
    pub columns: Vec<String>,
    /// Rows with a cell per column.
    pub rows: Vec<Vec<Cell>>,
}

/// A cell of a table.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Cell {
    /// Text.
    Text(String),
    /// Number with its uncertainty.
    Number {
        /// The number.
        #[serde(flatten)]
        estimate: Estimate,
        /// Digits after the decimal point that readers are shown.
        decimals: u8,
    },
}

impl Cell {
    /// A cell with text.
    pub fn text(text: impl Into<String>) -> Cell {
        Cell::Text(text.into())
    }

    /// A cell with an estimate, shown with `decimals` digits after the decimal point.
    pub fn estimate(estimate: Estimate, decimals: u8) -> Cell {
        Cell::Number { estimate, decimals }
    }

    /// A cell with a number without chance in it.
    pub fn number(value: f64, decimals: u8) -> Cell {
        Cell::estimate(Estimate::exact(value), decimals)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Cell {
        Cell::text(text)
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Cell {
        Cell::Text(text)
    }
}

impl Table {
    /// A table without rows.
    pub fn new<S: Into<String>>(title: &str, columns: impl IntoIterator<Item = S>) -> Table {
        Table { title: title.to_owned(), columns: columns.into_iter().map(Into::into).collect(), rows: Vec::new() }
    }

    /// Adds a row.
    ///
    /// # Panics
    /// The number of cells differs from the number of columns.
    #[must_use]
    pub fn row(mut self, cells: impl IntoIterator<Item = Cell>) -> Table {
        let row: Vec<Cell> = cells.into_iter().collect();
        assert_eq!(row.len(), self.columns.len(), "{}", self.title);
        self.rows.push(row);
        self
    }
}
