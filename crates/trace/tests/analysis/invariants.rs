//! Invariants of the analysis of any capture.

use crate::captures::{analyze_bytes, try_analyze};
use crate::frames::{ACK, FIN, RST, SYN, Segment, pcap};
use crate::handshakes::{self, Counts};
use crate::tshark;
use gentle_capture::{PcapWriter, RawPacket, Resolution};
use gentle_trace::Options;
use gentle_trace::results::Analysis;
use gentle_units::{Instant, Nanos};
use gentle_wire::LinkType;
use proptest::collection::vec;
use proptest::prelude::*;

const HOSTS: [&str; 2] = ["192.0.2.1", "198.51.100.2"];
const HOSTS6: [&str; 2] = ["2001:db8::1", "2001:db8::2"];

/// Sequence numbers from a small set, so that they often match, around the wrap-around.
fn number() -> impl Strategy<Value = u32> {
    (0..4_u32).prop_map(|n| n.wrapping_mul(10).wrapping_sub(20))
}

fn segment() -> impl Strategy<Value = Segment> {
    let flags = prop_oneof![
        4 => Just(SYN),
        4 => Just(SYN | ACK),
        6 => Just(ACK),
        1 => Just(FIN | ACK),
        1 => Just(RST),
        1 => Just(RST | ACK),
        1 => any::<u8>(),
    ];
    let ends = (prop::bool::weighted(0.1), any::<bool>(), 1..3_u16);
    let numbers = (number(), 0..2_u32, number(), 0..2_u32);
    let rest = (
        prop_oneof![Just(0_u16), Just(1), Just(10), Just(25)],
        0..3_u16,
        proptest::option::of((0..4_u32, 0..4_u32)),
        vec((number(), number()), 0..3),
        prop_oneof![Just(0_u16), Just(1_000)],
    );
    (flags, ends, numbers, rest).prop_map(|(flags, (wide, back, port), (seq, one, ack, next), rest)| {
        let hosts = if wide { HOSTS6 } else { HOSTS };
        let client = (hosts[0], 1_000 + port);
        let server = (hosts[1], 80);
        let (from, to) = if back { (server, client) } else { (client, server) };
        let (payload, id, stamps, sack, window) = rest;
        let mut segment = Segment::between(0.0, from, to, flags)
            .seq(seq.wrapping_add(one))
            .ack(ack.wrapping_add(next))
            .payload(if flags & SYN == 0 { payload } else { 0 })
            .id(id)
            .sack(&sack)
            .window(window);
        segment.timestamps = stamps;
        segment
    })
}

/// Segments with gaps from zero to longer than the delay of a copy, and sometimes negative.
fn stream(backwards: bool) -> impl Strategy<Value = Vec<Segment>> {
    let gap = prop_oneof![
        Just(0_i64),
        0..100_i64,
        0..10_000_i64,
        0..3_000_000_i64,
        Just(if backwards { -500 } else { 500 }),
    ];
    vec((segment(), gap), 0..80).prop_map(|segments| {
        let mut now = 1_000_000_i64;
        segments
            .into_iter()
            .map(|(segment, gap)| {
                now += gap;
                Segment { at_us: now.max(0) as u64, ..segment }
            })
            .collect()
    })
}

/// Converts a segment to the type that the definitions are checked with.
fn seen(segment: &Segment) -> tshark::Segment {
    tshark::Segment {
        ends: (segment.src.0.to_string(), segment.src.1, segment.dst.0.to_string(), segment.dst.1),
        seq: segment.seq,
        ack: segment.ack,
        flags: segment.flags.into(),
    }
}

