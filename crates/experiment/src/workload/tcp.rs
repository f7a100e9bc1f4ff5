//! Where the TCP of a workload's hosts differs from that of the scenario's.

use gentle_tcp::{KnobError, Profile, UnknownProfile};
use std::collections::BTreeMap;
use std::fmt;

/// Another profile, knobs of it, or both; every value has been checked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TcpChanges {
    profile: Option<String>,
    knobs: BTreeMap<String, String>,
}

impl TcpChanges {
    /// Begins with the profile `name` instead of the scenario's.
    pub fn set_profile(&mut self, name: &str) -> Result<(), UnknownProfile> {
        Profile::by_name(name)?;
        self.profile = Some(name.to_owned());
        Ok(())
    }

    /// Overrides one knob.
    pub fn set_knob(&mut self, knob: &str, value: &str) -> Result<(), KnobError> {
        // What a knob accepts does not depend on the others.
        Profile::default().set(knob, value)?;
        self.knobs.insert(knob.to_owned(), value.to_owned());
        Ok(())
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.profile.is_none() && self.knobs.is_empty()
    }

    /// Hosts whose TCP would otherwise be `profile`.
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

/// As the command takes them: `freebsd-9.3 initial_rto=200ms`.
impl fmt::Display for TcpChanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let knobs = self
            .knobs
            .iter()
            .map(|(knob, value)| format!("{knob}={value}"));
        let parts: Vec<String> = self.profile.iter().cloned().chain(knobs).collect();
        f.write_str(&parts.join(" "))
    }
}
