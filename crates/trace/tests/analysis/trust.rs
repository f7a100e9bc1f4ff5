//! Misleading captures are reported as such, with evidence; others are not.

use crate::captures::{analyze_bytes, analyze_files};
use crate::frames::{ACK, FIN, PSH, SYN, Segment, end, ip_packet, pcap, pcap_of, pcapng};
use gentle_trace::Options;
use gentle_trace::results::{Analysis, Finding, TrustWarning, TrustWarningKind as Kind};
use gentle_wire::{EthernetHeader, LinkType, Udp, protocol};
use std::collections::BTreeMap;
use std::io::Write;

/// Connection that begins at `at_s` from `port`, 20 ms from the server, with four responses of 1,000 bytes.
fn connection(at_s: f64, port: u16) -> Vec<Segment> {
    let client = |after, flags| Segment::client(at_s + after, flags).port(port);
    let server = |after, flags| Segment::server(at_s + after, flags).port(port);
    let mut segments = vec![
        client(0.0, SYN).seq(100).id(1),
        server(0.02, SYN | ACK).seq(500).ack(101),
        client(0.021, ACK).seq(101).ack(501).id(2),
        client(0.022, PSH | ACK).seq(101).ack(501).payload(50).id(3),
    ];
    for i in 0..4_u16 {
        let at = 0.05 + 0.03 * f64::from(i);
        let seq = 501 + 1_000 * u32::from(i);
        let data = server(at, PSH | ACK).seq(seq).ack(151).id(10 + i);
        segments.push(data.payload(1_000));
        segments.push(client(at + 0.001, ACK).seq(151).ack(seq + 1_000).id(4 + i));
    }
    segments.push(client(0.2, FIN | ACK).seq(151).ack(4_501).id(9));
    segments.push(server(0.22, FIN | ACK).seq(4_501).ack(152).id(14));
    segments.push(client(0.221, ACK).seq(152).ack(4_502).id(10));
    segments
}

/// Connections at intervals of 10 ms, in order of time.
fn connections(count: u16) -> Vec<Segment> {
    let mut segments: Vec<Segment> = (0..count).flat_map(|i| connection(f64::from(i) * 0.01, 40_000 + i)).collect();
    segments.sort_by_key(|segment| segment.at_us);
    segments
}

fn analyze(capture: &[u8]) -> Analysis {
    analyze_bytes(&[capture], &Options::default()).0
}

/// The only warning, which the verdict must contain.
fn only(analysis: &Analysis) -> &TrustWarning {
    let [warning] = analysis.warnings.as_slice() else {
        panic!("{:?}", analysis.warnings);
    };
    assert!(analysis.findings.contains(&Finding::Warning { warning: 0 }));
    if warning.kind.spoils_figures() {
        assert_eq!(analysis.findings[0], Finding::Warning { warning: 0 });
    }
    warning
}

#[test]
fn a_sound_capture_is_not_suspected() {
    let segments = connections(200);
    assert_eq!(analyze(&pcap(&segments)).warnings, []);
    // Receive queues that differ by some microseconds.
    let mut swapped = segments;
    swapped.chunks_exact_mut(2).for_each(|pair| pair.swap(0, 1));
    for pair in swapped.chunks_exact_mut(2) {
        let earlier = pair[1].at_us.max(pair[0].at_us.saturating_sub(90));
        pair[1].at_us = earlier;
    }
    assert_eq!(analyze(&pcap(&swapped)).warnings, []);
}

/// `packet` in VXLAN between two hosts.
fn in_vxlan(packet: &[u8]) -> Vec<u8> {
    let ethernet = EthernetHeader {
        dst: [2, 0, 0, 0, 0, 1],
        src: [2, 0, 0, 0, 0, 2],
        tags: &[],
        ether_type: EthernetHeader::IPV4,
    };
    let mut payload = vec![8, 0, 0, 0, 0, 0, 7, 0];
    payload.extend([0; EthernetHeader::UNTAGGED_LEN]);
    ethernet.emit(&mut payload[8..]).unwrap();
    payload.extend(packet);
    let udp = Udp { src_port: 49_153, dst_port: 4_789, payload_len: payload.len() as u32, payload: &payload };
    let [src, dst] = ["10.0.0.1", "10.0.0.2"].map(|address| end((address, 0)).0);
    let len = Udp::HEADER_LEN + payload.len();
    ip_packet(src, dst, (protocol::UDP, 64, 0), len, |_, out| udp.emit(None, out))
}

