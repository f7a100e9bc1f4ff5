//! Options of a scheme: declarations, values, and parsing with range checks.

use crate::plumbing::error::SpecError;
use gentle_units::{Nanos, Rate, format_size, parse_size};
use std::fmt;

/// Type of an option's value and its valid range, both ends included.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// A time, `5ms`.
    Time(Nanos, Nanos),
    /// A size in bytes, `75kb`.
    Size(u64, u64),
    /// A whole number.
    Count(u64, u64),
    /// A whole number that may be below zero.
    Integer(i64, i64),
    /// A decimal number.
    Real(f64, f64),
    /// A link rate, `2.4mbit`.
    Rate(Rate, Rate),
    /// A queue length as time, bytes or packets, `10ms`, `15kb` or `10p`; [`Threshold`] has the ranges.
    Threshold,
    /// On or off: `ecn`, `noecn`, or `ecn=on`, `ecn=off`.
    Flag,
    /// One of several words.
    Choice(&'static [&'static str]),
    /// One of several words that are written without the name of the option, `diffserv4`.
    Keyword(&'static [&'static str]),
    /// A fixed number of whole numbers, `9,3,1`.
    List {
        /// Number of numbers, at most [`List::CAPACITY`].
        length: usize,
        /// Smallest number.
        least: u64,
        /// Largest number.
        most: u64,
    },
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Time(min, max) => write!(f, "time, {min} to {max}"),
            Kind::Size(min, max) => {
                write!(f, "bytes, {} to {}", format_size(*min), format_size(*max))
            }
            Kind::Count(min, max) => write!(f, "{min} to {max}"),
            Kind::Integer(min, max) => write!(f, "{min} to {max}"),
            Kind::Real(min, max) => write!(f, "number, {min} to {max}"),
            Kind::Rate(min, max) => write!(f, "rate, {min} to {max}"),
            Kind::Threshold => write!(
                f,
                "time, {} to {}, or bytes, 1b to {}, or packets, 1p to {}p",
                Threshold::DELAY.0,
                Threshold::DELAY.1,
                format_size(Threshold::MAX_BYTES),
                Threshold::MAX_PACKETS
            ),
            Kind::Flag => f.write_str("on or off"),
            Kind::Choice(words) | Kind::Keyword(words) => f.write_str(&words.join("|")),
            Kind::List { length, least, most } => write!(f, "{length} numbers, {least} to {most}"),
        }
    }
}

/// A queue length, measured in one of three ways.
///
/// The unit selects the measure: `10ms` is the sojourn time of the packet at the head, `15kb` or `15000b` the queued
/// bytes, `10p` the queued packets. A number without a unit is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Threshold {
    /// Sojourn time so far of the packet at the head, 1 µs to 10 s.
    Delay(Nanos),
    /// Queued bytes, 1 to 2^30.
    Bytes(u64),
    /// Queued packets, 1 to 1,000,000.
    Packets(u64),
}

impl Threshold {
    const DELAY: (Nanos, Nanos) = (Nanos::from_micros(1), Nanos::from_secs(10));
    const MAX_BYTES: u64 = 1 << 30;
    const MAX_PACKETS: u64 = 1_000_000;

    fn parse(text: &str) -> Option<Threshold> {
        if let Some(packets) = text.strip_suffix('p') {
            return packets.parse().ok().map(Threshold::Packets);
        }
        // Zero would be a time without a unit; it is out of range in all three measures.
        if text.ends_with(|c: char| c.is_ascii_digit() || c == '.') {
            return None;
        }
        if let Ok(delay) = text.parse() {
            return Some(Threshold::Delay(delay));
        }
        parse_size(text).ok().map(Threshold::Bytes)
    }

    fn in_range(self) -> bool {
        match self {
            Threshold::Delay(t) => t >= Threshold::DELAY.0 && t <= Threshold::DELAY.1,
            Threshold::Bytes(bytes) => (1..=Threshold::MAX_BYTES).contains(&bytes),
            Threshold::Packets(n) => (1..=Threshold::MAX_PACKETS).contains(&n),
        }
    }
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Threshold::Delay(t) => t.fmt(f),
            Threshold::Bytes(bytes) => f.pad(&format_size(*bytes)),
            Threshold::Packets(n) => f.pad(&format!("{n}p")),
        }
    }
}

