//! Names of places in sentences and tables.

use crate::format::plain;
use gentle_trace::results::PlaceNames;

/// Server, client or prefix, after its name if that is known.
pub fn named(names: &PlaceNames, place: &str) -> String {
    match names.of(place) {
        Some(name) => format!("{} ({})", plain(name), plain(place)),
        None => plain(place),
    }
}
