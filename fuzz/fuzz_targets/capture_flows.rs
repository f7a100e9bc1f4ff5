//! Fuzz target for deriving flows to replay from the connections of a capture, over links to any of the hosts.

#![no_main]

use gentle_fuzz::analysis::analyze_and_check;
use gentle_fuzz::segment::{Segment, capture};
use gentle_trace::{Anonymizer, Options};
use libfuzzer_sys::fuzz_target;

/// Hosts behind the link: all, the server, two clients, none.
const LOCAL: [&[&str]; 4] =
    [&[], &["192.0.2.8/32", "2001:db8::8/128"], &["192.0.2.4/31", "2001:db8::4/127"], &["203.0.113.0/24"]];

fuzz_target!(|input: (u8, Vec<Segment>)| {
    let (choice, segments) = input;
    let prefixes = LOCAL[usize::from(choice & 3)].iter();
    let options = Options {
        memory_limit: Options::LEAST_MEMORY,
        local: prefixes.map(|prefix| prefix.parse().expect("a prefix")).collect(),
        ..Options::default()
    };
    let anonymizer = Anonymizer::new(std::array::from_fn(|i| i as u8)).filter(|_| choice >> 2 & 1 == 1);
    let file = capture(&segments);
    let analysis = analyze_and_check(&[&file], &options, anonymizer.as_ref()).expect("a capture");
    let flows = analysis.flows.expect("flows were requested");
    let across = flows.connections - flows.left_out.get("not-across").copied().unwrap_or(0);
    match choice & 3 {
        0 => assert_eq!(across, flows.connections),
        3 => assert_eq!(flows.flows, 0),
        _ => {}
    }
});
