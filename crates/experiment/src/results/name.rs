//! Names in results: constants of the program, which are kept when results are read back from JSON.

use gentle_units::interned;
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;

/// A name that is a constant of the program.
pub type Name = &'static str;

pub(super) fn name<'de, D: Deserializer<'de>>(from: D) -> Result<Name, D::Error> {
    String::deserialize(from).map(|text| interned(&text))
}

pub(super) fn keys<'de, D, V>(from: D) -> Result<BTreeMap<Name, V>, D::Error>
where
    D: Deserializer<'de>,
    V: Deserialize<'de>,
{
    let texts = BTreeMap::<String, V>::deserialize(from)?;
    let entries = texts.into_iter();
    Ok(entries
        .map(|(text, value)| (interned(&text), value))
        .collect())
}
