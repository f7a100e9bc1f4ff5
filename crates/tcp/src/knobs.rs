//! Access to the knobs of a profile by name, for scenario files.

use crate::congestion::CongestionControl;
use crate::profile::{AckPolicy, Ecn, Growth, KNOBS, LossMarking, Profile, RtoEstimator, Undo};
use gentle_units::{Nanos, format_size, parse_size, suggestion};
use std::ops::RangeInclusive;
use thiserror::Error;

/// One knob of a [`Profile`].
pub struct Knob {
    /// Name of the knob and of the field.
    pub name: &'static str,
    /// One-line description.
    pub help: &'static str,
    /// Type of value: `time`, `bytes`, `number`, `true or false`, or the names of the alternatives.
    pub takes: &'static str,
    pub(crate) get: fn(&Profile) -> String,
    pub(crate) set: fn(&mut Profile, &str) -> Result<(), String>,
}

/// Errors of setting a knob.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum KnobError {
    /// No knob has this name.
    #[error(
        "unknown TCP knob '{name}'{}; there are {}",
        suggestion(name, KNOBS.iter().map(|knob| knob.name)),
        names()
    )]
    Unknown {
        /// Name that was given.
        name: String,
    },
    /// The value is invalid.
    #[error("TCP knob '{name}' cannot be '{value}': expected {expected}")]
    Value {
        /// Name of the knob.
        name: &'static str,
        /// Value that was given.
        value: String,
        /// Values that are accepted.
        expected: String,
    },
}

fn names() -> String {
    let names: Vec<&str> = Profile::knobs().iter().map(|knob| knob.name).collect();
    names.join(", ")
}

impl Profile {
    /// All knobs, in the order of the fields.
    pub fn knobs() -> &'static [Knob] {
        KNOBS
    }

    /// Sets the knob `name` from text, as in `set("initial_rto", "3s")`.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), KnobError> {
        let knob = find(name)?;
        (knob.set)(self, value.trim()).map_err(|expected| KnobError::Value {
            name: knob.name,
            value: value.to_owned(),
            expected,
        })
    }

    /// Value of the knob `name`, in the syntax that [`set`](Profile::set) reads.
    pub fn get(&self, name: &str) -> Result<String, KnobError> {
        Ok((find(name)?.get)(self))
    }
}

fn find(name: &str) -> Result<&'static Knob, KnobError> {
    KNOBS.iter().find(|knob| knob.name == name).ok_or_else(|| KnobError::Unknown { name: name.to_owned() })
}

/// Notation of a knob; `range` is in its base unit (nanoseconds, bytes, or the number itself).
pub(crate) trait Value {
    type Of;
    const TAKES: &'static str;
    fn read(text: &str, range: RangeInclusive<u64>) -> Result<Self::Of, String>;
    fn show(value: &Self::Of) -> String;
}

/// Range that permits any value of the type.
pub(crate) const ANY: RangeInclusive<u64> = 0..=u64::MAX;
/// One millisecond, in nanoseconds.
pub(crate) const MS: u64 = 1_000_000;
/// Longest time that a knob takes: one day.
pub(crate) const DAY: u64 = 86_400_000_000_000;

impl Value for Nanos {
    type Of = Nanos;
    const TAKES: &'static str = "time";
    fn read(text: &str, range: RangeInclusive<u64>) -> Result<Nanos, String> {
        let (low, high) = (Nanos(*range.start()), Nanos(*range.end()));
        text.parse::<Nanos>()
            .ok()
            .filter(|time| range.contains(&time.0))
            .ok_or_else(|| format!("a time from {low} to {high}, such as 200ms"))
    }
    fn show(value: &Self::Of) -> String {
        value.to_string()
    }
}

/// `infinite` is the largest value.
impl Value for u32 {
    type Of = u32;
    const TAKES: &'static str = "number";
    fn read(text: &str, range: RangeInclusive<u64>) -> Result<u32, String> {
        let high = (*range.end()).min(u64::from(u32::MAX));
        let number = match text {
            "infinite" => Some(u64::from(u32::MAX)),
            _ => text.parse().ok(),
        };
        number
            .filter(|number| (*range.start()..=high).contains(number))
            .map(|number| number as u32)
            .ok_or_else(|| format!("a whole number from {} to {high}", range.start()))
    }
    fn show(value: &u32) -> String {
        if *value == u32::MAX { "infinite".to_owned() } else { value.to_string() }
    }
}

impl Value for u16 {
    type Of = u16;
    const TAKES: &'static str = "number";
    fn read(text: &str, range: RangeInclusive<u64>) -> Result<u16, String> {
        let high = (*range.end()).min(u64::from(u16::MAX));
        <u32 as Value>::read(text, *range.start()..=high).map(|number| number as u16)
    }
    fn show(value: &Self::Of) -> String {
        value.to_string()
    }
}

