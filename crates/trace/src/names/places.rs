//! Names of the places in results: servers, clients and prefixes, which results have as text.

use super::Names;
use crate::live::Window;
use crate::results::{Analysis, AttemptGroup, Cause, Finding, Outcomes, Top};
use ipnet::IpNet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

/// Names by address or prefix, such as `192.0.2.7` or `192.0.2.0/24`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct PlaceNames(BTreeMap<String, String>);

impl FromIterator<(String, String)> for PlaceNames {
    fn from_iter<T: IntoIterator<Item = (String, String)>>(entries: T) -> PlaceNames {
        PlaceNames(entries.into_iter().collect())
    }
}

impl PlaceNames {
    /// Name of a place: of an address, an address and port, or a prefix.
    pub fn of(&self, place: &str) -> Option<&str> {
        let name = match place.parse::<SocketAddr>() {
            Ok(server) => self.0.get(&server.ip().to_string()),
            Err(_) => self.0.get(place),
        };
        name.map(String::as_str)
    }

    /// Whether no place has a name.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn all<'a>(names: Names<'_>, places: impl Iterator<Item = &'a str>) -> PlaceNames {
        places.filter_map(|place| named(names, place)).collect()
    }
}

/// Address or prefix of a place, and its name.
fn named(names: Names<'_>, place: &str) -> Option<(String, String)> {
    let server = place.parse::<SocketAddr>().map(|server| server.ip());
    let (key, name) = match server.or_else(|_| place.parse::<IpAddr>()) {
        Ok(address) => (address.to_string(), names.of(address)?),
        Err(_) => (place.to_owned(), names.of_prefix(place.parse::<IpNet>().ok()?)?),
    };
    Some((key, name.to_owned()))
}

/// Names of the places in an analysis.
pub(crate) fn of_analysis(names: Names<'_>, analysis: &Analysis) -> PlaceNames {
    let worst = analysis.findings.iter().filter_map(|finding| match finding {
        Finding::WorstServer { name, .. } => Some(name.as_str()),
        _ => None,
    });
    let groups = groups(&analysis.outcomes).into_iter().chain(of_causes(&analysis.causes));
    let flooding = analysis.filters.iter().flat_map(|filter| &filter.examples);
    let places = of_groups(groups).chain(of_top(&analysis.top)).chain(worst).chain(flooding.map(String::as_str));
    PlaceNames::all(names, places)
}

/// Names of the places in a window.
pub(crate) fn of_window(names: Names<'_>, window: &Window) -> PlaceNames {
    PlaceNames::all(names, of_groups(of_causes(&window.causes)).chain(of_top(&window.top)))
}

fn groups(outcomes: &Outcomes) -> [&AttemptGroup; 11] {
    [
        &outcomes.reset,
        &outcomes.abandoned,
        &outcomes.blackholed,
        &outcomes.dead,
        &outcomes.refused,
        &outcomes.rejected,
        &outcomes.challenged,
        &outcomes.elsewhere,
        &outcomes.scans,
        &outcomes.floods,
        &outcomes.unseen,
    ]
}

fn of_causes(causes: &[Cause]) -> impl Iterator<Item = &AttemptGroup> {
    causes.iter().map(|cause| &cause.group)
}

fn of_groups<'a>(groups: impl Iterator<Item = &'a AttemptGroup>) -> impl Iterator<Item = &'a str> {
    groups.flat_map(|group| &group.most).map(|party| party.name.as_str())
}

fn of_top(top: &Top) -> impl Iterator<Item = &str> {
    let Top { servers, clients, prefixes } = top;
    [servers, clients, prefixes].into_iter().flatten().map(|entry| entry.name.as_str())
}
