//! Reading of TOML tables key by key, with type and range checks, error positions, and refusal of unknown keys.

use crate::error::ScenarioError;
use gentle_units::{Nanos, Rate, parse_size, suggestion};
use std::cell::RefCell;
use std::ops::{Range, RangeInclusive};
use toml::de::{DeTable, DeValue};

/// The file being read.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    /// Name in error messages.
    pub file: &'a str,
    /// Content.
    pub text: &'a str,
    /// Warnings about values that are valid but possibly unintended.
    pub warnings: &'a RefCell<Vec<String>>,
}

impl<'a> Source<'a> {
    /// Parses the file and returns the top-level table.
    ///
    /// # Errors
    /// The text is not TOML.
    pub fn root(self) -> Result<Section<'a>, ScenarioError> {
        let table = DeTable::parse(self.text).map_err(|error| {
            let problem = format!("not TOML: {}", error.message());
            match error.span() {
                Some(span) => self.error(span, problem),
                None => ScenarioError::whole(self.file, problem),
            }
        })?;
        let span = table.span();
        Ok(Section { source: self, name: String::new(), span, table: table.into_inner(), asked: Vec::new() })
    }

    fn error(self, span: Range<usize>, problem: impl Into<String>) -> ScenarioError {
        ScenarioError::at(self.file, self.text, span, problem)
    }
}

/// A table. Take the known keys out of it, then call [`Section::finish`].
pub struct Section<'a> {
    source: Source<'a>,
    name: String,
    span: Range<usize>,
    table: DeTable<'a>,
    asked: Vec<&'static str>,
}

/// A value with its position.
pub struct Item<'a> {
    source: Source<'a>,
    name: String,
    span: Range<usize>,
    value: DeValue<'a>,
}