impl Value for bool {
    type Of = bool;
    const TAKES: &'static str = "true or false";
    fn read(text: &str, _range: RangeInclusive<u64>) -> Result<bool, String> {
        match text {
            "true" | "on" => Ok(true),
            "false" | "off" => Ok(false),
            _ => Err("true or false".to_owned()),
        }
    }
    fn show(value: &Self::Of) -> String {
        value.to_string()
    }
}

/// Notation of a number of bytes: `4mb`.
pub(crate) struct Size;

impl Value for Size {
    type Of = u32;
    const TAKES: &'static str = "bytes";
    fn read(text: &str, range: RangeInclusive<u64>) -> Result<u32, String> {
        let bytes = parse_size(text).ok().filter(|bytes| range.contains(bytes));
        let (low, high) = (format_size(*range.start()), format_size(*range.end()));
        bytes.map(|bytes| bytes as u32).ok_or_else(|| format!("a size from {low} to {high}, such as 4mb"))
    }
    fn show(value: &u32) -> String {
        format_size(u64::from(*value))
    }
}

macro_rules! choice {
    ($($type:ident),*) => {$(
        impl Value for $type {
            type Of = $type;
            const TAKES: &'static str = $type::TEXTS;
            fn read(text: &str, _range: RangeInclusive<u64>) -> Result<$type, String> {
                $type::from_text(text).ok_or_else(|| $type::TEXTS.to_owned())
            }
            fn show(value: &Self::Of) -> String {
                value.to_string()
            }
        }
    )*};
}
choice!(RtoEstimator, CongestionControl, Growth, Ecn, LossMarking, Undo, AckPolicy);

/// How a knob is read and shown: by its type, or as a [`Size`].
macro_rules! kind {
    ($type:ident) => {
        $type
    };
    ($type:ident $kind:ident) => {
        $crate::knobs::$kind
    };
}
pub(crate) use kind;

/// The list of all knobs: description, field, type, range, value in linux-7.2, and a line of help. It is the struct
/// [`Profile`], its values in Linux 7.2, and the access by name.
macro_rules! knobs {
    ($($(#[$doc:meta])* $field:ident: $type:ident $(as $kind:ident)? in $range:expr, $linux:expr, $help:literal;)*) => {
        /// All parameters ("knobs") in which the modelled stacks differ.
        ///
        /// Start from a real stack ([`Profile::by_name`]) and override single knobs by field or by name
        /// ([`Profile::set`]); [`Profile::knobs`] lists them with descriptions. The constructor of each profile gives the
        /// source of each value.
        #[derive(Debug, Clone, PartialEq)]
        pub struct Profile {
            $($(#[$doc])* pub $field: $type,)*
        }

        impl Profile {
            /// Linux 7.2 with default sysctls (`net/ipv4/tcp_ipv4.c`, `tcp_sk_init`; `include/net/tcp.h`).
            pub fn linux_7_2() -> Profile {
                Profile { $($field: $linux,)* }
            }
        }

        pub(crate) static KNOBS: &[$crate::knobs::Knob] = &[
            $($crate::knobs::Knob {
                name: stringify!($field),
                help: $help,
                takes: <$crate::knobs::kind!($type $($kind)?) as $crate::knobs::Value>::TAKES,
                get: |profile| <$crate::knobs::kind!($type $($kind)?) as $crate::knobs::Value>::show(&profile.$field),
                set: |profile, text| {
                    profile.$field = <$crate::knobs::kind!($type $($kind)?) as $crate::knobs::Value>::read(text, $range)?;
                    Ok(())
                },
            }),*
        ];
    };
}
pub(crate) use knobs;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_knob_is_read_back_as_written_in_every_profile() {
        for name in Profile::NAMES {
            let profile = Profile::by_name(name).unwrap();
            let mut copy = Profile::by_name(Profile::NAMES[0]).unwrap();
            for knob in Profile::knobs() {
                copy.set(knob.name, &profile.get(knob.name).unwrap()).unwrap_or_else(|error| panic!("{name}: {error}"));
            }
            // Equality proves that no field lacks a knob.
            assert_eq!(copy, profile, "{name}");
        }
    }

    #[test]
    fn a_wrong_knob_is_told_which_there_are() {
        let mut profile = Profile::default();
        let error = profile.set("initial-rto", "3s").unwrap_err().to_string();
        assert!(error.contains("initial_rto, rto_fallback"), "{error}");
        let error = profile.set("initial_rto", "3").unwrap_err().to_string();
        assert!(error.contains("such as 200ms"), "{error}");
        let error = profile.set("iw", "0").unwrap_err().to_string();
        assert!(error.contains("from 1 to 10000"), "{error}");
        let error = profile.set("ecn", "maybe").unwrap_err().to_string();
        assert!(error.contains("off or accept or request or accecn"), "{error}");
        assert_eq!(profile, Profile::default());
        profile.set("initial_rto", "3s").unwrap();
        assert_eq!(profile.get("initial_rto").unwrap(), "3s");
        assert!(Profile::by_name("windows").unwrap_err().to_string().contains("freebsd-9.3"));
    }
}