/// A list of whole numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct List {
    numbers: [u32; List::CAPACITY],
    length: usize,
}

impl List {
    /// Maximum number of numbers.
    pub const CAPACITY: usize = 16;

    /// The numbers of a text, separated by commas. `None`: a word of the text is no number, or there are too many.
    pub fn parse(text: &str) -> Option<List> {
        let mut list = List { numbers: [0; List::CAPACITY], length: 0 };
        for word in text.split(',') {
            *list.numbers.get_mut(list.length)? = word.parse().ok()?;
            list.length += 1;
        }
        Some(list)
    }

    /// The numbers.
    pub fn numbers(&self) -> &[u32] {
        &self.numbers[..self.length]
    }
}

impl fmt::Display for List {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers: Vec<String> = self.numbers().iter().map(u32::to_string).collect();
        f.pad(&numbers.join(","))
    }
}

/// Declaration of an option.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OptionSpec {
    /// Name; that of `tc` for options that `tc` has.
    pub name: &'static str,
    /// Type and range of the value.
    pub kind: Kind,
    /// Default in the syntax of a specification; `None` if it derives from other options, which `help` then explains.
    pub default: Option<&'static str>,
    /// One-line description.
    pub help: &'static str,
}

/// The value of an option.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    /// A time.
    Time(Nanos),
    /// A size in bytes.
    Size(u64),
    /// A whole number.
    Count(u64),
    /// A whole number that may be below zero.
    Integer(i64),
    /// A decimal number.
    Real(f64),
    /// A link rate.
    Rate(Rate),
    /// A queue length.
    Threshold(Threshold),
    /// On or off.
    Flag(bool),
    /// One of the words of [`Kind::Choice`].
    Choice(&'static str),
    /// One of the words of [`Kind::Keyword`].
    Keyword(&'static str),
    /// Whole numbers.
    List(List),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Time(t) => t.fmt(f),
            Value::Size(bytes) => f.pad(&format_size(*bytes)),
            Value::Count(n) => n.fmt(f),
            Value::Integer(n) => n.fmt(f),
            Value::Real(x) => x.fmt(f),
            Value::Rate(rate) => rate.fmt(f),
            Value::Threshold(threshold) => threshold.fmt(f),
            Value::Flag(on) => f.pad(if *on { "on" } else { "off" }),
            Value::Choice(word) | Value::Keyword(word) => f.pad(word),
            Value::List(list) => list.fmt(f),
        }
    }
}

impl OptionSpec {
    /// Parses `text` as a value of this option.
    pub(crate) fn parse(&self, text: &str) -> Result<Value, String> {
        let out_of_range = || format!("'{text}' is out of range; expected {}", self.kind);
        match self.kind {
            Kind::Time(min, max) => {
                let t: Nanos = text.parse().map_err(|e| format!("{e}"))?;
                if t < min || t > max {
                    return Err(out_of_range());
                }
                Ok(Value::Time(t))
            }
            Kind::Size(min, max) => {
                let bytes = parse_size(text).map_err(|e| format!("{e}"))?;
                if bytes < min || bytes > max {
                    return Err(out_of_range());
                }
                Ok(Value::Size(bytes))
            }
            Kind::Count(min, max) => {
                let n: u64 =
                    text.parse().map_err(|_| format!("'{text}' is not a whole number; expected {}", self.kind))?;
                if n < min || n > max {
                    return Err(out_of_range());
                }
                Ok(Value::Count(n))
            }
            Kind::Integer(min, max) => {
                let n: i64 =
                    text.parse().map_err(|_| format!("'{text}' is not a whole number; expected {}", self.kind))?;
                if n < min || n > max {
                    return Err(out_of_range());
                }
                Ok(Value::Integer(n))
            }
            Kind::Real(min, max) => {
                let x: f64 = text.parse().map_err(|_| format!("'{text}' is not a number; expected {}", self.kind))?;
                if !(x >= min && x <= max) {
                    return Err(out_of_range());
                }
                Ok(Value::Real(x))
            }
            Kind::Rate(min, max) => {
                let rate: Rate = text.parse().map_err(|e| format!("{e}"))?;
                if rate < min || rate > max {
                    return Err(out_of_range());
                }
                Ok(Value::Rate(rate))
            }
            Kind::Threshold => {
                let threshold = Threshold::parse(text)
                    .ok_or_else(|| format!("'{text}' is neither a time, a size nor packets; expected {}", self.kind))?;
                if !threshold.in_range() {
                    return Err(out_of_range());
                }
                Ok(Value::Threshold(threshold))
            }
            Kind::Flag => match text {
                "on" | "true" | "yes" | "1" => Ok(Value::Flag(true)),
                "off" | "false" | "no" | "0" => Ok(Value::Flag(false)),
                _ => Err(format!("'{text}' is neither on nor off")),
            },
            Kind::Choice(words) => words
                .iter()
                .find(|word| **word == text)
                .map(|word| Value::Choice(word))
                .ok_or_else(|| format!("'{text}' is not one of {}", words.join(", "))),
            Kind::Keyword(words) => keyword(words, text)
                .map(Value::Keyword)
                .ok_or_else(|| format!("'{text}' is not one of {}", words.join(", "))),
            Kind::List { length, least, most } => {
                let list = List::parse(text).filter(|list| list.length == length);
                let list = list.ok_or_else(|| {
                    format!(
                        "'{text}' is not a list of {length} whole numbers separated by commas, each {least} to {most}"
                    )
                })?;
                let mut numbers = list.numbers().iter();
                match numbers.all(|n| (least..=most).contains(&u64::from(*n))) {
                    true => Ok(Value::List(list)),
                    false => Err(out_of_range()),
                }
            }
        }
    }
}

