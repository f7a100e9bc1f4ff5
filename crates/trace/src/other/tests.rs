//! Tests with whole captures, compared with the losses made in them and with Wireshark.

use super::Others;
use crate::results::{OtherHandshakes, OtherProtocols};
use gentle_capture::CaptureReader;
use gentle_testkit::zeek;
use gentle_units::{Instant, Nanos};
use gentle_wire::{LinkType, Tunnels, dissect};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A frame: when it came, its bytes and its length on the wire.
type Frame = (Instant, LinkType, Vec<u8>, u32);

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/other")
}

fn frames(path: &Path) -> Vec<Frame> {
    let mut frames = Vec::new();
    let mut reader = CaptureReader::open(path).unwrap();
    while let Ok(Some(packet)) = reader.next() {
        frames.push((packet.time, packet.link, packet.data.to_vec(), packet.original_len));
    }
    frames
}

fn own(name: &str) -> Vec<Frame> {
    frames(&folder().join(name).with_extension("pcap"))
}

fn analyzed<'a>(frames: impl IntoIterator<Item = &'a Frame>) -> OtherProtocols {
    let mut others = Others::new(1 << 20, Nanos::from_secs(900));
    for (time, link, data, len) in frames {
        if let Ok(packet) = dissect(*link, data, *len, Tunnels::Outer) {
            others.observe(*time, &packet);
        }
    }
    others.finish().result()
}

fn cut(frames: &[Frame], snap: usize) -> Vec<Frame> {
    let mut frames = frames.to_vec();
    for frame in &mut frames {
        frame.2.truncate(snap);
    }
    frames
}

fn kinds(found: &OtherHandshakes) -> Vec<(&str, u64)> {
    let counts = found.retransmissions.iter();
    counts.map(|(kind, &count)| (kind.as_ref(), count)).collect()
}

fn close_to(seconds: f64, milliseconds: f64) -> bool {
    (seconds * 1e3 - milliseconds).abs() < 0.001
}

/// Capture of one attempt over a path that lost chosen packets.
struct Case {
    name: &'static str,
    version: &'static str,
    succeeds: bool,
    retransmissions: &'static [(&'static str, u64)],
    /// Sum over the lost packets of the time between first and last transmission, as tshark shows them; milliseconds.
    lost_ms: f64,
    /// Time of the server's first packet, milliseconds, if the client had sent nothing twice until then.
    rtt_ms: Option<f64>,
}

/// Captures of real end points (aioquic 1.7); the names say what was lost.
const QUIC: [Case; 15] = [
    case("plain", "v1", true, &[], 0.0, Some(9.424)),
    case("init-1", "v1", true, &[("initial (client)", 1)], 200.207, None),
    // IPv6.
    case("init-2", "v1", true, &[("initial (client)", 2)], 601.249, None),
    // The client repeats its Initial, too.
    case("reply-1", "v1", true, &[("initial (client)", 1), ("initial (server)", 1)], 193.913, Some(8.461)),
    case("both", "v2", true, &[("initial (client)", 1), ("initial (server)", 1)], 204.319 + 200.988, None),
    case("retry", "v1", true, &[], 0.0, Some(0.488)),
    case("retry-init", "v1", true, &[("initial (client)", 1)], 202.942, None),
    case("retry-retry", "v1", true, &[("initial (client)", 1)], 205.711, Some(1.012)),
    case("retry-token", "v2", true, &[("initial (client)", 1)], 200.680, Some(0.764)),
    // The server speaks version 2 only: by Version Negotiation, with a client that does not, and by RFC 9368.
    case("version", "v1", true, &[], 0.0, Some(0.428)),
    case("version-v1", "v1", false, &[], 0.0, Some(0.375)),
    case("compatible", "v1", true, &[], 0.0, Some(8.445)),
    case("unanswered", "v1", false, &[("initial (client)", 6)], 0.0, None),
    // A ClientHello of two datagrams; then with the second one lost.
    case("large", "v1", true, &[], 0.0, Some(2.977)),
    case("large-2", "v1", true, &[("initial (client)", 1)], 10.628, Some(2.759)),
];

const fn case(
    name: &'static str,
    version: &'static str,
    succeeds: bool,
    retransmissions: &'static [(&'static str, u64)],
    lost_ms: f64,
    rtt_ms: Option<f64>,
) -> Case {
    Case { name, version, succeeds, retransmissions, lost_ms, rtt_ms }
}

impl Case {
    fn frames(&self) -> Vec<Frame> {
        own(&format!("quic-{}", self.name))
    }

