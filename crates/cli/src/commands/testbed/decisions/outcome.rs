//! Results of replayed captures, for people and for programs.

use super::Input;
use crate::output::{print, ruled_table, warn};
use anyhow::bail;
use gentle_aqm::Spec;
use gentle_testbed::decisions::{CaseError, Decided, Tally};
use serde_json::{Value, json};
use std::process::ExitCode;

/// Version of the JSON format (`docs/json.md`).
const SCHEMA: u32 = 1;

/// Results of every capture under every scheme.
pub(super) struct Outcome<'a> {
    pub(super) inputs: &'a [Input],
    pub(super) schemes: &'a [Spec],
    /// Results by scheme.
    pub(super) decided: &'a [Decided],
}

impl Outcome<'_> {
    /// Prints the results. The exit code is a failure if any decision differs.
    pub(super) fn report(&self, as_json: bool) -> anyhow::Result<ExitCode> {
        for (spec, decided) in self.of_schemes() {
            for complaint in &decided.complaints {
                warn(&format!("{spec}: the kernel complains: {complaint}"));
            }
            for case in &decided.cases {
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

    fn of_schemes(&self) -> impl Iterator<Item = (&Spec, &Decided)> {
        self.schemes.iter().zip(self.decided)
    }

    fn is_alike(&self) -> bool {
        self.decided
            .iter()
            .all(|decided| decided.cases.iter().all(Result::is_ok))
    }

    /// Captures for which the kernel and this program differ.
    fn differences<'a>(
        &'a self,
        decided: &'a Decided,
    ) -> impl Iterator<Item = (&'a Input, &'a CaseError)> {
        self.inputs
            .iter()
            .zip(&decided.cases)
            .filter_map(|(input, case)| Some((input, case.as_ref().err()?)))
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for Input {
            name,
            captured,
            rate,
            beyond,
        } in self.inputs
        {
            let (packets, flows) = (captured.arrivals().len(), captured.flows());
            let left_out = match captured.left_out() {
                0 => String::new(),
                frames => format!(", {frames} frames left out that are not IP"),
            };
            let beyond = match beyond {
                0 => String::new(),
                frames => format!(", the {frames} frames after them not read (--packets)"),
            };
            text += &format!(
                "{name}: {packets} packets of {flows} flows, at {rate}{left_out}{beyond}\n"
            );
        }
        text += &format!("\n{}\n", self.table());
        for (spec, decided) in self.of_schemes() {
            for (input, difference) in self.differences(decided) {
                text += &format!("\n{spec}, {}: {difference}\n", input.name);
            }
        }
        text
    }

    fn table(&self) -> String {
        let head = [
            "scheme",
            "calls",
            "sent",
            "marked",
            "dropped",
            "decided alike",
        ];
        let mut table = ruled_table(head, 1..5);
        for (spec, decided) in self.of_schemes() {
            let (all, alike) = sum(decided);
            let verdict = match decided.cases.len() {
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
                "packets": input.captured.arrivals().len(),
                "flows": input.captured.flows(),
                "left_out": input.captured.left_out(),
                "not_read": input.beyond,
                "rate_bps": input.rate.bits_per_second(),
            })
        };
        let scheme = |(spec, decided): (&Spec, &Decided)| {
            let (all, alike) = sum(decided);
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
                "differences": self.differences(decided).map(difference).collect::<Vec<_>>(),
                "kernel_complaints": decided.complaints,
            })
        };
        json!({
            "version": SCHEMA,
            "gentle": env!("CARGO_PKG_VERSION"),
            "alike": self.is_alike(),
            "captures": self.inputs.iter().map(capture).collect::<Vec<_>>(),
            "results": self.of_schemes().map(scheme).collect::<Vec<_>>(),
        })
    }
}

/// Totals over the captures with identical decisions, and the number of these captures.
fn sum(decided: &Decided) -> (Tally, usize) {
    let mut all = Tally::default();
    let mut alike = 0;
    for tally in decided.cases.iter().flatten() {
        all += *tally;
        alike += 1;
    }
    (all, alike)
}