/// The one of `words` that `text` stands for, whatever its case and whether it has hyphens or underscores.
pub(crate) fn keyword(words: &'static [&'static str], text: &str) -> Option<&'static str> {
    let text = normalized(text);
    words.iter().copied().find(|word| normalized(word) == text)
}

/// Spelling of names in the registry: lower case with underscores. Users also write `FQ-CODEL`.
pub(crate) fn normalized(name: &str) -> String {
    name.to_ascii_lowercase().replace('-', "_")
}

/// Concatenates lists of options; `N` is the total number of options.
pub(crate) const fn joined<const N: usize>(lists: &[&[OptionSpec]]) -> [OptionSpec; N] {
    let mut all = [lists[0][0]; N];
    let (mut list, mut place) = (0, 0);
    while list < lists.len() {
        let mut index = 0;
        while index < lists[list].len() {
            all[place] = lists[list][index];
            place += 1;
            index += 1;
        }
        list += 1;
    }
    assert!(place == N, "N is the sum of the lengths");
    all
}

/// Options of a scheme with their values.
///
/// The typed getters panic for an option that the scheme does not declare or that has another type: an error in the
/// scheme's file, found by the tests that build every scheme.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    specs: &'static [OptionSpec],
    values: Vec<Option<Value>>,
    given: Vec<bool>,
}

impl Options {
    /// Every option at its default.
    pub(crate) fn defaults(specs: &'static [OptionSpec]) -> Options {
        let values = specs
            .iter()
            .map(|spec| {
                spec.default
                    .map(|text| spec.parse(text).unwrap_or_else(|e| panic!("default of option '{}': {e}", spec.name)))
            })
            .collect();
        Options { specs, values, given: vec![false; specs.len()] }
    }

