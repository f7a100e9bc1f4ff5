//! Repeated segments that are no retransmissions, and retransmissions that do not look like one.

use crate::captures::analyze_bytes;
use crate::frames::{ACK, FIN, PSH, SYN, Segment, pcap};
use gentle_trace::Options;
use gentle_trace::results::Analysis;

fn analyze(segments: &[Segment]) -> Analysis {
    analyze_bytes(&[&pcap(segments)], &Options::default()).0
}

/// Handshake captured at the client, 20 ms from the server.
fn handshake() -> Vec<Segment> {
    vec![
        Segment::client(0.0, SYN).seq(100).id(1),
        Segment::server(0.02, SYN | ACK).seq(500).ack(101),
        Segment::client(0.021, ACK).seq(101).ack(501).id(2),
    ]
}

#[test]
fn copies_are_no_data_segments() {
    let mut segments = handshake();
    for i in 0..4_u16 {
        let data = Segment::server(0.1 * f64::from(i) + 0.1, PSH | ACK);
        let data = data.seq(501 + 100 * u32::from(i)).ack(101).payload(100).id(7 + i);
        let copy = data.again(40);
        segments.extend([data, copy]);
    }
    let analysis = analyze(&segments);
    assert_eq!(analysis.handshakes.capture_duplicates.other, 4);
    assert_eq!(analysis.retransmissions.data_segments, 4);
}

/// BSD and Windows probe a zero window with the next byte; when it opens, they continue from that byte.
#[test]
fn a_probe_with_a_new_byte_is_no_loss() {
    let server = |at, seq, payload| {
        let segment = Segment::server(at, PSH | ACK).seq(seq).ack(101);
        segment.payload(payload).id((at * 1e3) as u16)
    };
    let client = |at, ack, window| Segment::client(at, ACK).seq(101).ack(ack).window(window);
    for byte_taken in [false, true] {
        let taken = u32::from(byte_taken);
        let mut segments = handshake();
        segments.extend([
            server(0.1, 501, 1_000),
            client(0.12, 1_501, 0),
            server(5.1, 1_501, 1),
            client(5.12, 1_501, 0),
            server(7.1, 1_501, 1),
            client(7.12, 1_501 + taken, 0),
            client(10.0, 1_501 + taken, 1_000),
            server(10.1, 1_501 + taken, 500),
            client(10.12, 2_001 + taken, 1_000),
        ]);
        let analysis = analyze(&segments);
        let found = analysis.retransmissions;
        assert_eq!((found.retransmitted, found.probes), (0, 1), "{byte_taken}");
        assert_eq!(analysis.waiting.data_s, 0.0, "{byte_taken}");
    }

    // The probe is the last byte of all: it is repeated unchanged.
    let mut segments = handshake();
    segments.extend([
        server(0.1, 501, 1_000),
        client(0.12, 1_501, 0),
        server(5.1, 1_501, 1),
        client(5.12, 1_501, 0),
        client(10.0, 1_501, 1_000),
        server(10.1, 1_501, 1),
        client(10.12, 1_502, 1_000),
    ]);
    let (analysis, rows) = analyze_bytes(&[&pcap(&segments)], &Options::default());
    assert_eq!(analysis.retransmissions.retransmitted, 0);
    assert_eq!(rows[0].from_server.bytes, 1_001);
}

/// A lost keystroke is retransmitted together with the next, without a zero window.
#[test]
fn one_byte_lost_with_an_open_window_is_lost() {
    let mut segments = handshake();
    let client = |at, seq, payload| {
        let segment = Segment::client(at, PSH | ACK).seq(seq).ack(501);
        segment.payload(payload).id((at * 1e3) as u16)
    };
    segments.extend([client(1.0, 101, 1), client(1.3, 101, 2)]);
    assert_eq!(analyze(&segments).retransmissions.retransmitted, 1);
}

#[test]
fn a_fin_is_no_copy_of_a_syn() {
    let segments = [Segment::client(0.0, SYN).seq(100).id(7), Segment::client(0.001, FIN | ACK).seq(100).id(7)];
    let analysis = analyze(&segments);
    let copies = analysis.handshakes.capture_duplicates;
    assert_eq!((copies.syn, copies.other), (0, 0));
}

/// The capture lacks a segment but has its acknowledgement. If the IP identification shows that it was sent after a
/// later segment, it is the retransmission of one lost before the capture, however soon it comes.
#[test]
fn a_retransmission_behind_its_acknowledgement_is_late() {
    let server = |at, seq: u32, id| {
        let data = Segment::server(at, PSH | ACK).seq(seq).ack(101);
        data.payload(100).id(id)
    };
    let late = |id| {
        let mut segments = handshake();
        segments.extend([
            server(0.1, 501, 10),
            Segment::client(0.12, ACK).seq(101).ack(701).id(3),
            server(0.121, 701, 12),
            server(0.122, 601, id),
        ]);
        let found = analyze(&segments).retransmissions;
        (found.late, found.reordered)
    };
    assert_eq!(late(13), (1, 0));
    assert_eq!(late(11), (0, 1));
}
