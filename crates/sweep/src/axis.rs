//! Axes of a grid: a key with its values.

use crate::quantity::{self, Kind, significant};
use gentle_experiment::ScenarioError;
use gentle_experiment::section::{Item, Section};
use serde::{Deserialize, Serialize};

/// Maximum number of values of an axis.
const MOST_VALUES: usize = 100_000;

/// Position of a run on an axis: a number in SI units (seconds, bits per second, bytes, a fraction), or a text where
/// the values of the axis are no numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Coordinate {
    /// Number in SI units.
    Number(f64),
    /// Text as written.
    Text(String),
}

/// One value of an axis: what a scenario, scheme or option gets, and the coordinate.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AxisValue {
    pub(crate) value: toml::Value,
    pub(crate) coordinate: Coordinate,
}

/// A key of the scenario, an option of `gentle compare` or of schemes, with its values.
#[derive(Debug, Clone)]
pub(crate) struct Axis {
    /// Path as in a scenario file (`link.down.delay`), or `rate`, `load`, `tcp.KNOB`, `scheme.OPTION` and so on.
    pub(crate) path: String,
    /// Line and column in the file.
    pub(crate) place: Option<(usize, usize)>,
    pub(crate) values: Values,
}

/// Values of an axis.
#[derive(Debug, Clone)]
pub(crate) enum Values {
    List(Vec<AxisValue>),
    /// Range without steps, from which a sample is drawn.
    Range(Range),
}

/// A range of a quantity.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Range {
    kind: Kind,
    from: f64,
    to: f64,
    log: bool,
    /// Both ends are whole numbers without a unit, and so are all values.
    whole: bool,
}

impl Range {
    /// The value at `fraction`, 0 to 1, of the range.
    pub(crate) fn at(&self, fraction: f64) -> AxisValue {
        let number = match fraction {
            f if f <= 0.0 => self.from,
            f if f >= 1.0 => self.to,
            f if self.log => significant(self.from * libm::pow(self.to / self.from, f)),
            f => significant(self.from + (self.to - self.from) * f),
        };
        if self.whole {
            return scalar(&toml::Value::Integer(number.round() as i64));
        }
        match self.kind {
            Kind::Plain => scalar(&toml::Value::Float(number)),
            kind => scalar(&toml::Value::String(quantity::format(kind, number))),
        }
    }
}

/// A value with its coordinate.
fn scalar(value: &toml::Value) -> AxisValue {
    let coordinate = match value {
        toml::Value::Integer(n) => Coordinate::Number(*n as f64),
        toml::Value::Float(x) => Coordinate::Number(*x),
        toml::Value::String(text) => match quantity::parse(text) {
            Some((_, number)) => Coordinate::Number(number),
            None => Coordinate::Text(text.clone()),
        },
        other => Coordinate::Text(other.to_string()),
    };
    AxisValue { value: value.clone(), coordinate }
}

/// Reads the axes of a table, sorted by path. Tables with the key `from` are ranges, others continue the path.
pub(crate) fn axes(section: Section<'_>, sampled: bool) -> Result<Vec<Axis>, ScenarioError> {
    let mut axes = Vec::new();
    collect(section, "", sampled, &mut axes)?;
    axes.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(axes)
}

fn collect(mut section: Section<'_>, prefix: &str, sampled: bool, axes: &mut Vec<Axis>) -> Result<(), ScenarioError> {
    for (key, item) in section.rest() {
        let path = match prefix {
            "" => key,
            _ => format!("{prefix}.{key}"),
        };
        let place = item.place();
        let twice = item.error("this axis is given twice; give it once");
        let values = if item.is_table() {
            let table = item.section()?;
            if !table.has("from") {
                collect(table, &path, sampled, axes)?;
                continue;
            }
            range(table, sampled)?
        } else if item.is_array() {
            let items = item.array("[\"10ms\", \"20ms\"]")?;
            let values = items.iter().map(value).collect::<Result<Vec<_>, _>>()?;
            Values::List(numbers_or_texts(values))
        } else {
            Values::List(numbers_or_texts(vec![value(&item)?]))
        };
        if axes.iter().any(|axis: &Axis| axis.path == path) {
            return Err(twice);
        }
        axes.push(Axis { path, place, values });
    }
    Ok(())
}

fn value(item: &Item<'_>) -> Result<AxisValue, ScenarioError> {
    let text = item.scalar()?;
    let value = if item.is_text() {
        toml::Value::String(text)
    } else if let Ok(n) = text.parse() {
        toml::Value::Integer(n)
    } else if let Ok(truth) = text.parse() {
        toml::Value::Boolean(truth)
    } else {
        match text.parse() {
            Ok(x) => toml::Value::Float(x),
            Err(_) => {
                return Err(item.error(format!("invalid value {text}: expected a string, a number or true/false")));
            }
        }
    };
    Ok(scalar(&value))
}

/// Values of which all are numbers, or all are texts: a column has one type.
fn numbers_or_texts(mut values: Vec<AxisValue>) -> Vec<AxisValue> {
    let is_number = |value: &AxisValue| matches!(value.coordinate, Coordinate::Number(_));
    if !values.iter().all(is_number) {
        for AxisValue { value, coordinate } in &mut values {
            *coordinate = Coordinate::Text(match value {
                toml::Value::String(text) => text.clone(),
                other => other.to_string(),
            });
        }
    }
    values
}

fn range(mut section: Section<'_>, sampled: bool) -> Result<Values, ScenarioError> {
    let from_item = section.require("from", "\"10ms\"")?;
    let to_item = section.require("to", "\"300ms\"")?;
    let ends = [&from_item, &to_item].map(|item| {
        let text = item.scalar()?;
        quantity::parse(&text).ok_or_else(|| {
            item.error(format!(
                "'{text}' is not a quantity; expected a number, or a string such as \"10ms\", \"20mbit\" or \"64kb\""
            ))
        })
    });
    let [from, to] = ends;
    let ((kind, from), (other, to)) = (from?, to?);
    if kind != other {
        return Err(to_item.error("expected the same unit in from and to, such as \"10ms\" to \"0.3s\""));
    }
    if from >= to {
        return Err(to_item.error("expected to above from"));
    }
    let log = match section.take("log") {
        Some(item) => item.flag()?,
        None => false,
    };
    if log && from <= 0.0 {
        return Err(from_item.error("expected more than zero in a logarithmic range"));
    }
    let is_whole = |item: &Item<'_>| !item.is_text() && item.scalar().is_ok_and(|text| text.parse::<i64>().is_ok());
    let whole = kind == Kind::Plain && is_whole(&from_item) && is_whole(&to_item);
    let range = Range { kind, from, to, log, whole };
    let steps = match section.take("steps") {
        Some(item) => Some(item.count(2..=MOST_VALUES as u64)?),
        None if sampled => None,
        None => {
            return Err(section.error(
                "missing 'steps', the number of values, for example steps = 5; ranges without steps need [sample]",
            ));
        }
    };
    section.finish()?;
    let Some(steps) = steps else {
        return Ok(Values::Range(range));
    };
    let mut values: Vec<AxisValue> = (0..steps).map(|step| range.at(step as f64 / (steps - 1) as f64)).collect();
    // Whole numbers of a fine range repeat.
    values.dedup();
    Ok(Values::List(values))
}
