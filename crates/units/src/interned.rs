//! Names in results: constants of the program, which are kept for the life of the process when results are read back.

use serde::{Deserialize, Deserializer};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

/// A name that is a constant of the program.
pub type Name = &'static str;

/// Reads a name.
///
/// # Errors
/// The value is no text.
pub fn name<'de, D: Deserializer<'de>>(from: D) -> Result<Name, D::Error> {
    String::deserialize(from).map(|text| interned(&text))
}

/// Reads a map whose keys are names.
///
/// # Errors
/// The value is no map, or has a value of another type.
pub fn keys<'de, D, V>(from: D) -> Result<BTreeMap<Name, V>, D::Error>
where
    D: Deserializer<'de>,
    V: Deserialize<'de>,
{
    let texts = BTreeMap::<String, V>::deserialize(from)?;
    let entries = texts.into_iter();
    Ok(entries.map(|(text, value)| (interned(&text), value)).collect())
}

/// A text that is kept for the life of the process, stored once for any number of requests.
fn interned(text: &str) -> Name {
    static KNOWN: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(found) = known.get(text) {
        return found;
    }
    let kept = String::leak(text.to_owned());
    known.insert(kept);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_kept_once() {
        let first = interned("tail");
        assert_eq!(first, "tail");
        assert!(std::ptr::eq(first, interned(&String::from("tail"))));
    }
}
