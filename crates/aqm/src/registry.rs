//! The list of schemes: lookup by name, construction, and the parser of [`Spec`].

use crate::plumbing::error::SpecError;
use crate::plumbing::options::normalized;
use crate::plumbing::scheme::{KernelQdisc, Scheme};
use crate::plumbing::spec::Spec;
use gentle_units::suggestion;
use std::str::FromStr;

pub use crate::schemes::{SCHEMES, build};

/// Returns the scheme named `name`.
pub fn find(name: &str) -> Option<&'static Scheme> {
    SCHEMES.iter().copied().find(|scheme| scheme.name == name)
}

/// Returns the qdisc of kind `kind` (`tc`, `TCA_KIND`) if some scheme uses it.
pub fn kernel_qdisc(kind: &str) -> Option<&'static KernelQdisc> {
    let qdiscs = SCHEMES.iter().filter_map(|scheme| scheme.linux);
    qdiscs
        .map(|syntax| syntax.qdisc)
        .find(|qdisc| qdisc.kind == kind)
}

/// Seed specifications for tests and fuzzing: every scheme with its defaults, presets and samples, and every wrapper's
/// samples over every scheme that it can wrap.
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

impl FromStr for Spec {
    type Err = SpecError;

    /// Parses a scheme and its options, `codel target=20ms ecn` or, in the syntax of `tc`, `codel target 20ms ecn`. The
    /// name of a preset stands for its options.
    fn from_str(text: &str) -> Result<Spec, SpecError> {
        let spec = for_device(text)?;
        spec.check_simulated()?;
        Ok(spec)
    }
}

/// Parses a scheme for a network device, as [`Spec::from_str`] does. Flags that no simulation can have
/// ([`Scheme::unsimulated`]) are accepted.
///
/// # Errors
/// The text names no scheme, or an option or a value that the scheme does not have.
pub fn for_device(text: &str) -> Result<Spec, SpecError> {
    let mut words = text.split_whitespace();
    let name = words
        .next()
        .ok_or_else(|| SpecError::Empty { schemes: names() })?;
    let scheme = find_any_case(name)?;
    let mut options: Vec<&str> = words.collect();
    // The child determines which options exist, so it is resolved before them.
    let child = match scheme.child {
        Some(_) => take_child(&mut options)?.map(find_any_case).transpose()?,
        None => None,
    };
    Spec::from_words(scheme, child, options)
}

/// Removes `child=NAME` or `child NAME` from the words of a wrapper's options and returns the name.
fn take_child<'a>(options: &mut Vec<&'a str>) -> Result<Option<&'a str>, SpecError> {
    let mut child = None;
    let mut rest = Vec::with_capacity(options.len());
    let mut words = options.iter().copied();
    while let Some(word) = words.next() {
        let name = match word.split_once('=') {
            Some((key, name)) if normalized(key) == "child" => Some(name),
            None if normalized(word) == "child" => words.next(),
            _ => {
                rest.push(word);
                continue;
            }
        };
        let name = name.ok_or_else(|| SpecError::NoValue {
            option: "child".to_owned(),
            example: "codel".to_owned(),
        })?;
        if child.replace(name).is_some() {
            return Err(SpecError::Twice {
                option: "child".to_owned(),
            });
        }
    }
    *options = rest;
    Ok(child)
}

fn find_any_case(name: &str) -> Result<&'static Scheme, SpecError> {
    find(&normalized(name)).ok_or_else(|| SpecError::Scheme {
        name: name.to_owned(),
        suggestion: suggestion(name, SCHEMES.iter().map(|scheme| scheme.name)),
        schemes: names(),
    })
}

/// The names of all schemes, for error messages.
fn names() -> String {
    let names: Vec<&str> = SCHEMES.iter().map(|scheme| scheme.name).collect();
    names.join(", ")
}
