//! Columns of tables with their meanings: below the tables, in the help and in the documentation.

use crate::format::plain;

/// A column of a table, or a row that is a quantity, and its meaning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its head: subject and statistic, `loss SYN`.
    pub head: String,
    /// Its meaning, as a noun phrase or clause.
    pub meaning: &'static str,
}

/// Meanings of `columns` in one sentence; of columns with one meaning the first is named. Empty without columns.
pub(crate) fn legend(columns: impl Iterator<Item = Column>) -> String {
    let mut explained: Vec<Column> = Vec::new();
    for column in columns {
        let known = explained.iter().any(|other| other.meaning == column.meaning);
        if !known && !column.meaning.is_empty() {
            explained.push(column);
        }
    }
    if explained.is_empty() {
        return String::new();
    }
    let explained = explained.iter().map(|column| format!("{}: {}", plain(&column.head), column.meaning));
    explained.collect::<Vec<String>>().join("; ") + "."
}
