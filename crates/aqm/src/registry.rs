//! Questions to the one list of schemes: parsing, help, docs, the simulator, deployment, the testbed, tests and fuzzing ask.

use super::scheme::{KernelQdisc, Scheme};

pub use crate::schemes::{SCHEMES, build};

/// The scheme of that name.
pub fn find(name: &str) -> Option<&'static Scheme> {
    SCHEMES.iter().copied().find(|scheme| scheme.name == name)
}

/// The qdisc of that kind, where it is that of a scheme.
pub fn kernel_qdisc(kind: &str) -> Option<&'static KernelQdisc> {
    let qdiscs = SCHEMES.iter().filter_map(|scheme| scheme.linux);
    qdiscs
        .map(|form| form.qdisc)
        .find(|qdisc| qdisc.kind == kind)
}

/// Specifications that tests and fuzzing begin with: every scheme with its defaults, its presets and its samples, and with
/// each sample of a wrapper every scheme that it can wrap.
pub fn samples() -> Vec<String> {
    let mut all = Vec::new();
    for scheme in SCHEMES {
        all.push(scheme.name.to_owned());
        let presets = scheme.presets.iter().map(|preset| preset.name);
        let options = presets.chain(scheme.samples.iter().copied());
        all.extend(options.map(|options| format!("{} {options}", scheme.name)));
    }
    let children = SCHEMES.iter().filter(|scheme| scheme.child.is_none());
    let children: Vec<String> = children
        .map(|child| match child.samples.first() {
            Some(options) => format!("child={} {options}", child.name),
            None => format!("child={}", child.name),
        })
        .collect();
    for wrapper in SCHEMES.iter().filter(|scheme| scheme.child.is_some()) {
        for options in wrapper.samples {
            let over = children.iter();
            all.extend(over.map(|child| format!("{} {options} {child}", wrapper.name)));
        }
    }
    all
}

/// The names of all schemes, for messages.
pub(crate) fn names() -> String {
    let names: Vec<&str> = SCHEMES.iter().map(|scheme| scheme.name).collect();
    names.join(", ")
}
