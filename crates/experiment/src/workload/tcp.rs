//! Changes to the scenario's TCP for the hosts of a workload.

use gentle_tcp::{KnobError, Profile, UnknownProfile};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// A different profile, overridden knobs, or both. All values are valid.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct TcpChanges {
    profile: Option<String>,
    knobs: BTreeMap<String, String>,
}

impl TcpChanges {
    /// Replaces the profile by the one named `name`.
    ///
    /// # Errors
    /// No profile has this name.
    pub fn set_profile(&mut self, name: &str) -> Result<(), UnknownProfile> {
        Profile::by_name(name)?;
        self.profile = Some(name.to_owned());
        Ok(())
    }

    /// Overrides one knob.
    ///
    /// # Errors
    /// The knob does not exist, or the value is invalid.
    pub fn set_knob(&mut self, knob: &str, value: &str) -> Result<(), KnobError> {
        // The valid values of a knob do not depend on other knobs.
        Profile::default().set(knob, value)?;
        self.knobs.insert(knob.to_owned(), value.to_owned());
        Ok(())
    }

    /// True if nothing is changed.
    pub fn is_empty(&self) -> bool {
        self.profile.is_none() && self.knobs.is_empty()
    }

    /// Returns `profile` with these changes.
    pub(crate) fn applied_to(&self, profile: &Profile) -> Profile {
        let named = self.profile.as_deref();
        let mut profile = match named {
            Some(name) => Profile::by_name(name).expect("checked when it was set"),
            None => profile.clone(),
        };
        for (knob, value) in &self.knobs {
            profile.set(knob, value).expect("checked when it was set");
        }
        profile
    }
}

/// Writes the changes in the syntax of the command: `freebsd-9.3 initial_rto=200ms`.
impl fmt::Display for TcpChanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let knobs = self.knobs.iter().map(|(knob, value)| format!("{knob}={value}"));
        let parts: Vec<String> = self.profile.iter().cloned().chain(knobs).collect();
        f.write_str(&parts.join(" "))
    }
}
