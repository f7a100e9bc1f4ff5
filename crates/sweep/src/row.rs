//! Rows of results: a row per run.

use crate::axis::Coordinate;
use crate::table::{Table, Values};
use gentle_experiment::{Direction, Scenario};
use gentle_runs::{Origin, RunId};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Columns that every row has before the axes and metrics.
pub(crate) const FIXED: [&str; 19] = [
    "key",
    "version",
    "record",
    "engine",
    "backend",
    "scenario",
    "scenario_hash",
    "hosts",
    "tcp",
    "duration_s",
    "rate_bps",
    "up_rate_bps",
    "delay_s",
    "up_delay_s",
    "offered_load",
    "bins",
    "scheme",
    "scheme_name",
    "seed",
];

/// Properties that the runs at a point share.
#[derive(Debug)]
pub(crate) struct Common {
    pub(crate) origin: Origin,
    pub(crate) backend: String,
    pub(crate) bins: String,
    pub(crate) name: String,
    pub(crate) fingerprint: String,
    hosts: String,
    tcp: String,
    /// Duration, rates, delays and load, in the order of [`FIXED`].
    numbers: [f64; 6],
}

impl Common {
    pub(crate) fn new(scenario: &Scenario, fingerprint: String, origin: Origin, backend: &str, bins: &[u64]) -> Common {
        let [down, up] = Direction::BOTH.map(|direction| scenario.link(direction));
        let bins: Vec<String> = bins.iter().map(u64::to_string).collect();
        let knobs = scenario.knobs.iter();
        let knobs: Vec<String> = knobs.map(|(knob, value)| format!("{knob}={value}")).collect();
        Common {
            origin,
            backend: backend.to_owned(),
            bins: bins.join(","),
            name: scenario.name.clone(),
            fingerprint,
            hosts: scenario.profile_name.clone(),
            tcp: knobs.join(" "),
            numbers: [
                scenario.duration.as_secs_f64(),
                down.rate.bits_per_second() as f64,
                up.rate.bits_per_second() as f64,
                down.delay.as_secs_f64(),
                up.delay.as_secs_f64(),
                scenario.load(Direction::Down),
            ],
        }
    }
}

/// One run.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) key: RunId,
    pub(crate) common: Arc<Common>,
    pub(crate) scheme: String,
    pub(crate) scheme_name: &'static str,
    pub(crate) seed: u64,
    pub(crate) coordinates: BTreeMap<String, Coordinate>,
    pub(crate) metrics: Vec<Option<f64>>,
}

/// Columns of the axes of rows; true for texts.
pub(crate) fn axes_of(rows: &[Row]) -> Vec<(String, bool)> {
    let all = rows.iter().flat_map(|row| &row.coordinates);
    let all: BTreeSet<(String, bool)> =
        all.map(|(path, coordinate)| (path.clone(), matches!(coordinate, Coordinate::Text(_)))).collect();
    all.into_iter().collect()
}

/// Rows as a table with the fixed columns, `axes`, and `metrics`.
pub(crate) fn table(rows: &[Row], axes: &[(String, bool)], metrics: &[String]) -> Table {
    let text = |of: &dyn Fn(&Row) -> Option<String>| Values::Text(rows.iter().map(of).collect());
    let number = |of: &dyn Fn(&Row) -> Option<f64>| Values::Number(rows.iter().map(of).collect());
    let mut columns: Vec<(&str, Values)> = Vec::new();
    for (index, name) in FIXED.iter().enumerate() {
        let column = match *name {
            "key" => text(&|row| Some(row.key.to_string())),
            "version" => text(&|row| Some(row.common.origin.version.clone())),
            "record" => Values::Count32(rows.iter().map(|row| row.common.origin.record).collect()),
            "engine" => text(&|row| Some(row.common.origin.engine.clone())),
            "backend" => text(&|row| Some(row.common.backend.clone())),
            "scenario" => text(&|row| Some(row.common.name.clone())),
            "scenario_hash" => text(&|row| Some(row.common.fingerprint.clone())),
            "hosts" => text(&|row| Some(row.common.hosts.clone())),
            "tcp" => text(&|row| Some(row.common.tcp.clone())),
            "bins" => text(&|row| Some(row.common.bins.clone())),
            "scheme" => text(&|row| Some(row.scheme.clone())),
            "scheme_name" => text(&|row| Some(row.scheme_name.to_owned())),
            "seed" => Values::Count(rows.iter().map(|row| row.seed).collect()),
            _ => number(&|row| Some(row.common.numbers[index - NUMBERS])),
        };
        columns.push((name, column));
    }
    for (path, is_text) in axes {
        let column = match is_text {
            true => text(&|row| match row.coordinates.get(path)? {
                Coordinate::Text(text) => Some(text.clone()),
                Coordinate::Number(number) => Some(number.to_string()),
            }),
            false => number(&|row| match row.coordinates.get(path)? {
                Coordinate::Number(number) => Some(*number),
                Coordinate::Text(_) => None,
            }),
        };
        columns.push((path, column));
    }
    for (index, name) in metrics.iter().enumerate() {
        columns.push((name, number(&|row| row.metrics.get(index).copied().flatten())));
    }
    Table::new(columns.into_iter().map(|(name, values)| (name, true, values)))
}

/// Index in [`FIXED`] of the first of [`Common::numbers`].
const NUMBERS: usize = 9;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_of_a_scenario_stand_together() {
        assert_eq!(FIXED[NUMBERS], "duration_s");
        assert_eq!(FIXED[NUMBERS + 5], "offered_load");
    }
}
