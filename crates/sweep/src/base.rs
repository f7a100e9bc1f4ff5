//! The scenario that the points of a grid change.

use crate::error::PointError;
use crate::quantity::{self, Kind};
use gentle_experiment::{LinkChange, Scenario, ScenarioError};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::str::FromStr;
use std::sync::Arc;

/// TCP profile of the hosts of built-in scenarios and flow lists, as in `gentle compare`.
pub(crate) const CURRENT_HOSTS: &str = "linux-7.2";

/// Texts of files by their SHA-256 in hexadecimal: flow lists, which may be large and are the same for all batches.
pub type Inputs = BTreeMap<String, Arc<str>>;

/// A scenario as written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "lowercase")]
pub enum Base {
    /// Keys of a scenario file.
    Scenario {
        /// Name of the file.
        file: String,
        /// Content of the file.
        keys: toml::Table,
        /// SHA-256 of the files that it refers to, by the path as written.
        files: BTreeMap<String, String>,
    },
    /// A flow list.
    Flows {
        /// Name of the file.
        file: String,
        /// SHA-256 of its content.
        hash: String,
    },
}

/// A change of the base: the path of an axis, and its value.
pub(crate) type Setting = (String, toml::Value);

/// How a path is applied.
enum Target<'a> {
    /// Option of `gentle compare`.
    Option,
    /// Knob of the hosts' TCP.
    Knob(&'a str),
    /// Key of the scenario file.
    Key,
}

/// Options of `gentle compare` that can be axes.
pub(crate) const OPTIONS: [&str; 5] = ["rate", "up_rate", "load", "duration", "profile"];

fn target(path: &str) -> Target<'_> {
    match path.split_once('.') {
        None if OPTIONS.contains(&path) => Target::Option,
        Some(("tcp", knob)) => Target::Knob(knob),
        _ => Target::Key,
    }
}

/// Makes the scenarios of points; keeps the last file parsed, which points that differ in options only share.
#[derive(Default)]
pub(crate) struct Resolver {
    last: Option<(Base, Vec<Setting>, Scenario)>,
}

impl Resolver {
    /// The scenario of a point.
    pub(crate) fn scenario(
        &mut self,
        base: &Base,
        settings: &[Setting],
        inputs: &Inputs,
    ) -> Result<Scenario, PointError> {
        let is_key = |(path, _): &&Setting| matches!(target(path), Target::Key);
        let keys: Vec<Setting> = settings.iter().filter(is_key).cloned().collect();
        let mut scenario = match &self.last {
            Some((known, known_keys, scenario)) if known == base && *known_keys == keys => scenario.clone(),
            _ => {
                let scenario = parse(base, &keys, inputs)?;
                self.last = Some((base.clone(), keys, scenario.clone()));
                scenario
            }
        };
        change(&mut scenario, settings)?;
        Ok(scenario)
    }
}

fn parse(base: &Base, keys: &[Setting], inputs: &Inputs) -> Result<Scenario, PointError> {
    match base {
        Base::Flows { file, hash } => {
            if let Some((path, _)) = keys.first() {
                return Err(PointError::of(
                    path,
                    format!(
                        "a flow list has no such key; expected {}, tcp.KNOB, scheme.OPTION, or a scenario file with a \
                         workload that replays the list",
                        OPTIONS.join(", ")
                    ),
                ));
            }
            let text = inputs.get(hash).ok_or_else(|| missing(file))?;
            let mut scenario =
                Scenario::from_flows(file, text).map_err(|error| PointError::whole(error.to_string()))?;
            scenario.set_profile(CURRENT_HOSTS).map_err(|error| PointError::whole(error.to_string()))?;
            Ok(scenario)
        }
        Base::Scenario { file, keys: table, files } => {
            let mut table = table.clone();
            for (path, value) in keys {
                set(&mut table, path, value)?;
            }
            let text = toml::to_string(&table).map_err(|error| PointError::whole(error.to_string()))?;
            let read = |path: &str| {
                let found = files.get(path).and_then(|hash| inputs.get(hash));
                found.map(|text| text.to_string()).ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
            };
            Scenario::from_toml(file, &text, &read).map_err(|error: ScenarioError| {
                // Positions in the text made above mean nothing to the user.
                let axis = keys.iter().map(|(path, _)| path);
                let axis = axis.filter(|path| is_cause(&error.problem, path)).max_by_key(|path| path.len());
                PointError { axis: axis.cloned(), problem: error.problem }
            })
        }
    }
}

