//! Comparisons of schemes in the simulator.

use crate::error::{failed, invalid, invalid_argument};
use crate::scenario::Scenario;
use crate::table::{Column, Table};
use crate::work::interruptible;
use arrow_array::{ArrayRef, Float64Array, StringArray, UInt64Array};
use gentle_aqm::Spec;
use gentle_experiment::{Observer, Run, Settings, results};
use gentle_report::Origin;
use pyo3::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Results of a comparison.
#[pyclass(module = "gentle._core", frozen)]
pub(crate) struct Comparison(results::Comparison);

/// Counts runs that have ended.
#[derive(Default)]
struct Finished(AtomicUsize);

impl Observer for Finished {
    fn started(&self, _: Run) {}
    fn reached(&self, _: Run, _: f64) {}
    fn finished(&self, _: Run) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Runs a scenario under each scheme with each seed.
#[pyfunction]
#[pyo3(signature = (scenario, schemes, seeds, bins, reference=None, threads=None, progress=None))]
pub(crate) fn compare(
    py: Python<'_>,
    scenario: &Scenario,
    schemes: Vec<String>,
    seeds: Vec<u64>,
    bins: Vec<u64>,
    reference: Option<&str>,
    threads: Option<usize>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Comparison> {
    let specs: Vec<Spec> = match schemes.as_slice() {
        [] => scenario.0.schemes_to_compare(),
        schemes => {
            let parsed = schemes
                .iter()
                .map(|text| invalid_argument(text, text.parse()));
            parsed.collect::<PyResult<_>>()?
        }
    };
    if seeds.is_empty() {
        return Err(invalid("seeds: expected one or more"));
    }
    if !bins.is_sorted_by(|a, b| a < b) || bins.first() == Some(&0) {
        return Err(invalid(
            "bins: expected sizes in segments of 1 or more, ascending",
        ));
    }
    let reference = reference.map(|label| known(&specs, label)).transpose()?;
    let runs = (specs.len() * seeds.len()).max(1);
    let settings = Settings { seeds, bins };
    let finished = Finished::default();
    let pool = threads.map(|number| rayon::ThreadPoolBuilder::new().num_threads(number).build());
    let pool = pool.transpose().map_err(failed)?;
    let fraction = || finished.0.load(Ordering::Relaxed) as f64 / runs as f64;
    let mut comparison = interruptible(py, progress, fraction, |stop| {
        let make = || gentle_sim::compare(&scenario.0, &specs, &settings, &finished, stop);
        match &pool {
            Some(pool) => pool.install(make),
            None => make(),
        }
    })?;
    if let Some(reference) = reference {
        comparison.set_reference(&reference);
    }
    Ok(Comparison(comparison))
}

/// Label of the scheme `wanted` among `specs`: with its options, or its name if it is the only one of that name.
fn known(specs: &[Spec], wanted: &str) -> PyResult<String> {
    let spec: Spec = invalid_argument("reference", wanted.parse())?;
    if specs.contains(&spec) {
        return Ok(spec.to_string());
    }
    let mut named = specs.iter().filter(|known| known.scheme().name == wanted);
    match (named.next(), named.next()) {
        (Some(known), None) => Ok(known.to_string()),
        _ => Err(invalid(format!(
            "reference: '{wanted}' is not among the schemes compared"
        ))),
    }
}

#[pymethods]
impl Comparison {
    /// Results as JSON, as `gentle compare --json` prints them.
    fn json(&self) -> PyResult<String> {
        serde_json::to_string(&self.0).map_err(failed)
    }

    /// A row per scheme and seed with all scalar results.
    fn runs(&self) -> PyResult<Table> {
        let seeds = self.0.seeds.len();
        let of_results = |label: fn(&results::SchemeResult) -> &String| {
            let labels = self.0.results.iter();
            let labels =
                labels.flat_map(|result| std::iter::repeat_n(label(result).as_str(), seeds));
            Arc::new(labels.map(Some).collect::<StringArray>()) as ArrayRef
        };
        let seed: UInt64Array = (self.0.results.iter())
            .flat_map(|_| self.0.seeds.iter().copied())
            .collect();
        let column = |name: &str, values| Column {
            name: name.to_owned(),
            values,
        };
        let mut columns = vec![
            column("scheme", of_results(|result| &result.label)),
            column("scheme_name", of_results(|result| &result.scheme)),
            column("seed", Arc::new(seed)),
        ];
        let names = self
            .0
            .results
            .first()
            .map_or(&[][..], |result| &result.by_seed);
        for (index, series) in names.iter().enumerate() {
            let results = self.0.results.iter();
            let values = results.flat_map(|result| result.by_seed[index].values.iter().copied());
            let values: Float64Array = values.collect();
            columns.push(column(&series.name, Arc::new(values)));
        }
        Table::new(columns)
    }

    /// The table that `gentle compare` prints, `width` columns wide.
    #[pyo3(signature = (width=None))]
    fn text(&self, width: Option<usize>) -> String {
        gentle_report::compare::table(&self.0, width, false)
    }

    /// The page that `gentle compare --html` writes.
    fn html(&self) -> String {
        let origin = Origin {
            tool: "gentle.compare".to_owned(),
            command: None,
            date: Some(jiff::Timestamp::now()),
        };
        gentle_report::compare::html(&self.0, &origin)
    }
}