    fn check<'a>(&self, frames: impl IntoIterator<Item = &'a Frame>) {
        let found = analyzed(frames).quic.unwrap();
        let name = self.name;
        assert_eq!(found.attempts, 1, "{name}");
        assert_eq!(found.successes, u64::from(self.succeeds), "{name}");
        assert_eq!(kinds(&found), self.retransmissions, "{name}");
        let lossy = !self.retransmissions.is_empty();
        assert_eq!(found.attempts_with_loss, u64::from(lossy), "{name}");
        assert!(close_to(found.time_lost_s, self.lost_ms), "{name}: {}", found.time_lost_s);
        assert_eq!(found.rtt_s.n, u64::from(self.rtt_ms.is_some()), "{name}");
        if let (Some(found), Some(expected)) = (found.rtt_s.mean, self.rtt_ms) {
            assert!(close_to(found, expected), "{name}: {found}");
        }
        assert_eq!(found.versions, BTreeMap::from([(self.version.to_string(), 1)]), "{name}");
    }
}

#[test]
fn quic_losses_are_found_as_they_were_made() {
    for case in &QUIC {
        case.check(&case.frames());
    }
}

#[test]
fn a_second_copy_of_every_frame_changes_nothing() {
    for case in &QUIC {
        case.check(case.frames().iter().flat_map(|frame| [frame, frame]));
    }
}

#[test]
fn the_front_of_the_packets_is_enough() {
    for case in &QUIC {
        // With IPv6 addresses or a token, the packet number lies behind the first 96 bytes.
        let snap = match case.name {
            "init-2" | "retry-init" | "version" => 128,
            "retry-token" => 256,
            _ => 96,
        };
        case.check(&cut(&case.frames(), snap));
    }
}

#[test]
fn where_packets_are_cut_too_short_connections_are_counted_all_the_same() {
    for case in &QUIC {
        // Includes the connection IDs, but not the sample that header protection needs.
        let snap = match case.name {
            "init-2" | "retry-init" | "version" => 92,
            _ => 72,
        };
        let found = analyzed(&cut(&case.frames(), snap)).quic.unwrap();
        assert_eq!(found.attempts, 1, "{}", case.name);
        assert_eq!(found.successes, u64::from(case.succeeds), "{}", case.name);
        assert!(found.rtt_s.n <= u64::from(case.rtt_ms.is_some()), "{}", case.name);
    }
}

#[test]
fn one_direction_shows_its_own_retransmissions() {
    for case in &QUIC {
        let frames = case.frames();
        // Source address of IPv4 or IPv6 after 14 bytes of Ethernet.
        let source = |frame: &Frame| match frame.2[12] {
            0x08 => frame.2[26..30].to_vec(),
            _ => frame.2[22..38].to_vec(),
        };
        let client = source(&frames[0]);
        let found = analyzed(frames.iter().filter(|frame| source(frame) == client));
        let found = found.quic.unwrap();
        let own = |(kind, _): &&(&str, u64)| *kind == "initial (client)";
        let expected: Vec<_> = case.retransmissions.iter().filter(own).copied().collect();
        assert_eq!((found.attempts, kinds(&found)), (1, expected), "{}", case.name);
        // Without the server's connection ID, short headers cannot be attributed.
        assert!(found.successes <= u64::from(case.succeeds), "{}", case.name);
        let server = analyzed(frames.iter().filter(|frame| source(frame) != client));
        assert!(server.quic.is_none(), "keys come from the client: {}", case.name);
    }
}

/// Number of Initial packets with retransmitted CRYPTO bytes, computed from tshark's output.
fn by_tshark(path: &Path) -> u64 {
    let mut tshark = Command::new("tshark");
    tshark.args(["-T", "fields", "-E", "occurrence=a", "-Y", "quic.crypto.offset"]);
    for field in [
        "ip.src",
        "ipv6.src",
        "udp.srcport",
        "ip.dst",
        "ipv6.dst",
        "udp.dstport",
        "quic.token_length",
        "quic.packet_number",
        "quic.crypto.offset",
        "quic.crypto.length",
    ] {
        tshark.args(["-e", field]);
    }
    let output = tshark.arg("-r").arg(path).output();
    let output = output.unwrap_or_else(|error| panic!("tshark cannot be run ({error}): run `scripts/bootstrap test`"));
    let text = String::from_utf8_lossy(&output.stdout);
    let mut sent: BTreeMap<String, (BTreeSet<u64>, BTreeSet<String>, bool)> = BTreeMap::new();
    let mut again = 0;
    for line in text.lines() {
        let fields: Vec<_> = line.split('\t').collect();
        let (bytes, numbers, token) = sent.entry(fields[..6].join(" ")).or_default();
        let has_token = fields[6].split(',').any(|len| !len.is_empty() && len != "0");
        if has_token && !*token {
            bytes.clear();
            *token = true;
        }
        if !numbers.insert(fields[7].to_string()) {
            continue;
        }
        let parse = |field: &str| field.split(',').map(|n| n.parse().unwrap()).collect::<Vec<u64>>();
        let ranges = parse(fields[8]).into_iter().zip(parse(fields[9]));
        let these: Vec<u64> = ranges.flat_map(|(offset, len)| offset..offset + len).collect();
        again += u64::from(these.iter().any(|byte| bytes.contains(byte)));
        bytes.extend(these);
    }
    again
}

