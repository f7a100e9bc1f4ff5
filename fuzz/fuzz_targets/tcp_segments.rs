//! Fuzz target for arbitrary sequences of TCP segments between a server and a few clients.

#![no_main]

use gentle_fuzz::analysis::analyze_and_check;
use gentle_fuzz::segment::{Segment, capture};
use gentle_trace::Options;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|segments: Vec<Segment>| {
    let options = Options { memory_limit: Options::LEAST_MEMORY, ..Options::default() };
    let analysis = analyze_and_check(&[&capture(&segments)], &options, None).expect("a capture");
    assert_eq!(analysis.captures[0].tcp_segments, segments.len() as u64);
});