#[test]
fn tunnels_are_looked_into_where_nothing_else_is_there() {
    let segments = connections(20);
    let capture = pcap_of(LinkType::RAW, segments.iter().map(|it| (it, in_vxlan(&it.packet()))));
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&capture).unwrap();
    let (analysis, rows) = analyze_files(&[file.path()], &Options::default());
    let warning = only(&analysis);
    assert_eq!(warning.kind, Kind::TunnelsRead);
    assert_eq!(warning.evidence["packets"], segments.len() as f64);
    assert_eq!(analysis.handshakes.successes, 20);
    assert_eq!(analysis.captures[0].tunnels["VXLAN"], segments.len() as u64);
    assert_eq!(rows.len(), 20);

    // A stream cannot be read twice.
    let analysis = analyze(&capture);
    let warning = only(&analysis);
    assert_eq!(warning.kind, Kind::TunnelsNotRead);
    let packets = segments.len() as u64;
    assert_eq!(analysis.findings[0], Finding::NoTcp { packets, kinds: BTreeMap::from([("udp", packets)]) });
    let inner = Options { inner: true, ..Options::default() };
    let told = analyze_bytes(&[&capture], &inner).0;
    assert_eq!((told.handshakes.successes, told.warnings), (20, Vec::new()));
}

#[test]
fn tunnels_beside_other_traffic_are_told() {
    let segments = connections(20);
    let packets = segments.iter().enumerate().map(|(i, it)| match i % 4 {
        0 => (it, in_vxlan(&it.packet())),
        _ => (it, it.packet()),
    });
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&pcap_of(LinkType::RAW, packets)).unwrap();
    let analysis = analyze_files(&[file.path()], &Options::default()).0;
    let warning = analysis.warnings.last().unwrap();
    assert_eq!(warning.kind, Kind::TunnelsNotRead);
    assert_eq!(warning.evidence["packets"], (segments.len() / 4) as f64);
}

#[test]
fn link_types_that_are_not_read_have_their_name() {
    let mut capture = pcap(&connections(1));
    capture[20] = 189;
    let analysis = analyze(&capture);
    let warning = only(&analysis);
    assert_eq!(warning.kind, Kind::LinkTypeNotRead);
    assert_eq!(warning.evidence["link_type"], 189.0);
}

#[test]
fn encrypted_frames_are_told() {
    let segments = connections(1);
    let macsec = |it: &Segment| {
        let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0xe5, 0x2c, 0];
        frame.extend([0; 12]);
        frame.extend(it.packet());
        frame
    };
    let capture = pcap_of(LinkType::ETHERNET, segments.iter().map(|it| (it, macsec(it))));
    assert_eq!(only(&analyze(&capture)).kind, Kind::Encrypted);
    let esp = |it: &Segment| {
        let mut packet = it.packet();
        packet[9] = 50;
        packet
    };
    let capture = pcap_of(LinkType::RAW, segments.iter().map(|it| (it, esp(it))));
    assert_eq!(only(&analyze(&capture)).kind, Kind::Encrypted);
}

#[test]
fn a_shuffled_capture_is_out_of_order() {
    let mut segments = connections(50);
    // A permutation unlike any of a real capture.
    let count = segments.len();
    for i in 0..count {
        segments.swap(i, (i * 7_919 + 13) % count);
    }
    let analysis = analyze(&pcap(&segments));
    let warning = &analysis.warnings[0];
    assert_eq!(warning.kind, Kind::TimeRunsBackwards);
    assert!(warning.evidence["share"] > 0.9, "{warning:?}");
    assert!(warning.evidence["furthest_s"] > 0.5, "{warning:?}");
    assert_eq!(analysis.findings[0], Finding::Warning { warning: 0 });
}

#[test]
fn a_clock_set_back_while_capturing_is_told() {
    let mut segments = connections(100);
    let half = segments.len() / 2;
    segments[half..].iter_mut().for_each(|it| it.at_us -= 150_000);
    let analysis = analyze(&pcap(&segments));
    let warning = &analysis.warnings[0];
    assert_eq!(warning.kind, Kind::TimeRunsBackwards);
    assert!((0.14..0.16).contains(&warning.evidence["furthest_s"]), "{warning:?}");
}

/// Two taps, one per direction, whose clocks differ by more than the round-trip time: either the SYN/ACKs come before
/// the SYNs, or the ACKs before the SYN/ACKs.
#[test]
fn two_clocks_give_themselves_away() {
    for (ahead_us, least) in [(-200_000_i64, 0.15), (200_000, 0.01)] {
        let (requests, mut answers): (Vec<Segment>, Vec<Segment>) =
            connections(50).into_iter().partition(|it| it.dst.1 == 443);
        for answer in &mut answers {
            answer.at_us = (answer.at_us + 1_000_000).saturating_add_signed(ahead_us);
        }
        let requests: Vec<Segment> = requests.iter().map(|it| it.again(1_000_000)).collect();
        let captures = [pcap(&requests), pcap(&answers)];
        let captures = [captures[0].as_slice(), captures[1].as_slice()];
        let analysis = analyze_bytes(&captures, &Options::default()).0;
        let warning = only(&analysis);
        assert_eq!(warning.kind, Kind::AnswersBeforeQuestions, "{ahead_us}");
        let offset = warning.evidence["offset_s"];
        assert!((least..=0.2).contains(&offset), "{ahead_us}: {warning:?}");
    }
}

