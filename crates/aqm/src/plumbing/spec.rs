//! Specification of a queue: a scheme with its options, such as `codel target=20ms ecn`.
//!
//! The parser of whole specifications is in [`registry`](crate::registry), which knows the schemes by name.

use crate::plumbing::error::SpecError;
use crate::plumbing::options::{Kind, OptionSpec, Options, Value, keyword, normalized};
use crate::plumbing::qdisc::DropReason;
use crate::plumbing::scheme::{KernelQdisc, Origin, Scheme};
use gentle_units::suggestion;
use std::fmt;

/// A scheme with valid options, ready for [`registry::build`](crate::registry::build).
#[derive(Debug, Clone, PartialEq)]
pub struct Spec {
    scheme: &'static Scheme,
    options: Options,
    child: Option<Box<Spec>>,
}

impl Spec {
    /// Returns `scheme` with default options.
    pub fn of(scheme: &'static Scheme) -> Spec {
        Spec {
            scheme,
            options: Options::defaults(scheme.options),
            child: scheme.child.map(|child| Box::new(Spec::of(child))),
        }
    }

    /// Parses the option words of `scheme`, a wrapper over `child` unless that is `None` (the default child).
    pub(crate) fn from_words(
        scheme: &'static Scheme,
        child: Option<Spec>,
        words: Vec<&str>,
    ) -> Result<Spec, SpecError> {
        let mut spec = Spec::of(scheme);
        if let Some(child) = child {
            if child.child.is_some() && scheme.shaper.is_none() {
                return Err(SpecError::Value {
                    option: "child".to_owned(),
                    problem: format!(
                        "'{}' is itself a wrapper; expected a scheme that stores packets",
                        child.scheme.name
                    ),
                });
            }
            spec.child = Some(Box::new(child));
        }
        let mut words = words.into_iter();
        let mut presets = Vec::new();
        while let Some(word) = words.next() {
            let name = normalized(word);
            if spec.has_preset(&name) {
                presets.push(name);
            } else {
                spec.apply(word, &mut words)?;
            }
        }
        spec.apply_presets(&presets)?;
        spec.check()?;
        Ok(spec)
    }