    /// Declarations of the options.
    pub fn specs(&self) -> &'static [OptionSpec] {
        self.specs
    }

    /// Parses `text` as the value of the option `name`. `Ok(false)`: no option has this name.
    pub(crate) fn set(&mut self, name: &str, text: &str) -> Result<bool, SpecError> {
        let Some(index) = self.specs.iter().position(|spec| spec.name == name) else {
            return Ok(false);
        };
        let value =
            self.specs[index].parse(text).map_err(|problem| SpecError::Value { option: name.to_owned(), problem })?;
        if std::mem::replace(&mut self.given[index], true) {
            return Err(SpecError::Twice { option: name.to_owned() });
        }
        self.values[index] = Some(value);
        Ok(true)
    }

    /// Resets the option `name` to its default; does nothing if no option has this name.
    pub(crate) fn unset(&mut self, name: &str) {
        let Some(index) = self.specs.iter().position(|spec| spec.name == name) else {
            return;
        };
        let default = Options::defaults(&self.specs[index..=index]);
        self.values[index] = default.values[0];
        self.given[index] = false;
    }

    /// Options that were given explicitly, in order of declaration.
    pub fn given(&self) -> impl Iterator<Item = (&'static str, Value)> + '_ {
        self.iter()
            .zip(&self.given)
            .filter_map(|((name, value), given)| value.filter(|_| *given).map(|value| (name, value)))
    }

    /// All options with their values; `None` for a value that derives from other options.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, Option<Value>)> + '_ {
        self.specs.iter().zip(&self.values).map(|(spec, value)| (spec.name, *value))
    }

    /// The value of the option `name`; `None` if it was not given and has no default.
    pub fn get(&self, name: &str) -> Option<Value> {
        let index = self
            .specs
            .iter()
            .position(|spec| spec.name == name)
            .unwrap_or_else(|| panic!("the scheme declares no option '{name}'"));
        self.values[index]
    }

    /// The value of a time option; `None` if it was not given and has no default.
    pub fn given_time(&self, name: &str) -> Option<Nanos> {
        self.get(name).map(|_| self.time(name))
    }

    /// The value in bytes of a size option; `None` if it was not given and has no default.
    pub fn given_size(&self, name: &str) -> Option<u64> {
        self.get(name).map(|_| self.size(name))
    }

    /// The value of a whole-number option; `None` if it was not given and has no default.
    pub fn given_count(&self, name: &str) -> Option<u64> {
        self.get(name).map(|_| self.count(name))
    }

    /// The value of a time option.
    pub fn time(&self, name: &str) -> Nanos {
        match self.get(name) {
            Some(Value::Time(t)) => t,
            other => panic!("option '{name}' is {other:?}, not a time"),
        }
    }

    /// The value in bytes of a size option.
    pub fn size(&self, name: &str) -> u64 {
        match self.get(name) {
            Some(Value::Size(bytes)) => bytes,
            other => panic!("option '{name}' is {other:?}, not a size"),
        }
    }

    /// The value of a whole-number option.
    pub fn count(&self, name: &str) -> u64 {
        match self.get(name) {
            Some(Value::Count(n)) => n,
            other => panic!("option '{name}' is {other:?}, not a count"),
        }
    }

    /// The value of an option that takes a whole number, which may be below zero.
    pub fn integer(&self, name: &str) -> i64 {
        match self.get(name) {
            Some(Value::Integer(n)) => n,
            other => panic!("option '{name}' is {other:?}, not an integer"),
        }
    }

    /// The value of a decimal option.
    pub fn real(&self, name: &str) -> f64 {
        match self.get(name) {
            Some(Value::Real(x)) => x,
            other => panic!("option '{name}' is {other:?}, not a number"),
        }
    }

    /// The value of a rate option.
    pub fn rate(&self, name: &str) -> Rate {
        match self.get(name) {
            Some(Value::Rate(rate)) => rate,
            other => panic!("option '{name}' is {other:?}, not a rate"),
        }
    }

    /// The value of a threshold option.
    pub fn threshold(&self, name: &str) -> Threshold {
        match self.get(name) {
            Some(Value::Threshold(threshold)) => threshold,
            other => panic!("option '{name}' is {other:?}, not a threshold"),
        }
    }

    /// The value of a flag.
    pub fn flag(&self, name: &str) -> bool {
        match self.get(name) {
            Some(Value::Flag(on)) => on,
            other => panic!("option '{name}' is {other:?}, not a flag"),
        }
    }

    /// The value of an option that takes a list of numbers.
    pub fn list(&self, name: &str) -> Vec<u32> {
        match self.get(name) {
            Some(Value::List(list)) => list.numbers().to_vec(),
            other => panic!("option '{name}' is {other:?}, not a list"),
        }
    }

    /// The value of an option that takes one of several words.
    pub fn choice(&self, name: &str) -> &'static str {
        match self.get(name) {
            Some(Value::Choice(word) | Value::Keyword(word)) => word,
            other => panic!("option '{name}' is {other:?}, not a choice"),
        }
    }
}
