//! Captures as the page gets them. `crates/cli/tests/pages` compares every capture with the command, in a browser.

use gentle_capture::CaptureReader;
use gentle_lab::{Captured, Setup, analyze, local};
use std::path::Path;

fn captured(name: &str, side: &str) -> Captured {
    let captures = concat!(env!("CARGO_MANIFEST_DIR"), "/../trace/tests/data");
    let reader = CaptureReader::open(&Path::new(captures).join(name)).unwrap();
    analyze(vec![reader], local(side).unwrap(), Some(60)).unwrap()
}

#[test]
fn connections_of_a_capture_are_a_setup_at_the_suggested_rate() {
    let found = captured("netns/data.router.pcap", "");
    assert_eq!(found.connections, 1);
    assert_eq!(found.flows.lines().count(), 2);
    assert!(found.text.lines().all(|line| line.chars().count() <= 60));
    let rate = found.rate.unwrap().to_string();
    let setup = Setup { flows: Some(found.flows), rate: Some(rate.clone()), ..Setup::default() };
    let scenario = setup.scenario().unwrap();
    assert_eq!(scenario.links[0].rate.to_string(), rate);
    assert_eq!(scenario.schedule(1).count(), 1);
}

#[test]
fn the_side_that_receives_is_where_data_goes_down() {
    // The client uploads to 198.18.2.2.
    for (side, up) in [("", 1.0), ("198.18.2.0/24", 0.0), ("198.18.1.0/24", 1.0)] {
        let found = captured("netns/data.router.pcap", side);
        assert_eq!((found.connections, found.up), (1, up), "{side}");
    }
}

#[test]
fn without_connections_there_is_nothing_to_run() {
    let found = captured("formats/empty.pcap", "");
    assert_eq!((found.connections, found.rate, found.up), (0, None, 0.0));
    assert_eq!(found.flows, "start_s,bytes,rtt_s,direction,initiator\n");
}

#[test]
fn sides_have_commas_or_spaces_between_them() {
    let sides = local(" 192.0.2.7,2001:db8::/32  198.51.100.9/24").unwrap();
    let sides: Vec<String> = sides.iter().map(ToString::to_string).collect();
    assert_eq!(sides, ["192.0.2.7/32", "2001:db8::/32", "198.51.100.0/24"]);
    assert_eq!(local("").unwrap(), []);
    let error = local("192.0.2.0/24, home").unwrap_err().to_string();
    assert_eq!(error, "my side: 'home': expected an address or a prefix such as 192.0.2.0/24 or 2001:db8::/32");
}
