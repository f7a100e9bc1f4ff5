//! Fuzz target for files of names: prefixes are found again, and a second reading changes nothing.

#![no_main]

use gentle_trace::names::GivenNames;
use libfuzzer_sys::{Corpus, fuzz_target};

fuzz_target!(|text: &str| -> Corpus {
    let mut names = GivenNames::default();
    if names.read(text).is_err() {
        return Corpus::Keep;
    }
    let words = || text.split_whitespace().filter_map(|word| gentle_trace::prefix(word).ok());
    let found = |names: &GivenNames| words().map(|prefix| names.of_prefix(prefix).map(str::to_owned)).collect::<Vec<_>>();
    let before = found(&names);
    assert!(names.read(text).is_ok());
    assert_eq!(found(&names), before);
    // The first word of each line is a prefix that has a name.
    if !text.trim_start_matches('\u{feff}').trim_start().starts_with('{') {
        let lines = text.trim_start_matches('\u{feff}').lines().map(|line| line.split('#').next().unwrap_or_default());
        let prefixes = lines.filter_map(|line| gentle_trace::prefix(line.split_whitespace().next()?).ok());
        for prefix in prefixes.filter(|prefix| prefix.addr() == prefix.addr().to_canonical()) {
            assert!(names.of_prefix(prefix).is_some(), "{prefix}");
        }
    }
    Corpus::Keep
});
