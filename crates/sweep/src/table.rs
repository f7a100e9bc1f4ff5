//! Tables of results, and their CSV.

use crate::error::SweepError;
use gentle_units::foreign::inert;
use std::io::Write;

/// Rows of results, column by column. All columns have the same number of values.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Table {
    columns: Vec<Column>,
}

/// A column of a [`Table`].
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// Name.
    pub name: String,
    /// True if values of the column can be missing, in this table or in others with the same columns.
    pub is_nullable: bool,
    /// A value per row.
    pub values: Values,
}

/// Values of a [`Column`]; `None` is a missing value.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Texts.
    Text(Vec<Option<String>>),
    /// Numbers.
    Number(Vec<Option<f64>>),
    /// Whole numbers of 64 bits.
    Count(Vec<u64>),
    /// Whole numbers of 32 bits.
    Count32(Vec<u32>),
}

impl Table {
    /// The table of columns, each with its name, whether its values can be missing, and its values.
    pub(crate) fn new<N: Into<String>>(columns: impl IntoIterator<Item = (N, bool, Values)>) -> Table {
        let columns =
            columns.into_iter().map(|(name, is_nullable, values)| Column { name: name.into(), is_nullable, values });
        Table { columns: columns.collect() }
    }

    /// Columns.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Values of the first column with a name.
    pub fn column(&self, name: &str) -> Option<&Values> {
        let column = self.columns.iter().find(|column| column.name == name)?;
        Some(&column.values)
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        match self.columns.first().map(|column| &column.values) {
            None => 0,
            Some(Values::Text(values)) => values.len(),
            Some(Values::Number(values)) => values.len(),
            Some(Values::Count(values)) => values.len(),
            Some(Values::Count32(values)) => values.len(),
        }
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|column| column.name.as_str())
    }

    /// Adds the rows of a table with the same columns.
    pub(crate) fn append(&mut self, other: Table) -> Result<(), SweepError> {
        let differ = || SweepError::Output("the columns of two tables differ".to_owned());
        if !self.names().eq(other.names()) {
            return Err(differ());
        }
        for (column, more) in self.columns.iter_mut().zip(other.columns) {
            match (&mut column.values, more.values) {
                (Values::Text(values), Values::Text(more)) => values.extend(more),
                (Values::Number(values), Values::Number(more)) => values.extend(more),
                (Values::Count(values), Values::Count(more)) => values.extend(more),
                (Values::Count32(values), Values::Count32(more)) => values.extend(more),
                _ => return Err(differ()),
            }
        }
        Ok(())
    }
}

impl Values {
    /// Field of a value in CSV, empty if it is missing.
    fn cell(&self, row: usize) -> String {
        match self {
            Values::Text(values) => values[row].as_deref().map(inert).unwrap_or_default(),
            Values::Number(values) => values[row].map_or_else(String::new, |n| n.to_string()),
            Values::Count(values) => values[row].to_string(),
            Values::Count32(values) => values[row].to_string(),
        }
    }
}

/// Tables with the same columns as one.
///
/// # Errors
/// A table is an error, or the columns of two tables differ.
pub fn whole(mut tables: impl Iterator<Item = Result<Table, SweepError>>) -> Result<Table, SweepError> {
    let mut whole = tables.next().transpose()?.unwrap_or_default();
    for table in tables {
        whole.append(table?)?;
    }
    Ok(whole)
}

/// Writes tables with the same columns, one after the other, as CSV. Missing values are empty; numbers have the
/// shortest text that reads back as the same number.
///
/// # Errors
/// Writing failed, or a table is an error.
pub fn csv<W: Write>(tables: impl Iterator<Item = Result<Table, SweepError>>, to: W) -> Result<(), SweepError> {
    let failed = |error: csv::Error| SweepError::Output(error.to_string());
    let mut writer = csv::Writer::from_writer(to);
    let mut begun = false;
    for table in tables {
        let table = table?;
        if !begun {
            writer.write_record(table.names().map(inert)).map_err(failed)?;
            begun = true;
        }
        for row in 0..table.rows() {
            let cells = table.columns.iter().map(|column| column.values.cell(row));
            writer.write_record(cells).map_err(failed)?;
        }
    }
    writer.flush().map_err(|error| SweepError::Output(error.to_string()))
}