    /// The scheme.
    pub fn scheme(&self) -> &'static Scheme {
        self.scheme
    }

    /// Options of the scheme itself, without its child's.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// The wrapped scheme of a wrapper (`spa`, `syn_prio`, `syn_fin_prio`, shapers); `None` for other schemes.
    pub fn child(&self) -> Option<&Spec> {
        self.child.as_deref()
    }

    /// The child as it is built and deployed: options of a shaper may change it.
    pub fn beneath(&self) -> Option<Spec> {
        let child = self.child()?;
        let adapted = self.scheme.shaper.map(|shaper| (shaper.child)(&self.options, child));
        Some(match adapted {
            // An error is impossible: parsing and changing a specification check it.
            Some(Ok(adapted)) => adapted,
            Some(Err(_)) | None => child.clone(),
        })
    }

    /// The specification without the shapers above it.
    pub fn unshaped(&self) -> &Spec {
        match self.child() {
            Some(child) if self.scheme.shaper.is_some() => child.unshaped(),
            _ => self,
        }
    }

    /// The scheme that stores packets: the child of the last wrapper.
    pub fn innermost(&self) -> &Spec {
        self.child().map_or(self, Spec::innermost)
    }

    /// Names and values of all options; for a wrapper followed by the name of the child and its options.
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

    /// The value of the option `name` if it was given explicitly, to the scheme itself or to its child.
    pub fn given(&self, name: &str) -> Option<Value> {
        let own = self.options.given().find(|(given, _)| *given == name);
        match own {
            Some((_, value)) => Some(value),
            None => self.child()?.given(name),
        }
    }

    /// Returns a copy of this specification in which the option `name` is set to `value`: on the scheme, on its child,
    /// or on both if both have that option.
    ///
    /// # Errors
    /// The option does not exist, the value is out of range, or it contradicts other options.
    pub fn with(&self, name: &str, value: Value) -> Result<Spec, SpecError> {
        self.with_all([(name, value)])
    }

    /// [`Spec::with`] for several options, which are checked together: a part of them may contradict the rest.
    ///
    /// # Errors
    /// An option does not exist, a value is out of range, or the options contradict each other.
    pub fn with_all<'a>(&self, options: impl IntoIterator<Item = (&'a str, Value)>) -> Result<Spec, SpecError> {
        let mut spec = self.clone();
        for (name, value) in options {
            spec = spec.without(name);
            if !spec.set(name, &value.to_string())? {
                return Err(spec.no_option(name));
            }
        }
        spec.check()?;
        Ok(spec)
    }

    /// Returns a copy of this specification with the option `name` reset to its default.
    pub fn without(&self, name: &str) -> Spec {
        let mut spec = self.clone();
        spec.options.unset(name);
        if let Some(child) = &mut spec.child
            && !(self.scheme.shaper.is_some() && self.has_own(name))
        {
            **child = child.without(name);
        }
        spec
    }

    /// The out-of-tree kernel module (`kernel/`) that implements the scheme; `None` if Linux has it or no kernel does.
    pub fn module(&self) -> Option<&'static KernelQdisc> {
        let qdisc = self.unshaped().scheme.linux?.qdisc;
        (qdisc.origin == Origin::Gentle).then_some(qdisc)
    }

    /// The reason reported for a kernel drop that no counter of the qdisc explains: the first of [`Scheme::drops`] of
    /// the scheme that stores packets.
    pub fn default_drop_reason(&self) -> DropReason {
        let stores = self.innermost().scheme;
        stores.drops.first().copied().unwrap_or(DropReason::Tail)
    }

    /// Returns the specification that a Linux qdisc configured with this one carries out; see
    /// [`Conformance`](crate::Conformance).
    pub fn in_kernel(&self) -> Spec {
        if let Some(child) = self.child()
            && self.scheme.shaper.is_some()
        {
            return Spec { child: Some(Box::new(child.in_kernel())), ..self.clone() };
        }
        let conformance = &self.scheme.conformance;
        let spec = conformance.ignored.iter().fold(self.clone(), |spec, name| spec.without(name));
        let Some(scheme) = conformance.runs_as else {
            return spec;
        };
        Spec::of(scheme)
            .with_all(spec.options.given())
            .expect("the kernel's scheme has the same options and the same check")
    }

    /// Sets the options of presets that were not given explicitly.
    fn apply_presets(&mut self, presets: &[String]) -> Result<(), SpecError> {
        let of = |scheme: &Scheme, name: &str| scheme.preset(name).map(|preset| preset.options);
        let explicit = self.clone();
        for preset in presets {
            let beneath = self.child.as_ref();
            let beneath = beneath.and_then(|child| of(child.scheme, preset));
            let lists = [of(self.scheme, preset), beneath].into_iter().flatten();
            // An option of both is set in both at once.
            let mut set = Vec::new();
            for option in lists.flat_map(str::split_whitespace) {
                let (name, value) = option.split_once('=').unwrap_or((option, "on"));
                if explicit.given(name).is_none() && !set.contains(&name) {
                    self.set(name, value)?;
                    set.push(name);
                }
            }
        }
        Ok(())
    }

    fn has_preset(&self, name: &str) -> bool {
        let beneath = self.child.as_ref().map(|child| child.scheme);
        let mut schemes = [Some(self.scheme), beneath].into_iter().flatten();
        schemes.any(|scheme| scheme.preset(name).is_some())
    }

    fn accepted(&self) -> String {
        let mut list: Vec<String> =
            self.options.specs().iter().map(|option| format!("{} ({})", option.name, option.kind)).collect();
        if let Some(child) = &self.child {
            list.push("child (a scheme)".to_owned());
            list.push(format!("and the options of its child {}: {}", child.scheme.name, child.accepted()));
        }
        if list.is_empty() {
            return "none".to_owned();
        }
        list.join(", ")
    }

    fn has_own(&self, name: &str) -> bool {
        self.options.specs().iter().any(|option| option.name == name)
    }

    /// Sets the option `name` on the scheme and on its child, whichever have it; false if neither does. An option of
    /// both has the same meaning in both, except below a shaper, which keeps it.
    fn set(&mut self, name: &str, text: &str) -> Result<bool, SpecError> {
        let own = self.options.set(name, text)?;
        if own && self.scheme.shaper.is_some() {
            return Ok(true);
        }
        let of_child = match &mut self.child {
            Some(child) => child.set(name, text)?,
            None => false,
        };
        Ok(own || of_child)
    }

    /// Descriptions of the options of the scheme and of its child.
    fn option_specs(&self) -> impl Iterator<Item = &'static OptionSpec> {
        let child = self.child.as_ref().map(|child| child.options.specs());
        self.options.specs().iter().chain(child.into_iter().flatten())
    }

    fn kind_of(&self, name: &str) -> Option<Kind> {
        let mut options = self.option_specs();
        options.find(|option| option.name == name).map(|option| option.kind)
    }

    /// Name of the option that has `word` among its keywords.
    fn option_of_keyword(&self, word: &str) -> Option<&'static str> {
        let mut options = self.option_specs();
        let has_it = |option: &&OptionSpec| match option.kind {
            Kind::Keyword(words) => keyword(words, word).is_some(),
            _ => false,
        };
        options.find(has_it).map(|option| option.name)
    }

    /// Applies a word of a specification: `name=value`, `flag`, `noflag`, a keyword, or (syntax of `tc`) a
    /// `name` whose value is the first of the words in `follow`.
    fn apply<'a>(&mut self, word: &'a str, follow: &mut impl Iterator<Item = &'a str>) -> Result<(), SpecError> {
        let (written, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word, None),
        };
        let name = normalized(written);
        if value.is_none()
            && let Some(option) = self.option_of_keyword(&name)
        {
            return self.set(option, &name).map(|_| ());
        }
        let (name, value) = match (self.kind_of(&name), value) {
            (Some(_), Some(value)) => (name.as_str(), value),
            (Some(Kind::Flag), None) => (name.as_str(), "on"),
            (Some(kind), None) => match follow.next() {
                Some(value) => (name.as_str(), value),
                None => {
                    return Err(SpecError::NoValue { option: name, example: example(kind) });
                }
            },
            (None, value) => match name.strip_prefix("no") {
                Some(flag) if value.is_none() && self.kind_of(flag) == Some(Kind::Flag) => (flag, "off"),
                _ => return Err(self.no_option(written)),
            },
        };
        self.set(name, value).map(|_| ())
    }

    fn no_option(&self, written: &str) -> SpecError {
        let names = self.option_specs().map(|option| option.name);
        let child = self.child.as_ref().map(|_| "child");
        SpecError::Option {
            scheme: self.scheme.name.to_owned(),
            option: written.to_owned(),
            suggestion: suggestion(written, names.chain(child)),
            accepted: self.accepted(),
        }
    }

    /// Refuses flags that no simulation can have.
    pub(crate) fn check_simulated(&self) -> Result<(), SpecError> {
        let mut flags = self.scheme.unsimulated.iter();
        if let Some((flag, reason)) = flags.find(|(flag, _)| self.options.flag(flag)) {
            return Err(SpecError::Combination {
                scheme: self.scheme.name.to_owned(),
                problem: format!("{reason}; leave out '{flag}' here, only gentle qdisc accepts it"),
            });
        }
        self.child.as_ref().map_or(Ok(()), |child| child.check_simulated())
    }

    fn check(&self) -> Result<(), SpecError> {
        (self.scheme.check)(&self.options)
            .map_err(|problem| SpecError::Combination { scheme: self.scheme.name.to_owned(), problem })?;
        let Some(child) = &self.child else {
            return Ok(());
        };
        if let Some(shaper) = self.scheme.shaper {
            let adapted = (shaper.child)(&self.options, child);
            adapted.map_err(|problem| SpecError::Combination { scheme: self.scheme.name.to_owned(), problem })?;
        }
        child.check()
    }
}

