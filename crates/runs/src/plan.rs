//! Plans of comparisons.

use gentle_aqm::Spec;
use gentle_experiment::{Part, Scenario, Settings};
use thiserror::Error;

/// Runs of a scenario under several schemes with several seeds.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Scenario.
    pub scenario: Scenario,
    /// Schemes.
    pub schemes: Vec<Spec>,
    /// Seeds, and the ranges of connection sizes that results distinguish.
    pub settings: Settings,
    /// Label of the scheme that the others are compared with; `None`: the first.
    pub reference: Option<String>,
    /// True if each part of the traffic also runs alone, to measure the harm that the others do to it.
    pub harm: bool,
}

impl Plan {
    /// Parts of the traffic that also run alone: applications and groups.
    pub fn parts(&self) -> Vec<Part> {
        match self.harm {
            true => self.scenario.parts(),
            false => Vec::new(),
        }
    }

    /// Number of runs, including the solo runs of parts.
    pub fn runs(&self) -> usize {
        self.schemes.len() * self.settings.seeds.len() * (1 + self.parts().len())
    }
}

/// A reference that is not among the schemes.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("'{wanted}' is not among the schemes compared; expected one of: {}", schemes.join(", "))]
pub struct UnknownReference {
    wanted: String,
    schemes: Vec<String>,
}

/// Label of the reference: the scheme with the options of `wanted`, or the only one with its name.
///
/// # Errors
/// No scheme is `wanted`, or several have its name.
pub fn reference(schemes: &[Spec], wanted: &Spec) -> Result<String, UnknownReference> {
    if schemes.contains(wanted) {
        return Ok(wanted.to_string());
    }
    let wanted = wanted.to_string();
    let mut named = schemes.iter().filter(|scheme| scheme.scheme().name == wanted);
    match (named.next(), named.next()) {
        (Some(scheme), None) => Ok(scheme.to_string()),
        _ => Err(UnknownReference { wanted, schemes: schemes.iter().map(Spec::to_string).collect() }),
    }
}
