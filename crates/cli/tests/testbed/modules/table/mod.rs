//! Values of each option of a module, in the manner of the kernel's tc-testing: arguments for `tc`, and its output
//! afterwards.

mod gentle;
mod gsp;
mod redfavor;
mod spa;
pub(super) mod tc_testing;

use serde_json::Value;

pub(super) const MODULES: [Module; 4] = [gentle::GENTLE, gsp::GSP, redfavor::REDFAVOR, spa::SPA];

/// Module as an operator sees it.
pub(super) struct Module {
    /// Name of the qdisc in `tc`.
    pub(super) kind: &'static str,
    /// Output of `tc -j` without options, a JSON object.
    pub(super) defaults: &'static str,
    /// Settings of each option at both ends of its range and in between, and combinations.
    pub(super) settings: &'static [Setting],
    /// Settings of options that only a new qdisc accepts.
    pub(super) fixed: &'static [Setting],
    /// Rejected arguments, each with a part of the error message.
    pub(super) refused: &'static [(&'static str, &'static str)],
    /// Number of entries at the end of `refused` that are rejected by the module and not by its plug-in.
    pub(super) refused_by_kernel: usize,
    /// Identifier of the first case in tc-testing, which requires one per case: four hexadecimal digits.
    pub(super) first_case: usize,
    /// Fields that `tc -s -j` shows in addition to the fields of every qdisc; nested names are separated by dots.
    pub(super) statistics: &'static [&'static str],
}

/// Arguments for `tc`, and their effect on its output.
pub(super) struct Setting {
    pub(super) words: &'static str,
    /// Effect on a new qdisc: a JSON merge patch (RFC 7396) of the defaults.
    pub(super) added: &'static str,
    /// Effect on an existing qdisc with defaults, if it differs.
    pub(super) changed: Option<&'static str>,
}

const fn set(words: &'static str, shown: &'static str) -> Setting {
    Setting { words, added: shown, changed: None }
}

impl Module {
    pub(super) fn with_defaults(&self) -> Value {
        object(self.defaults)
    }

    /// Output for a new qdisc with these arguments.
    pub(super) fn added(&self, setting: &Setting) -> Value {
        self.patched(setting.added)
    }

    /// Output for a qdisc that had its defaults before.
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