#[test]
fn times_of_another_age_are_told() {
    let mut segments = connections(10);
    // No time is before 1970, so the stray is put after the other packets, which begin at 1,600,000,000 s.
    let stray = Segment::client(60.0 * 365.25 * 86_400.0, ACK).seq(7).port(9);
    segments.insert(30, stray);
    let analysis = analyze(&pcap(&segments));
    let warning = only(&analysis);
    assert_eq!(warning.kind, Kind::TimesApart);
    assert_eq!(warning.evidence["packets"], 1.0);
    let years = warning.evidence["distance_s"] / 86_400.0 / 365.25;
    assert_eq!(years.round(), 60.0, "{warning:?}");
}

/// Interface statistics block: packets received, packets dropped by the interface, packets dropped by the system.
fn statistics(received: u64, by_interface: u64, by_system: u64) -> Vec<u8> {
    let mut body = [0_u32; 3].map(u32::to_le_bytes).concat();
    for (code, value) in [(4_u16, received), (5, by_interface), (7, by_system)] {
        body.extend(code.to_le_bytes());
        body.extend(8_u16.to_le_bytes());
        body.extend(value.to_le_bytes());
    }
    body.extend([0; 4]);
    let length = (12 + body.len() as u32).to_le_bytes();
    [&5_u32.to_le_bytes(), &length, body.as_slice(), &length].concat()
}

#[test]
fn a_capture_that_dropped_packets_says_so_itself() {
    let mut capture = pcapng(&connections(10), 1);
    assert_eq!(analyze(&capture).warnings, []);
    // Counters are cumulative; the last block counts.
    capture.extend(statistics(5_000, 4_000, 0));
    capture.extend(statistics(10_000, 9_000, 991));
    let analysis = analyze(&capture);
    let warning = only(&analysis);
    assert_eq!(warning.kind, Kind::DroppedByCapture);
    assert_eq!(warning.evidence["packets"], 9_991.0);
    assert_eq!(warning.evidence["of"], 10_000.0);

    let mut capture = pcapng(&connections(10), 1);
    capture.extend(statistics(10_000_000, 12, 0));
    assert_eq!(analyze(&capture).warnings, []);
}

#[test]
fn a_capture_that_lost_packets_in_silence_is_found_out() {
    let whole = connections(200);
    // Every tenth packet is missing, of any kind.
    let kept = whole.iter().enumerate().filter(|(i, _)| i % 10 != 3);
    let kept: Vec<Segment> = kept.map(|(_, segment)| segment.clone()).collect();
    let analysis = analyze(&pcap(&kept));
    let warning = only(&analysis);
    assert_eq!(warning.kind, Kind::MissingPackets);
    let missing = whole.len() / 10;
    let data = missing * 6 / 17;
    let found = warning.evidence["stretches"];
    assert!((data as f64 * 0.5..=missing as f64).contains(&found), "{warning:?} {data}");
}

/// MSS option of a SYN.
const MSS_1460: [u8; 4] = [2, 4, 5, 0xb4];

#[test]
fn merged_segments_are_larger_than_any_host_accepts() {
    let mss = |segments: &mut [Segment]| {
        for segment in segments.iter_mut().filter(|segment| segment.flags & SYN != 0) {
            *segment = segment.clone().option(&MSS_1460);
        }
    };
    let mut whole = connections(20);
    mss(&mut whole);
    assert_eq!(analyze(&pcap(&whole)).warnings, []);
    // Responses of 4,000 bytes as one segment, and their acknowledgement.
    let mut merged = whole.clone();
    merged.retain(|segment| segment.flags & (SYN | FIN) != 0 || ![1_501, 2_501, 3_501].contains(&segment.seq));
    for segment in merged.iter_mut().filter(|segment| segment.seq == 501 && segment.payload == 1_000) {
        *segment = segment.clone().payload(4_000);
    }
    let analysis = analyze(&pcap(&merged));
    let warning = only(&analysis);
    assert_eq!(warning.kind, Kind::MergedSegments);
    let evidence = [("segments", 20.0), ("largest_bytes", 4_000.0), ("mss_bytes", 1_460.0)];
    assert!(evidence.iter().all(|(name, number)| warning.evidence[name] == *number), "{:?}", warning.evidence);
    assert_eq!(analysis.handshakes.successes, 20);
    // A larger MSS, as on a loopback device.
    let mut large = merged;
    large[0].options = vec![2, 4, 0xff, 0xd7];
    assert_eq!(analyze(&pcap(&large)).warnings, []);
}

#[test]
fn checksums_that_the_network_card_computes_change_nothing() {
    let segments = connections(20);
    let wrong = segments.iter().map(|segment| {
        let mut packet = segment.packet();
        packet[20 + 16] ^= 0x5a;
        (segment, packet)
    });
    let [right, wrong] = [pcap(&segments), pcap_of(LinkType::RAW, wrong)].map(|capture| {
        let analysis = analyze(&capture);
        serde_json::to_string(&analysis).unwrap()
    });
    assert_eq!(right, wrong);
}
