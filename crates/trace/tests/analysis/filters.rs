//! Filters of spa-2018, each at its limit, and the directions they are reported for.

use crate::captures::analyze_bytes;
use crate::frames::{ACK, FIN, SYN, Segment, pcap, pcapng};
use gentle_trace::Options;
use gentle_trace::results::{Analysis, DirectionBy, Filter};
use gentle_units::Rate;

fn analyze(segments: &[Segment]) -> Analysis {
    analyze_bytes(&[&pcap(segments)], &Options::default()).0
}

fn filter<'a>(analysis: &'a Analysis, name: &str) -> &'a Filter {
    analysis.filters.iter().find(|filter| filter.name == name).expect("every filter is reported")
}

#[test]
fn more_than_45_s_of_retransmission_delay() {
    // SYNs at 0, 15 and 30 s and `last`: a connection of exactly 45 s stays.
    for (last, removed) in [(45.0, 0), (45.001, 1)] {
        let analysis = analyze(&[
            Segment::client(0.0, SYN).seq(1_000).id(1),
            Segment::client(15.0, SYN).seq(1_000).id(2),
            Segment::client(30.0, SYN).seq(1_000).id(3),
            Segment::client(last, SYN).seq(1_000).id(4),
        ]);
        let filter = filter(&analysis, "delay-45s");
        assert_eq!(filter.removed_connections, removed);
        assert_eq!(filter.connections, 1 - removed);
        let delay = analysis.directions[0].retransmission_delay_sum_s.all;
        assert_eq!(delay, (removed == 0).then_some(45.0));
    }
}

/// Connections of one address with many others: `without` unanswered SYNs and `with` connections that carry data.
fn flood(without: u32, with: u32) -> Analysis {
    const FLOODER: &str = "203.0.113.9";
    let address = |i: u32| format!("10.{}.{}.1", i / 256, i % 256);
    let mut segments = Vec::new();
    for i in 0..without {
        let at = f64::from(i) * 1e-4;
        let syn = Segment::between(at, (FLOODER, 1_025), (&address(i), 80), SYN);
        segments.push(syn.seq(i));
    }
    for i in 0..with {
        let at = 1.0 + f64::from(i);
        let server = address(10_000 + i);
        let (client, server) = ((FLOODER, 1_025), (server.as_str(), 80));
        segments.extend([
            Segment::between(at, client, server, SYN).seq(1_000),
            Segment::between(at + 0.1, server, client, SYN | ACK).seq(5_000).ack(1_001),
            Segment::between(at + 0.2, client, server, ACK).seq(1_001).ack(5_001).payload(10),
        ]);
    }
    analyze(&segments)
}

#[test]
fn syn_floods() {
    for (without, with, floods) in [
        (1_000, 0, true),
        (999, 0, false),
        // Ratio of connections without data to those with: exactly 1,000, and one less.
        (1_000, 1, true),
        (1_999, 2, false),
        (2_000, 2, true),
    ] {
        let analysis = flood(without, with);
        let filter = filter(&analysis, "syn-flood");
        let all = u64::from(without + with);
        let removed = if floods { all } else { 0 };
        assert_eq!(filter.removed_connections, removed, "{without} {with}");
        assert_eq!(filter.removed_addresses, Some(u64::from(floods)));
        assert_eq!(filter.connections, all - removed);
        let named = if floods { vec!["203.0.113.9"] } else { vec![] };
        assert_eq!(filter.examples, named);
        // The handshake counts include them nevertheless.
        assert_eq!(analysis.handshakes.attempts, all);
    }
}

#[test]
fn established_and_with_data() {
    let handshake = |at: f64, port: u16| {
        vec![
            Segment::client(at, SYN).seq(1_000).port(port),
            Segment::server(at + 0.1, SYN | ACK).seq(5_000).ack(1_001).port(port),
            Segment::client(at + 0.2, ACK).seq(1_001).ack(5_001).port(port),
        ]
    };
    // Neither established nor with data; established only; both, with data of either side.
    let mut segments = vec![Segment::client(0.0, SYN).seq(1_000).port(40_001)];
    segments.extend(handshake(1.0, 40_002));
    segments.extend(handshake(2.0, 40_003));
    segments.push(Segment::client(2.3, ACK).seq(1_001).ack(5_001).payload(1).port(40_003));
    segments.extend(handshake(3.0, 40_004));
    segments.push(Segment::server(3.3, ACK | FIN).seq(5_001).ack(1_001).payload(1).port(40_004));
    let analysis = analyze(&segments);
    let filter = filter(&analysis, "established-with-data");
    assert_eq!(filter.removed_connections, 2);
    assert_eq!(filter.connections, 2);
    assert_eq!(filter.directions[0].packets, 5);
    assert_eq!(filter.directions[1].packets, 3);
}

