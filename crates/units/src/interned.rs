//! Texts that are kept for the life of the process.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// A text that is kept for the life of the process, once however often it is asked for: a name that results read back
/// from a file have, where the program itself writes a constant.
pub fn interned(text: &str) -> &'static str {
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
