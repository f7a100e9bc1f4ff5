//! Applications among the workloads of a scenario: calls, games, pages, lookups.

use super::Scenario;
use crate::metrics::record::RunRecord;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An application of a scenario: all workloads that are measured together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Application {
    /// Name: the workloads' group, or else their kind. If a group has applications of several kinds, the kind follows.
    pub name: String,
    /// Kind of the workloads, as in scenario files: `voice`, `pages`.
    pub kind: String,
}

impl Scenario {
    /// Applications among the workloads without duplicates, in order of first use.
    pub fn applications(&self) -> Vec<Application> {
        self.numbered_applications().0
    }

    /// Names of the scalar results of a run with `ranges` ranges of connection sizes, in a fixed order. Results of
    /// applications begin with the name of the application: `voice.delay_s.p99`.
    pub fn metric_names(&self, ranges: usize) -> Vec<String> {
        let applications = self.applications().into_iter();
        let of_applications = applications.flat_map(|application| {
            RunRecord::application_metric_names().map(move |name| format!("{}.{name}", application.name))
        });
        RunRecord::metric_names(ranges).chain(of_applications).collect()
    }

    /// The applications, and for each workload the index of its application; `None`: the workload is no application.
    pub(crate) fn numbered_applications(&self) -> (Vec<Application>, Vec<Option<usize>>) {
        let named = || {
            (self.workloads.iter()).map(|workload| Some((workload.application_name()?, workload.application_kind()?)))
        };
        let mut applications: Vec<Application> = Vec::new();
        let numbers = named().map(|part| {
            let (name, kind) = part?;
            // Lookups and page loads of one group have no common distribution.
            let alone = named().flatten().all(|(other, of)| other != name || of == kind);
            let application = Application {
                name: match alone {
                    true => name.to_owned(),
                    false => format!("{name} {kind}"),
                },
                kind: kind.to_owned(),
            };
            let known = applications.iter().position(|known| *known == application);
            Some(known.unwrap_or_else(|| {
                applications.push(application);
                applications.len() - 1
            }))
        });
        let numbers = numbers.collect();
        (applications, numbers)
    }
}