/// Handshake with a lost SYN, 1,000 bytes from the client, 100 bytes and a FIN back; interfaces by sender.
fn traffic() -> Vec<Segment> {
    vec![
        Segment::client(0.0, SYN).seq(1_000).id(1),
        Segment::client(1.0, SYN).seq(1_000).id(2),
        Segment::server(1.1, SYN | ACK).seq(5_000).ack(1_001).interface(1),
        Segment::client(1.2, ACK).seq(1_001).ack(5_001).payload(1_000),
        Segment::server(1.3, ACK).seq(5_001).ack(2_001).payload(100).interface(1),
        Segment::server(2.0, ACK).seq(5_001).ack(2_001).payload(100).interface(1),
    ]
}

/// Name, packets, bytes, retransmitted segments per segment, and the same for SYN and SYN/ACK.
type Summary = (String, u64, u64, Option<f64>, Option<f64>);

fn summary(analysis: &Analysis) -> Vec<Summary> {
    analysis
        .directions
        .iter()
        .map(|direction| {
            (
                direction.name.clone(),
                direction.packets,
                direction.wire_bytes,
                direction.packet_retransmission_probability,
                direction.syn_retransmission_probability,
            )
        })
        .collect()
}

#[test]
fn directions() {
    let from = |name: &str| (name.into(), 3, 3 * 40 + 1_000, Some(1.0 / 3.0), Some(0.5));
    let to = |name: &str| (name.into(), 3, 3 * 40 + 200, Some(1.0 / 3.0), Some(0.0));
    let segments = traffic();

    let analysis = analyze(&segments);
    assert_eq!(analysis.direction_by, DirectionBy::Initiator);
    let expected = [from("from initiator"), to("to initiator")];
    assert_eq!(summary(&analysis), expected);

    let options = Options { direction: Some(DirectionBy::Interface), ..Options::default() };
    let analysis = analyze_bytes(&[&pcapng(&segments, 2)], &options).0;
    assert_eq!(summary(&analysis), [from("eth0"), to("eth1")]);

    for (prefix, expected) in [("192.0.2.0/24", [from("out"), to("in")]), ("198.51.100.2/32", [to("out"), from("in")])]
    {
        let options = Options { local: vec![prefix.parse().unwrap()], ..Options::default() };
        let analysis = analyze_bytes(&[&pcap(&segments)], &options).0;
        assert_eq!(analysis.direction_by, DirectionBy::Local);
        assert_eq!(summary(&analysis), expected);
    }
    let options = Options { local: vec!["10.0.0.0/8".parse().unwrap()], ..Options::default() };
    let analysis = analyze_bytes(&[&pcap(&segments)], &options).0;
    let names: Vec<&str> = analysis.directions.iter().map(|d| d.name.as_str()).collect();
    assert_eq!(names, ["out", "in", "neither"]);
    assert_eq!(analysis.directions[2].packets, 6);
}

#[test]
fn utilization() {
    let segments = traffic();
    let rate = |analysis: &Analysis, way: usize| {
        let direction = &analysis.directions[way];
        (direction.rate_bps, direction.capacity_bps, direction.utilization)
    };
    // 1,120 and 320 bytes in 2 s.
    let options = Options { rate: Rate::from_bits_per_second(44_800), ..Options::default() };
    let analysis = analyze_bytes(&[&pcap(&segments)], &options).0;
    assert_eq!(rate(&analysis, 0), (4_480.0, Some(44_800.0), Some(0.1)));
    assert_eq!(rate(&analysis, 1).0, 1_280.0);
    assert!(analysis.directions.iter().all(|d| d.capacity_given));

    // Otherwise the highest rate over one second: the second one, with 40 + 1,040 bytes.
    let analysis = analyze(&segments);
    assert_eq!(rate(&analysis, 0).1, Some(8.0 * 1_080.0));
    assert!(!analysis.directions[0].capacity_given);
    // Utilisation relative to the capture's own highest rate would say nothing about the link.
    assert_eq!(rate(&analysis, 0).2, None);
}