/// True if a problem with a scenario concerns the key at `path`, or names a part of it.
fn is_cause(problem: &str, path: &str) -> bool {
    problem.starts_with(&spelled(path))
        || path.split('.').any(|part| problem.contains(&format!("unknown key '{part}'")))
}

/// The path as messages about scenario files write it: `workload[0].gap`.
fn spelled(path: &str) -> String {
    let mut text = String::new();
    for part in path.split('.') {
        match part.parse::<usize>() {
            Ok(index) => text += &format!("[{index}]"),
            Err(_) if text.is_empty() => text += part,
            Err(_) => {
                text.push('.');
                text += part;
            }
        }
    }
    text
}

fn missing(file: &str) -> PointError {
    PointError::whole(format!("{file}: the batch lacks its content"))
}

/// Sets the key at a dotted path; numbers are indices of arrays, missing tables are made.
fn set(table: &mut toml::Table, path: &str, value: &toml::Value) -> Result<(), PointError> {
    let mut parts = path.split('.');
    let (Some(first), mut rest) = (parts.next(), parts.peekable()) else {
        return Ok(());
    };
    let mut place = table.entry(first).or_insert_with(|| empty(rest.peek().is_some()));
    while let Some(part) = rest.next() {
        place = match place {
            toml::Value::Array(list) => {
                let length = list.len();
                let index = part.parse::<usize>().ok().filter(|index| *index < length);
                let Some(index) = index else {
                    return Err(PointError::of(
                        path,
                        format!("no element {part}; expected 0 to {}", length.saturating_sub(1)),
                    ));
                };
                &mut list[index]
            }
            toml::Value::Table(inner) => inner.entry(part).or_insert_with(|| empty(rest.peek().is_some())),
            _ => {
                return Err(PointError::of(path, format!("no key '{part}': its parent is not a table")));
            }
        };
    }
    *place = value.clone();
    Ok(())
}

fn empty(is_table: bool) -> toml::Value {
    match is_table {
        true => toml::Value::Table(toml::Table::new()),
        false => toml::Value::Boolean(false),
    }
}

/// Applies options of `gentle compare` and knobs, in the order of that command.
fn change(scenario: &mut Scenario, settings: &[Setting]) -> Result<(), PointError> {
    let given = |name: &str| {
        let mut found = settings.iter().filter(|(path, _)| path == name);
        found.next().map(|(_, value)| value)
    };
    if let Some(value) = given("duration") {
        let duration: gentle_units::Nanos = text("duration", value)?;
        if duration.0 == 0 || duration > gentle_units::Nanos::from_secs(86_400) {
            return Err(PointError::of("duration", "expected more than 0s and at most 86400s"));
        }
        scenario.set_duration(duration);
    }
    if let Some(value) = given("profile") {
        let name: String = text("profile", value)?;
        let set = scenario.set_profile(&name);
        set.map_err(|error| PointError::of("profile", error))?;
    }
    for (path, value) in settings {
        if let Target::Knob(knob) = target(path) {
            let set = scenario.set_knob(knob, &plain(value));
            set.map_err(|error| PointError::of(path, error))?;
        }
    }
    let rate = |name: &str| given(name).map(|value| text(name, value)).transpose();
    let change = LinkChange { down: rate("rate")?, up: rate("up_rate")?, load: given("load").map(load).transpose()? };
    if change != LinkChange::default() {
        let changed = scenario.change_links(&change);
        changed.map_err(|error| PointError::of("load", error))?;
    }
    Ok(())
}

fn load(value: &toml::Value) -> Result<f64, PointError> {
    let load = match quantity::parse(&plain(value)) {
        Some((Kind::Plain | Kind::Percent, load)) => Some(load),
        _ => None,
    };
    load.filter(|load| (0.001..=10.0).contains(load)).ok_or_else(|| {
        PointError::of(
            "load",
            format!(
                "'{}' is not a load; expected a fraction of the rate, 0.001 to 10, or a percentage such as \"88%\"",
                plain(value)
            ),
        )
    })
}

fn text<T: FromStr>(name: &str, value: &toml::Value) -> Result<T, PointError>
where
    T::Err: std::fmt::Display,
{
    plain(value).parse().map_err(|error| PointError::of(name, error))
}

/// A scalar without quotes.
pub(crate) fn plain(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
