//! A scheme with its options, read from text such as `codel target=20ms ecn`.

use crate::error::SpecError;
use crate::options::{Kind, Options};
use crate::registry::{self, Scheme};
use std::fmt;
use std::str::FromStr;

/// A scheme and its options, checked: it can be built.
#[derive(Debug, Clone, PartialEq)]
pub struct Spec {
    scheme: &'static Scheme,
    options: Options,
    child: Option<Box<Spec>>,
}

impl Spec {
    /// The scheme at its defaults.
    pub fn of(scheme: &'static Scheme) -> Spec {
        Spec {
            scheme,
            options: Options::defaults(scheme.options),
            child: scheme.child.map(|name| {
                let child = registry::find(name).expect("a default child is a scheme");
                Box::new(Spec::of(child))
            }),
        }
    }

    /// Which scheme.
    pub fn scheme(&self) -> &'static Scheme {
        self.scheme
    }

    /// Its own options.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// The scheme beneath, where this one wraps another (`spa`, `syn_prio`, `syn_fin_prio`).
    pub fn child(&self) -> Option<&Spec> {
        self.child.as_deref()
    }

    /// Every option in force, name and value as text, those of the child included (they follow its name, as written).
    pub fn settings(&self) -> Vec<(String, String)> {
        let mut list: Vec<(String, String)> = self
            .options
            .iter()
            .map(|(name, value)| {
                let text = value.map_or_else(|| "unset".to_owned(), |v| v.to_string());
                (name.to_owned(), text)
            })
            .collect();
        if let Some(child) = &self.child {
            list.push(("child".to_owned(), child.scheme.name.to_owned()));
            list.extend(child.settings());
        }
        list
    }

    fn accepted(&self) -> String {
        let mut list: Vec<String> = self
            .options
            .specs()
            .iter()
            .map(|option| format!("{} ({})", option.name, option.kind))
            .collect();
        if let Some(child) = &self.child {
            list.push("child (a scheme)".to_owned());
            list.push(format!(
                "and those of its child {}: {}",
                child.scheme.name,
                child.accepted()
            ));
        }
        if list.is_empty() {
            return "none".to_owned();
        }
        list.join(", ")
    }

    fn set(&mut self, name: &str, text: &str) -> Result<bool, SpecError> {
        if self.options.set(name, text)? {
            return Ok(true);
        }
        match &mut self.child {
            Some(child) => child.set(name, text),
            None => Ok(false),
        }
    }

    fn kind_of(&self, name: &str) -> Option<Kind> {
        let own = self.options.specs().iter().find(|o| o.name == name);
        match (own, &self.child) {
            (Some(option), _) => Some(option.kind),
            (None, Some(child)) => child.kind_of(name),
            (None, None) => None,
        }
    }

    /// Applies one word of a specification: `name=value`, `flag` or `noflag`.
    fn apply(&mut self, word: &str) -> Result<(), SpecError> {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word, None),
        };
        let known = match value {
            Some(value) => self.set(name, value)?,
            None => match self.kind_of(name) {
                Some(Kind::Flag) => self.set(name, "on")?,
                Some(kind) => {
                    return Err(SpecError::NoValue {
                        option: name.to_owned(),
                        example: example(kind),
                    });
                }
                None => match name.strip_prefix("no") {
                    Some(flag) if self.kind_of(flag) == Some(Kind::Flag) => {
                        self.set(flag, "off")?
                    }
                    _ => false,
                },
            },
        };
        if known {
            return Ok(());
        }
        Err(SpecError::Option {
            scheme: self.scheme.name.to_owned(),
            option: name.to_owned(),
            accepted: self.accepted(),
        })
    }

    fn check(&self) -> Result<(), SpecError> {
        (self.scheme.check)(&self.options).map_err(|problem| SpecError::Combination {
            scheme: self.scheme.name.to_owned(),
            problem,
        })?;
        self.child.as_ref().map_or(Ok(()), |child| child.check())
    }
}

fn example(kind: Kind) -> String {
    match kind {
        Kind::Time(min, _) => min.to_string(),
        Kind::Size(min, _) | Kind::Count(min, _) => min.to_string(),
        Kind::Real(min, _) => min.to_string(),
        Kind::Rate(min, _) => min.to_string(),
        Kind::Threshold => "10ms".to_owned(),
        Kind::Flag => "on".to_owned(),
        Kind::Choice(words) => words.join("|"),
    }
}

impl FromStr for Spec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Spec, SpecError> {
        let mut words = text.split_whitespace();
        let name = words.next().ok_or_else(|| SpecError::Empty {
            schemes: registry::names(),
        })?;
        let mut spec = Spec::of(find(name)?);
        // The child decides which options there are, so it is settled first.
        if spec.child.is_some()
            && let Some(child) = text
                .split_whitespace()
                .filter_map(|word| word.strip_prefix("child="))
                .next_back()
        {
            let child = find(child)?;
            if child.child.is_some() {
                return Err(SpecError::Value {
                    option: "child".to_owned(),
                    problem: format!(
                        "'{}' is itself a wrapper; expected a scheme that stores packets",
                        child.name
                    ),
                });
            }
            spec.child = Some(Box::new(Spec::of(child)));
        }
        for word in words {
            if spec.child.is_some() && word.starts_with("child=") {
                continue;
            }
            spec.apply(word)?;
        }
        spec.check()?;
        Ok(spec)
    }
}

fn find(name: &str) -> Result<&'static Scheme, SpecError> {
    registry::find(name).ok_or_else(|| SpecError::Scheme {
        name: name.to_owned(),
        schemes: registry::names(),
    })
}

/// The shortest text that reads back as the same specification: the scheme, then the options that were given.
impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.scheme.name)?;
        for (name, value) in self.options.given() {
            write!(f, " {name}={value}")?;
        }
        if let Some(child) = &self.child {
            if self.scheme.child != Some(child.scheme.name) {
                write!(f, " child={}", child.scheme.name)?;
            }
            for (name, value) in child.options.given() {
                write!(f, " {name}={value}")?;
            }
        }
        Ok(())
    }
}