impl<'a> Section<'a> {
    /// Removes `key` and returns its value, if present.
    pub fn take(&mut self, key: &'static str) -> Option<Item<'a>> {
        self.asked.push(key);
        let value = self.table.remove(key)?;
        Some(Item { source: self.source, name: self.path(key), span: value.span(), value: value.into_inner() })
    }

    /// Removes `key` and returns its value, or an error with `example` if it is missing.
    pub fn require(&mut self, key: &'static str, example: &str) -> Result<Item<'a>, ScenarioError> {
        self.take(key).ok_or_else(|| self.error(format!("missing '{key}', for example {key} = {example}")))
    }

    /// Removes the sub-table `key` and returns it, if present.
    pub fn section(&mut self, key: &'static str) -> Result<Option<Section<'a>>, ScenarioError> {
        self.take(key).map(Item::section).transpose()
    }

    /// True if the table has `key`.
    pub fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    /// Removes the remaining keys of a table with arbitrary keys and returns them with their values, sorted by name.
    pub fn rest(&mut self) -> Vec<(String, Item<'a>)> {
        let prefix = self.name.clone();
        let source = self.source;
        std::mem::take(&mut self.table)
            .into_iter()
            .map(|(key, value)| {
                let name = key.into_inner().into_owned();
                let item = Item { source, name: join(&prefix, &name), span: value.span(), value: value.into_inner() };
                (name, item)
            })
            .collect()
    }

    /// Returns an error for the first remaining key.
    pub fn finish(self) -> Result<(), ScenarioError> {
        let Some(key) = self.table.keys().min_by_key(|key| key.span().start) else {
            return Ok(());
        };
        Err(self.source.error(
            key.span(),
            format!(
                "unknown key '{}'{}{}; expected one of {}",
                key.get_ref(),
                if self.name.is_empty() { String::new() } else { format!(" in {}", self.name) },
                suggestion(key.get_ref(), self.asked.iter().copied()),
                self.asked.join(", ")
            ),
        ))
    }

    /// An error that concerns the whole table.
    pub fn error(&self, problem: impl std::fmt::Display) -> ScenarioError {
        let problem = if self.name.is_empty() { problem.to_string() } else { format!("{}: {problem}", self.name) };
        self.source.error(self.span.clone(), problem)
    }

    fn path(&self, key: &str) -> String {
        join(&self.name, key)
    }
}

fn join(prefix: &str, key: &str) -> String {
    if prefix.is_empty() { key.to_owned() } else { format!("{prefix}.{key}") }
}

impl<'a> Item<'a> {
    /// An error that concerns this value.
    pub fn error(&self, problem: impl std::fmt::Display) -> ScenarioError {
        self.source.error(self.span.clone(), format!("{}: {problem}", self.name))
    }

    fn wrong(&self, expected: impl std::fmt::Display) -> ScenarioError {
        let found = match &self.value {
            DeValue::String(text) => format!("\"{text}\""),
            DeValue::Integer(n) => n.to_string(),
            DeValue::Float(x) => x.to_string(),
            DeValue::Boolean(b) => b.to_string(),
            DeValue::Datetime(t) => t.to_string(),
            DeValue::Array(_) => "an array".to_owned(),
            DeValue::Table(_) => "a table".to_owned(),
        };
        self.error(format!("invalid value {found}: expected {expected}"))
    }

    /// Line and column of the value in the file, from 1.
    pub fn place(&self) -> Option<(usize, usize)> {
        self.error("").place
    }

    /// True for a table.
    pub fn is_table(&self) -> bool {
        matches!(self.value, DeValue::Table(_))
    }

    /// True for an array.
    pub fn is_array(&self) -> bool {
        matches!(self.value, DeValue::Array(_))
    }

    /// True for a string.
    pub fn is_text(&self) -> bool {
        matches!(self.value, DeValue::String(_))
    }

    /// Returns a string.
    pub fn text(&self) -> Result<&str, ScenarioError> {
        match &self.value {
            DeValue::String(text) => Ok(text),
            _ => Err(self.wrong("a string in quotes")),
        }
    }

    /// Returns true or false.
    pub fn flag(&self) -> Result<bool, ScenarioError> {
        match &self.value {
            DeValue::Boolean(flag) => Ok(*flag),
            _ => Err(self.wrong("true or false")),
        }
    }

    /// Returns a string, or the text of a number or a boolean.
    pub fn scalar(&self) -> Result<String, ScenarioError> {
        match &self.value {
            DeValue::String(text) => Ok(text.to_string()),
            DeValue::Integer(n) => Ok(n.to_string()),
            DeValue::Float(x) => Ok(x.to_string()),
            DeValue::Boolean(b) => Ok(b.to_string()),
            _ => Err(self.wrong("a string, a number or true/false")),
        }
    }

    /// Returns a time, written in quotes.
    pub fn time(&self) -> Result<Nanos, ScenarioError> {
        match &self.value {
            DeValue::String(text) => text.parse().map_err(|e| self.error(e)),
            _ => Err(self.wrong("a time in quotes, such as \"42ms\"")),
        }
    }

    /// Returns a rate, written in quotes.
    pub fn rate(&self) -> Result<Rate, ScenarioError> {
        match &self.value {
            DeValue::String(text) => {
                let rate = text.parse().map_err(|e| self.error(e))?;
                if let Some(remark) = Rate::remark(text) {
                    let remark = self.error(remark).to_string();
                    self.source.warnings.borrow_mut().push(remark);
                }
                Ok(rate)
            }
            _ => Err(self.wrong("a rate in quotes, such as \"2.4mbit\"")),
        }
    }

    /// Returns a size in bytes in `range`, written as a number or as a string with a unit.
    pub fn size(&self, range: RangeInclusive<u64>) -> Result<u64, ScenarioError> {
        match &self.value {
            DeValue::String(text) => {
                let bytes = parse_size(text).map_err(|e| self.error(e))?;
                if range.contains(&bytes) {
                    Ok(bytes)
                } else {
                    Err(self.wrong(format!("{} to {} bytes", range.start(), range.end())))
                }
            }
            _ => self.count(range),
        }
    }

    /// Returns a whole number in `range`.
    pub fn count(&self, range: RangeInclusive<u64>) -> Result<u64, ScenarioError> {
        let expected = || format!("a whole number, {} to {}", range.start(), range.end());
        match &self.value {
            DeValue::Integer(n) => u64::from_str_radix(n.as_str(), n.radix())
                .ok()
                .filter(|n| range.contains(n))
                .ok_or_else(|| self.wrong(expected())),
            _ => Err(self.wrong(expected())),
        }
    }

    /// Returns a number in `range`.
    pub fn real(&self, range: RangeInclusive<f64>) -> Result<f64, ScenarioError> {
        let value = match &self.value {
            DeValue::Integer(n) => n.to_string().parse().ok(),
            DeValue::Float(x) => x.as_str().parse().ok(),
            _ => None,
        };
        value
            .filter(|x| range.contains(x))
            .ok_or_else(|| self.wrong(format!("a number, {} to {}", range.start(), range.end())))
    }

    /// Returns a time above zero.
    pub fn positive_time(&self) -> Result<Nanos, ScenarioError> {
        match self.time()? {
            Nanos::ZERO => Err(self.error("expected more than 0s")),
            time => Ok(time),
        }
    }

    /// Returns the value that belongs to one of several words.
    pub fn choice<T: Copy>(&self, words: &[(&str, T)]) -> Result<T, ScenarioError> {
        let value = || Some(words.iter().find(|(word, _)| self.is(word))?.1);
        value().ok_or_else(|| {
            let names: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            self.none_of(&names)
        })
    }

    /// Whether this is the text `word`.
    pub(crate) fn is(&self, word: &str) -> bool {
        matches!(&self.value, DeValue::String(text) if text == word)
    }

    /// An error for a value that should be one of `words`.
    pub(crate) fn none_of(&self, words: &[&str]) -> ScenarioError {
        let names: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
        let meant = match &self.value {
            DeValue::String(text) => suggestion(text, words.iter().copied()),
            _ => String::new(),
        };
        self.wrong(format!("{}{meant}", names.join(", ")))
    }

    /// Returns a table.
    pub fn section(self) -> Result<Section<'a>, ScenarioError> {
        match self.value {
            DeValue::Table(table) => {
                Ok(Section { source: self.source, name: self.name, span: self.span, table, asked: Vec::new() })
            }
            _ => Err(self.wrong("a table")),
        }
    }

    /// Returns the values of an array with at least one; `example` is shown in errors.
    pub fn array(self, example: &str) -> Result<Vec<Item<'a>>, ScenarioError> {
        match self.value {
            DeValue::Array(array) if array.is_empty() => Err(self
                .source
                .error(self.span, format!("{}: an empty array: expected values, as in {example}", self.name))),
            DeValue::Array(array) => Ok(array
                .into_iter()
                .enumerate()
                .map(|(index, value)| Item {
                    source: self.source,
                    name: format!("{}[{index}]", self.name),
                    span: value.span(),
                    value: value.into_inner(),
                })
                .collect()),
            _ => Err(self.wrong(format!("an array, as in {example}"))),
        }
    }

    /// Returns a range of times, written as one time or as an array `[from, to]`.
    pub fn time_range(self) -> Result<(Nanos, Nanos), ScenarioError> {
        if !matches!(self.value, DeValue::Array(_)) {
            let time = self.time()?;
            return Ok((time, time));
        }
        let whole = self.error("expected one time, or [from, to] with from not above to");
        let items = self.array("[\"20ms\", \"80ms\"]")?;
        let times = items.iter().map(Item::time).collect::<Result<Vec<_>, _>>()?;
        match times[..] {
            [one] => Ok((one, one)),
            [from, to] if from <= to => Ok((from, to)),
            _ => Err(whole),
        }
    }
}
