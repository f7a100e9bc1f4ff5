//! The list of schemes: lookup by name, construction, and the parser of [`Spec`].

use crate::plumbing::error::SpecError;
use crate::plumbing::options::normalized;
use crate::plumbing::scheme::{KernelQdisc, Scheme};
use crate::plumbing::spec::Spec;
use gentle_units::suggestion;
use std::str::FromStr;

pub use crate::schemes::{SCHEMES, build};

/// Schemes for lists and suggestions: all but examples.
pub fn listed() -> impl Iterator<Item = &'static Scheme> {
    SCHEMES.iter().copied().filter(|scheme| scheme.listed)
}

/// Returns the scheme named `name`.
pub fn find(name: &str) -> Option<&'static Scheme> {
    SCHEMES.iter().copied().find(|scheme| scheme.name == name)
}

/// Returns the qdisc of kind `kind` (`tc`, `TCA_KIND`) if some scheme uses it.
pub fn kernel_qdisc(kind: &str) -> Option<&'static KernelQdisc> {
    let qdiscs = SCHEMES.iter().filter_map(|scheme| scheme.linux);
    qdiscs.map(|syntax| syntax.qdisc).find(|qdisc| qdisc.kind == kind)
}

/// True if the qdisc of kind `kind` (`tc`, `TCA_KIND`) limits the rate of another one.
pub fn is_shaper(kind: &str) -> bool {
    let shapers = SCHEMES.iter().filter(|scheme| scheme.shaper.is_some());
    let mut qdiscs = shapers.filter_map(|scheme| scheme.linux);
    qdiscs.any(|syntax| syntax.qdisc.kind == kind)
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

/// Parses the words of a specification.
fn parse(words: Vec<&str>) -> Result<Spec, SpecError> {
    let mut words = words.into_iter();
    let name = words.next().ok_or_else(|| SpecError::Empty { schemes: names() })?;
    let scheme = find_any_case(name)?;
    let mut options: Vec<&str> = words.collect();
    // The child determines which options exist, so it is resolved before them.
    let child = match scheme {
        Scheme { child: None, .. } => None,
        Scheme { shaper: None, .. } => {
            let name = take_child(&mut options)?;
            name.map(find_any_case).transpose()?.map(Spec::of)
        }
        _ => take_shaped(&mut options)?.map(parse).transpose()?,
    };
    Spec::from_words(scheme, child, options)
}

/// Removes `child=` or `child` and all words after it from the words of a shaper, and returns them.
fn take_shaped<'a>(options: &mut Vec<&'a str>) -> Result<Option<Vec<&'a str>>, SpecError> {
    let key = |word: &str| normalized(word.split('=').next().unwrap_or(word));
    let Some(place) = options.iter().position(|word| key(word) == "child") else {
        return Ok(None);
    };
    let mut child = options.split_off(place);
    match child[0].split_once('=') {
        Some((_, name)) => child[0] = name,
        None => {
            child.remove(0);
        }
    }
    if child.is_empty() {
        return Err(no_child());
    }
    Ok(Some(child))
}

fn no_child() -> SpecError {
    SpecError::NoValue { option: "child".to_owned(), example: "codel".to_owned() }
}

/// Parses a scheme for a network device, as [`Spec::from_str`] does. Flags that no simulation can have
/// ([`Scheme::unsimulated`]) are accepted.
///
/// # Errors
/// The text names no scheme, or an option or a value that the scheme does not have.
pub fn for_device(text: &str) -> Result<Spec, SpecError> {
    parse(text.split_whitespace().collect())
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
        let name = name.ok_or_else(no_child)?;
        if child.replace(name).is_some() {
            return Err(SpecError::Twice { option: "child".to_owned() });
        }
    }
    *options = rest;
    Ok(child)
}

fn find_any_case(name: &str) -> Result<&'static Scheme, SpecError> {
    find(&normalized(name)).ok_or_else(|| SpecError::Scheme {
        name: name.to_owned(),
        suggestion: suggestion(name, listed().map(|scheme| scheme.name)),
        schemes: names(),
    })
}

/// The names of the listed schemes, for error messages.
fn names() -> String {
    let names: Vec<&str> = listed().map(|scheme| scheme.name).collect();
    names.join(", ")
}