fn example(kind: Kind) -> String {
    match kind {
        Kind::Time(min, _) => min.to_string(),
        Kind::Size(min, _) | Kind::Count(min, _) => min.to_string(),
        Kind::Integer(min, _) => min.to_string(),
        Kind::Real(min, _) => min.to_string(),
        Kind::Rate(min, _) => min.to_string(),
        Kind::Threshold => "10ms".to_owned(),
        Kind::Flag => "on".to_owned(),
        Kind::Choice(words) | Kind::Keyword(words) => words.join("|"),
        Kind::List { length, least, .. } => vec![least.to_string(); length].join(","),
    }
}

/// Writes the scheme and the options that were given: the shortest text that parses to an equal specification.
impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.scheme.name)?;
        for (name, value) in self.options.given() {
            write_option(f, name, value)?;
        }
        if let Some(child) = &self.child {
            if self.scheme.shaper.is_some() {
                return match self.scheme.child.map(Spec::of) {
                    Some(default) if default == **child => Ok(()),
                    _ => write!(f, " child={child}"),
                };
            }
            if self.scheme.child != Some(child.scheme) {
                write!(f, " child={}", child.scheme.name)?;
            }
            let given = child.options.given();
            for (name, value) in given.filter(|(name, _)| !self.has_own(name)) {
                write_option(f, name, value)?;
            }
        }
        Ok(())
    }
}

/// Writes an option as a specification has it, preceded by a blank.
fn write_option(f: &mut fmt::Formatter<'_>, name: &str, value: Value) -> fmt::Result {
    match value {
        Value::Keyword(word) => write!(f, " {word}"),
        value => write!(f, " {name}={value}"),
    }
}
