//! Results of replayed captures, for people and for programs.

use super::Input;
use crate::output::{print, ruled_table, warn};
use anyhow::bail;
use gentle_aqm::Spec;
use gentle_testbed::conformance::{CaseError, CaseResults, Tally};
use serde_json::{Value, json};
use std::process::ExitCode;

/// Version of the JSON format (`docs/reference/json.md`).
const SCHEMA: u32 = 2;

/// Results of every capture under every scheme.
pub(super) struct Outcome<'a> {
    pub(super) inputs: &'a [Input],
    pub(super) schemes: &'a [Spec],
    /// Results by scheme.
    pub(super) results: &'a [CaseResults],
}

impl Outcome<'_> {
    /// Prints the results. The exit code is a failure if any decision differs.
    pub(super) fn report(&self, as_json: bool) -> anyhow::Result<ExitCode> {
        for (spec, results) in self.by_scheme() {
            for warning in &results.warnings {
                warn(&format!("{spec}: kernel warning: {warning}"));
            }
            for case in &results.cases {
                if let Err(error @ CaseError::File { .. }) = case {
                    bail!("{spec}: {error}");
                }
            }
        }
        print(&match as_json {
            true => format!("{}\n", self.json()),
            false => self.text(),
        })?;
        Ok(match self.is_alike() {
            true => ExitCode::SUCCESS,
            false => ExitCode::FAILURE,
        })
    }

    fn by_scheme(&self) -> impl Iterator<Item = (&Spec, &CaseResults)> {
        self.schemes.iter().zip(self.results)
    }

    fn is_alike(&self) -> bool {
        self.results.iter().all(|results| results.cases.iter().all(Result::is_ok))
    }

    /// Captures for which the kernel and this program differ.
    fn differences<'a>(&'a self, results: &'a CaseResults) -> impl Iterator<Item = (&'a Input, &'a CaseError)> {
        self.inputs.iter().zip(&results.cases).filter_map(|(input, case)| Some((input, case.as_ref().err()?)))
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for Input { name, arrivals, rate, beyond } in self.inputs {
            let (packets, flows) = (arrivals.packets().len(), arrivals.flows());
            let left_out = match arrivals.skipped() {
                0 => String::new(),
                frames => format!(", {frames} frames left out that are not IP"),
            };
            let beyond = match beyond {
                0 => String::new(),
                frames => format!(", the {frames} frames after them not read (--packets)"),
            };
            text += &format!("{name}: {packets} packets of {flows} flows, at {rate}{left_out}{beyond}\n");
        }
        text += &format!("\n{}\n", self.table());
        for (spec, results) in self.by_scheme() {
            for (input, difference) in self.differences(results) {
                text += &format!("\n{spec}, {}: {difference}\n", input.name);
            }
        }
        text
    }

    fn table(&self) -> String {
        let head = ["scheme", "calls", "sent", "marked", "dropped", "decided alike"];
        let mut table = ruled_table(head, 1..5);
        for (spec, results) in self.by_scheme() {
            let (all, alike) = sum(results);
            let verdict = match results.cases.len() {
                cases if cases == alike => "all".to_owned(),
                cases => format!("{alike} of {cases} captures"),
            };
            table.add_row([
                spec.to_string(),
                all.steps.to_string(),
                all.sent.to_string(),
                all.marked.to_string(),
                all.dropped.to_string(),
                verdict,
            ]);
        }
        table.trim_fmt()
    }

    fn json(&self) -> Value {
        let capture = |input: &Input| {
            json!({
                "path": input.name,
                "packets": input.arrivals.packets().len(),
                "flows": input.arrivals.flows(),
                "left_out": input.arrivals.skipped(),
                "not_read": input.beyond,
                "rate_bps": input.rate.bits_per_second(),
            })
        };
        let scheme = |(spec, results): (&Spec, &CaseResults)| {
            let (all, alike) = sum(results);
            let difference = |(input, error): (&Input, &CaseError)| {
                let step = match error {
                    CaseError::Difference(difference) => Some(difference.step),
                    _ => None,
                };
                json!({ "path": input.name, "step": step, "text": error.to_string() })
            };
            json!({
                "scheme": spec.to_string(),
                "calls": all.steps,
                "sent": all.sent,
                "marked": all.marked,
                "dropped": all.dropped,
                "captures_alike": alike,
                "differences": self.differences(results).map(difference).collect::<Vec<_>>(),
                "kernel_warnings": results.warnings,
            })
        };
        json!({
            "version": SCHEMA,
            "gentle": env!("CARGO_PKG_VERSION"),
            "alike": self.is_alike(),
            "captures": self.inputs.iter().map(capture).collect::<Vec<_>>(),
            "results": self.by_scheme().map(scheme).collect::<Vec<_>>(),
        })
    }
}

/// Totals over the captures with identical decisions, and the number of these captures.
fn sum(results: &CaseResults) -> (Tally, usize) {
    let mut all = Tally::default();
    let mut alike = 0;
    for tally in results.cases.iter().flatten() {
        all += *tally;
        alike += 1;
    }
    (all, alike)
}