fn json(analysis: &Analysis) -> String {
    serde_json::to_string(analysis).expect("it can be written")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn counts_are_those_of_the_definitions(segments in stream(true)) {
        let analysis = analyze_bytes(&[&pcap(&segments)], &Options::default()).0;
        let expected = handshakes::count(segments.iter().map(seen));
        let ours = Counts::of(&analysis);
        prop_assert!(expected.are(ours), "{ours:?} {expected:?}");
    }

    #[test]
    fn sums(segments in stream(true)) {
        let (analysis, rows) = analyze_bytes(&[&pcap(&segments)], &Options::default());
        let handshakes = &analysis.handshakes;
        let copies = handshakes.capture_duplicates;
        let again = analysis.retransmissions;
        let all = segments.len() as u64;
        prop_assert_eq!(analysis.captures[0].packets, all);
        prop_assert_eq!(analysis.captures[0].tcp_segments, all);
        prop_assert_eq!(handshakes.attempts, handshakes.successes + handshakes.failures);
        let outcomes = &analysis.outcomes;
        let failed: u64 = crate::outcomes::apart(outcomes).map(|apart| apart.attempts).sum();
        prop_assert_eq!(outcomes.answered + failed + outcomes.seen_twice, handshakes.attempts);
        prop_assert_eq!(outcomes.completed + outcomes.half_open, outcomes.answered);
        prop_assert!(handshakes.successes <= outcomes.completed + outcomes.seen_twice);
        prop_assert!(outcomes.with_loss <= outcomes.answered);
        prop_assert!(outcomes.late + outcomes.completed_with_loss <= outcomes.completed);
        prop_assert!(
            outcomes.repeats.total()
                <= handshakes.duplicate_syn - copies.syn + handshakes.duplicate_synack - copies.synack
        );
        prop_assert!(handshakes.duplicate_syn >= copies.syn);
        prop_assert!(handshakes.duplicate_synack >= copies.synack);
        prop_assert_eq!(
            handshakes.attempts_with_duplicate_syn,
            handshakes.successes_with_duplicate_syn + handshakes.failures_with_duplicate_syn
        );
        prop_assert!(handshakes.attempts_with_retransmission <= handshakes.attempts);
        prop_assert!(outcomes.with_loss <= handshakes.attempts_with_retransmission);
        prop_assert!(
            again.retransmitted + again.late + again.reordered + again.probes
                <= again.data_segments
        );
        prop_assert!(again.spurious <= again.retransmitted + again.late);

        let of_rows: u64 = rows
            .iter()
            .map(|row| row.from_client.segments + row.from_server.segments)
            .sum();
        prop_assert_eq!(of_rows + copies.syn + copies.synack + copies.other, all);
        let retransmitted: u64 = rows
            .iter()
            .map(|row| row.from_client.retransmissions + row.from_server.retransmissions)
            .sum();
        prop_assert_eq!(
            retransmitted,
            handshakes.duplicate_syn - copies.syn + handshakes.duplicate_synack - copies.synack
                + again.retransmitted + again.late
        );
        // Otherwise the clock goes back.
        let is_in_order = segments.is_sorted_by_key(|segment| segment.at_us);
        for row in &rows {
            let lasted = row.end - row.start;
            for side in [row.from_client, row.from_server] {
                let (delay, sum) = (side.retransmission_delay, side.retransmission_delay_sum);
                prop_assert!(delay <= sum, "{delay} of {sum}");
                prop_assert!(delay <= lasted || !is_in_order, "{delay} in {lasted}");
                let is_zero = |delay: Nanos| delay == Nanos::ZERO;
                prop_assert!(is_zero(delay) == is_zero(sum) || !is_in_order);
            }
        }
        let lasted: Nanos = rows.iter().map(|row| row.end - row.start).sum();
        prop_assert!(analysis.waiting.data_s <= lasted.as_secs_f64() || !is_in_order);
        let attempts = rows.iter().filter(|row| row.syn_seen).count() as u64;
        prop_assert_eq!(attempts, handshakes.attempts);
        let closes = analysis.closes;
        prop_assert_eq!(
            closes.fin + closes.rst + closes.silent + closes.open + closes.never_established,
            rows.len() as u64
        );

        let considered: u64 = rows
            .iter()
            .filter(|row| row.syn_seen)
            .map(|row| row.from_client.segments + row.from_server.segments)
            .sum();
        let of_directions: u64 = analysis.directions.iter().map(|d| d.packets).sum();
        // Holds only if no connection exceeds 45 s: otherwise the 45 s filter removes some from the sums.
        if analysis.filters[1].removed_connections == 0 {
            prop_assert_eq!(of_directions, considered);
        }
        let mut left = rows.len() as u64;
        for filter in &analysis.filters {
            left -= filter.removed_connections;
            prop_assert_eq!(filter.connections, left);
        }
        let bins = &analysis.timeline.bins;
        prop_assert_eq!(bins.iter().map(|bin| bin.segments).sum::<u64>(), all);
        prop_assert_eq!(bins.iter().map(|bin| bin.attempts).sum::<u64>(), handshakes.attempts);
        let bytes: u64 = analysis.captures[0].wire_bytes;
        prop_assert_eq!(bins.iter().map(|bin| bin.wire_bytes).sum::<u64>(), bytes);
        prop_assert_eq!(analysis.directions.iter().map(|d| d.wire_bytes).sum::<u64>(), bytes);
    }

    #[test]
    fn the_same_again(segments in stream(true)) {
        let capture = pcap(&segments);
        let analysis = || json(&analyze_bytes(&[&capture], &Options::default()).0);
        prop_assert_eq!(analysis(), analysis());
    }

    #[test]
    fn a_capture_split_in_two(segments in stream(false), at in 0.0..1.0) {
        let (first, second) = segments.split_at((at * segments.len() as f64) as usize);
        let (whole, rows) = analyze_bytes(&[&pcap(&segments)], &Options::default());
        let (mut parts, rows_of_parts) =
            analyze_bytes(&[&pcap(first), &pcap(second)], &Options::default());
        prop_assert_eq!(parts.captures.len(), 2);
        parts.captures.clone_from(&whole.captures);
        prop_assert_eq!(json(&parts), json(&whole));
        prop_assert_eq!(rows_of_parts, rows);
    }

    #[test]
    fn no_bytes_are_too_strange(bytes in vec(any::<u8>(), 0..2_000)) {
        try_analyze(bytes);
    }

    #[test]
    fn no_packets_are_too_strange(
        link in prop_oneof![Just(1_u8), Just(101), Just(113), Just(127), Just(228), any::<u8>()],
        packets in vec((vec(any::<u8>(), 0..120), any::<u32>(), 0..60_u64), 0..20),
    ) {
        let link = LinkType(link.into());
        let mut writer = PcapWriter::new(Vec::new(), link, None, Resolution::Micros).unwrap();
        let mut seconds = 0;
        for (data, wire, gap) in packets {
            seconds += gap;
            let packet = RawPacket {
                time: Instant::from_secs(seconds),
                interface: 0,
                link,
                original_len: wire.max(data.len() as u32),
                data: &data,
            };
            writer.packet(&packet).unwrap();
        }
        try_analyze(writer.into_inner());
    }

    /// Random bytes in a capture of segments do not make the analysis fail.
    #[test]
    fn no_damage_is_too_strange(
        segments in stream(true),
        damage in vec((any::<prop::sample::Index>(), any::<u8>()), 1..30),
    ) {
        let mut capture = pcap(&segments);
        for (at, byte) in damage {
            let at = at.index(capture.len());
            capture[at] = byte;
        }
        try_analyze(capture);
    }
}
