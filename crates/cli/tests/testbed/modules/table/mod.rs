//! What each option of a module can be, in the manner of the kernel's own tc-testing: words for `tc`, and what `tc` shows
//! afterwards.

mod gsp;
mod redfavor;
mod spa;
pub(super) mod tc_testing;

use serde_json::Value;

pub(super) const MODULES: [Module; 3] = [gsp::GSP, redfavor::REDFAVOR, spa::SPA];

/// A module as an operator sees it.
pub(super) struct Module {
    /// Its name for `tc`.
    pub(super) kind: &'static str,
    /// What `tc -j` shows of it when no option was given, a JSON object.
    pub(super) defaults: &'static str,
    /// Each option at both ends of its range and somewhere between, and some together.
    pub(super) settings: &'static [Setting],
    /// Words that are refused, and a part of what is said then.
    pub(super) refused: &'static [(&'static str, &'static str)],
    /// How many of them, the last ones, the module refuses and not its plug-in.
    pub(super) refused_by_kernel: usize,
    /// Number of the first case in tc-testing, which wants one for each: four hexadecimal digits.
    pub(super) first_case: usize,
    /// All that `tc -s -j` shows of it beyond what every qdisc has; parts of parts with a dot between.
    pub(super) statistics: &'static [&'static str],
}

/// Words for `tc`, and what they change of what it shows.
pub(super) struct Setting {
    pub(super) words: &'static str,
    /// Of a new qdisc: a JSON merge patch (RFC 7396) of the defaults.
    pub(super) added: &'static str,
    /// Of one that was there with its defaults, where that is not the same.
    pub(super) changed: Option<&'static str>,
}

const fn set(words: &'static str, shown: &'static str) -> Setting {
    Setting {
        words,
        added: shown,
        changed: None,
    }
}

impl Module {
    pub(super) fn with_defaults(&self) -> Value {
        object(self.defaults)
    }

    /// What is shown of a new qdisc with these words.
    pub(super) fn added(&self, setting: &Setting) -> Value {
        self.patched(setting.added)
    }

    /// What is shown of a qdisc that had its defaults before.
    pub(super) fn changed(&self, setting: &Setting) -> Value {
        self.patched(setting.changed.unwrap_or(setting.added))
    }

    fn patched(&self, patch: &str) -> Value {
        let mut shown = self.with_defaults();
        let options = shown.as_object_mut().expect("an object");
        for (name, value) in object(patch).as_object().expect("an object") {
            if value.is_null() {
                options.remove(name);
            } else {
                options.insert(name.clone(), value.clone());
            }
        }
        shown
    }
}

fn object(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}
