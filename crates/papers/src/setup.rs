//! A scenario of a paper with the schemes that it compares.

use gentle_aqm::Spec;
use gentle_experiment::Scenario;
use std::io;

/// A scenario with the schemes to compare, each under the name of its role in the paper.
#[derive(Debug, Clone)]
pub struct Setup {
    /// The scenario.
    pub scenario: Scenario,
    /// Role and scheme. The role is the scheme's name in results, which a variant of an assumption does not change.
    pub schemes: Vec<(&'static str, Spec)>,
    /// Options of a scheme that exclude each other, as several variants of assumptions can have set them.
    pub(crate) conflict: Option<String>,
}

impl Setup {
    /// A built-in scenario file of a paper without schemes. `file` is its path in the project.
    ///
    /// # Panics
    /// The text is not a valid scenario.
    pub fn from_toml(file: &str, text: &str) -> Setup {
        let scenario = Scenario::from_toml(file, text, &|_| Err(io::Error::from(io::ErrorKind::NotFound)));
        Setup {
            scenario: scenario.unwrap_or_else(|error| panic!("built-in scenario: {error}")),
            schemes: Vec::new(),
            conflict: None,
        }
    }

    /// Adds a scheme under the name `role`.
    ///
    /// # Panics
    /// The scheme is not valid.
    #[must_use]
    pub fn scheme(mut self, role: &'static str, spec: &str) -> Setup {
        let spec = spec.parse();
        let spec = spec.unwrap_or_else(|error| panic!("built-in scheme: {error}"));
        self.schemes.push((role, spec));
        self
    }

    /// Adds several schemes.
    #[must_use]
    pub fn schemes(self, schemes: &[(&'static str, &str)]) -> Setup {
        schemes.iter().fold(self, |setup, (role, spec)| setup.scheme(role, spec))
    }

    /// Sets an option of the scheme with the name `role`, if it is compared. If the scheme does not allow the value, as another
    /// option excludes it, the set-up cannot be run ([`Failure::Conflict`](crate::Failure::Conflict)).
    pub fn set_option(&mut self, role: &str, option: &str, value: &str) {
        for (_, spec) in self.schemes.iter_mut().filter(|(name, _)| *name == role) {
            match format!("{} {option}={value}", spec.without(option)).parse() {
                Ok(changed) => *spec = changed,
                Err(error) => self.conflict = Some(error.to_string()),
            }
        }
    }

    /// Replaces the scheme with the name `role`, if it is compared.
    ///
    /// # Panics
    /// The scheme is not valid.
    pub fn replace(&mut self, role: &str, spec: &str) {
        for (_, old) in self.schemes.iter_mut().filter(|(name, _)| *name == role) {
            let new = spec.parse();
            *old = new.unwrap_or_else(|error| panic!("built-in variant: {error}"));
        }
    }

    /// Gives the hosts the TCP profile `name`.
    ///
    /// # Panics
    /// There is no such profile.
    pub fn set_profile(&mut self, name: &str) {
        let set = self.scenario.set_profile(name);
        set.unwrap_or_else(|error| panic!("built-in set-up: {error}"));
    }

    /// Sets the bytes that links add to each IP packet.
    pub fn set_overhead(&mut self, bytes: u32) {
        for link in &mut self.scenario.links {
            link.overhead = bytes;
        }
    }

    /// Sets a knob of the hosts' TCP.
    ///
    /// # Panics
    /// The knob does not exist, or the value is not valid.
    pub fn set_knob(&mut self, knob: &str, value: &str) {
        let set = self.scenario.set_knob(knob, value);
        set.unwrap_or_else(|error| panic!("built-in variant: {error}"));
    }
}