#[test]
fn retransmissions_are_those_that_tshark_shows() {
    let shared = zeek::folder().join("zeek/quic");
    let mut compared = 0;
    for folder in [folder(), shared] {
        let entries = std::fs::read_dir(&folder).expect("captures are there");
        for path in entries.map(|entry| entry.unwrap().path()) {
            let captures = ["pcap", "pcapng"];
            let extension = path.extension().and_then(|extension| extension.to_str());
            if !extension.is_some_and(|extension| captures.contains(&extension)) {
                continue;
            }
            let expected = by_tshark(&path);
            let found = analyzed(&frames(&path)).quic.unwrap_or_default().retransmissions;
            let found =
                ["initial (client)", "initial (server)"].iter().filter_map(|kind| found.get(*kind)).sum::<u64>();
            assert_eq!(found, expected, "{}", path.display());
            compared += 1;
        }
    }
    assert!(compared >= QUIC.len());
}

#[test]
fn sctp_losses_are_found_as_they_were_written() {
    // Seven attempts: one without loss; two INITs lost (9 s); an INIT ACK lost (3 s); a COOKIE ECHO lost (1 s); one
    // unanswered; one with each packet captured twice; and one refused, on a reused port.
    let found = analyzed(&own("sctp")).sctp.unwrap();
    assert_eq!((found.attempts, found.successes), (7, 5));
    assert_eq!(kinds(&found), [("cookie-echo", 1), ("init", 2 + 1 + 2), ("init-ack", 1)]);
    assert_eq!(found.attempts_with_loss, 4);
    assert!(close_to(found.time_lost_s, 13_000.0));
    assert_eq!(found.rtt_s.n, 4, "the clean ones, and those whose INIT came through at once");
    assert!(close_to(found.rtt_s.mean.unwrap(), 50.0));
}

#[test]
fn dccp_losses_are_found_as_they_were_written() {
    // Six attempts: one without loss; two Requests lost while sequence numbers wrap (3 s); a Response lost (1 s); one
    // unanswered; one with each packet captured twice; and one on a reused port.
    let found = analyzed(&own("dccp")).dccp.unwrap();
    assert_eq!((found.attempts, found.successes), (6, 5));
    assert_eq!(kinds(&found), [("request", 2 + 1 + 2), ("response", 1)]);
    assert_eq!(found.attempts_with_loss, 3);
    assert!(close_to(found.time_lost_s, 4_000.0));
    assert_eq!(found.rtt_s.n, 4);
    assert!(close_to(found.rtt_s.mean.unwrap(), 40.0));
}

#[test]
fn what_is_not_there_is_absent() {
    let found = analyzed(&own("dccp"));
    assert!(found.quic.is_none() && found.sctp.is_none() && found.dccp.is_some());
    let nothing = Others::new(0, Nanos::ZERO).finish().result();
    assert!(nothing.quic.is_none() && nothing.sctp.is_none() && nothing.dccp.is_none());
}

#[test]
fn a_flood_of_attempts_goes_through_little_memory() {
    let init = own("sctp").swap_remove(0);
    let mut others = Others::new(1 << 16, Nanos::from_secs(900));
    for attempt in 0..100_000u32 {
        let mut data = init.2.clone();
        // Source address, and initiate tag after 14 + 20 + 12 + 4 bytes.
        data[26..30].copy_from_slice(&attempt.to_be_bytes());
        data[50..54].copy_from_slice(&(attempt + 1).to_be_bytes());
        let packet = dissect(init.1, &data, init.3, Tunnels::Outer).unwrap();
        others.observe(init.0, &packet);
    }
    assert_eq!(others.finish().result().sctp.unwrap().attempts, 100_000);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn damaged_captures_in_any_order_end(
        which in 0usize..17,
        damage in prop::collection::vec((any::<prop::sample::Index>(), 14usize..200, any::<u8>()), 0..12),
        cuts in prop::collection::vec((any::<prop::sample::Index>(), 14usize..200), 0..4),
        order in any::<u64>(),
    ) {
        let mut frames = match QUIC.get(which) {
            Some(case) => case.frames(),
            None if which == 15 => own("sctp"),
            None => own("dccp"),
        };
        let len = frames.len();
        for (frame, at, value) in damage {
            if let Some(byte) = frames[frame.index(len)].2.get_mut(at) {
                *byte = value;
            }
        }
        for (frame, at) in cuts {
            frames[frame.index(len)].2.truncate(at);
        }
        for i in 0..len {
            frames.swap(i, (order >> (i % 60)) as usize % len);
        }
        let found = analyzed(&frames);
        for found in [found.quic, found.sctp, found.dccp].into_iter().flatten() {
            prop_assert!(found.successes <= found.attempts && found.attempts_with_loss <= found.attempts);
        }
    }
}
