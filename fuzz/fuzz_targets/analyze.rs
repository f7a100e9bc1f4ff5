//! Fuzz target for the complete analysis of a capture, with all options.

#![no_main]

use gentle_fuzz::analysis::analyze_and_check;
use gentle_fuzz::capture::{open, read_all};
use gentle_trace::results::DirectionBy;
use gentle_trace::{Anonymizer, Options, Selection, VantagePoint, When};
use gentle_units::{Nanos, Rate};
use libfuzzer_sys::{Corpus, fuzz_target};
use std::io::Cursor;
use std::sync::Arc;

/// Selects options by the bits of a byte.
fn options(choice: u8) -> Options {
    let bit = |n: u32| choice >> n & 1 == 1;
    Options {
        inner: bit(0),
        interfaces: match choice & 0b10_0001 {
            0b10_0001 => vec!["0".to_owned()],
            _ => Vec::new(),
        },
        selection: match bit(6) {
            false => Selection::default(),
            true => Selection {
                hosts: vec!["0.0.0.0/1".parse().expect("a prefix")],
                ports: vec![80, 443],
                since: Some(When::After(Nanos::from_millis(10))),
                until: None,
            },
        },
        direction: [None, Some(DirectionBy::Interface), Some(DirectionBy::Local), None][usize::from(choice >> 1 & 3)],
        local: match choice >> 1 & 3 {
            0 | 1 => Vec::new(),
            _ => ["10.0.0.0/8", "2001:db8::/32"].map(|prefix| prefix.parse().expect("a prefix")).into(),
        },
        memory_limit: Options::LEAST_MEMORY,
        idle_timeout: if bit(3) { Nanos::from_millis(100) } else { Nanos::from_secs(900) },
        rate: bit(4).then(|| Rate::from_bits_per_second(2_400_000)).flatten(),
        vantage: bit(5).then_some(VantagePoint::Server),
        top: if bit(3) { 1 } else { 10 },
        names: Arc::default(),
    }
}

fuzz_target!(|bytes: &[u8]| -> Corpus {
    let Some((&choice, file)) = bytes.split_first() else {
        return Corpus::Reject;
    };
    if !matches!(file, [0xa1, 0xb2, ..] | [_, _, 0xb2, 0xa1, ..] | [0x0a, 0x0d, ..]) {
        return Corpus::Reject;
    }
    let options = options(choice);
    let anonymizer = Anonymizer::new(std::array::from_fn(|i| i as u8)).filter(|_| choice >> 6 & 1 == 1);
    // A capture read twice, like a switch that duplicates every frame.
    let files = &[file, file][..1 + usize::from(choice >> 7)];
    let Some(analysis) = analyze_and_check(files, &options, anonymizer.as_ref()) else {
        return Corpus::Reject;
    };
    let Ok(mut reader) = open(Cursor::new(file.to_vec())) else {
        panic!("what was analysed can be read");
    };
    let outcome = read_all(&mut reader, file.len() as u64);
    let is_all = options.selection == Selection::default();
    for capture in &analysis.captures {
        let of_capture = [(capture.packets, outcome.packets), (capture.wire_bytes, outcome.wire_bytes)];
        for (selected, all) in of_capture {
            assert!(selected == all || !is_all && selected < all, "{selected} of {all}");
        }
    }
    Corpus::Keep
});
