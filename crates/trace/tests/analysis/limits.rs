//! Limits of memory and idle time: eviction of connections, and its effects.

use crate::captures::{analyze_bytes, analyze_files};
use crate::frames::{ACK, FIN, RST, SYN, Segment, pcap};
use crate::programs;
use gentle_capture::CaptureReader;
use gentle_trace::row::Close;
use gentle_trace::{Control, Options};
use gentle_units::Nanos;
use std::io::{self, Read};

#[test]
fn silence_ends_a_connection() {
    let timeout = Options::default().idle_timeout.as_secs_f64();
    for (pause, attempts) in [(timeout * 0.99, 1), (timeout * 1.2, 2)] {
        let segments = [
            Segment::client(0.0, SYN).seq(1_000).id(1),
            // Another connection advances the time.
            Segment::client(pause - 1.0, SYN).seq(7).port(40_001),
            Segment::client(pause, SYN).seq(1_000).id(2),
        ];
        let (analysis, rows) = analyze_bytes(&[&pcap(&segments)], &Options::default());
        let handshakes = &analysis.handshakes;
        assert_eq!(handshakes.attempts, attempts + 1, "after {pause} s");
        assert_eq!(handshakes.duplicate_syn, 2 - attempts, "after {pause} s");
        assert_eq!(analysis.limits.retired_idle, attempts - 1);
        let silent = rows.iter().filter(|row| row.close == Close::Silent).count();
        assert_eq!(silent as u64, attempts - 1);
    }
}

#[test]
fn the_idle_timeout_can_be_set() {
    let segments = [Segment::client(0.0, SYN).seq(1_000).id(1), Segment::client(20.0, SYN).seq(1_000).id(2)];
    for (seconds, attempts) in [(10, 2), (30, 1)] {
        let options = Options { idle_timeout: Nanos::from_secs(seconds), ..Options::default() };
        let analysis = analyze_bytes(&[&pcap(&segments)], &options).0;
        assert_eq!(analysis.handshakes.attempts, attempts);
        assert_eq!(analysis.limits.idle_timeout_s, seconds as f64);
    }
}

#[test]
fn a_closed_connection_is_remembered_until_its_fins_have_arrived() {
    // A short connection, and one that a sweep has found alive in between.
    for life in [0.0, 100.0] {
        let open = [
            Segment::client(0.0, SYN).seq(1_000),
            Segment::server(0.1, SYN | ACK).seq(5_000).ack(1_001),
            Segment::client(0.8 * life + 0.15, ACK).seq(1_001).ack(5_001),
            Segment::client(life + 0.2, FIN | ACK).seq(1_001).ack(5_001),
            Segment::server(life + 0.3, FIN | ACK).seq(5_001).ack(1_002),
        ];
        let last = Segment::client(life + 0.4, ACK).seq(1_002).ack(5_002);
        // A FIN retransmitted after minutes (the longest RTO is 120 s) is recognised as long as one may come.
        let again = Segment::server(life + 200.0, FIN | ACK).seq(5_001).ack(1_002);
        for (arrived, retransmitted) in [(false, 1), (true, 0)] {
            let mut segments = open.to_vec();
            segments.extend(arrived.then(|| last.clone()));
            segments.push(again.clone());
            let analysis = analyze_bytes(&[&pcap(&segments)], &Options::default()).0;
            assert_eq!(analysis.retransmissions.retransmitted, retransmitted);
            // Removing a closed connection does not count as forgetting.
            assert_eq!(analysis.limits.retired_idle, 0);
        }
    }
}

#[test]
fn what_is_in_flight_on_few_connections_stays_within_the_memory_limit_too() {
    let options = Options { memory_limit: Options::LEAST_MEMORY, ..Options::default() };
    let connections = 1_000;
    let mut segments = Vec::new();
    for port in 0..connections {
        segments.push(Segment::client(0.0, SYN).port(port + 1).seq(1_000));
    }
    // Each sends on without an acknowledgement and leaves a hole every time, so everything has to be remembered.
    for round in 0..60u32 {
        for port in 0..connections {
            segments.push(
                Segment::client(1.0 + f64::from(round), ACK)
                    .port(port + 1)
                    .seq(1_001 + round * 200)
                    .ack(1)
                    .payload(100),
            );
        }
    }
    let limits = analyze_bytes(&[&pcap(&segments)], &options).0.limits;
    assert!(limits.peak_bytes <= options.memory_limit, "{limits:?}");
    assert!(limits.retired_memory > 0, "{limits:?}");
}

/// Stream of a capture of distinct SYNs that is never in memory as a whole.
struct Flood {
    made: u32,
    all: u32,
    ready: Vec<u8>,
    read: usize,
}

impl Flood {
    fn new(all: u32) -> Flood {
        Flood { made: 0, all, ready: pcap(&[]), read: 0 }
    }
}

impl Read for Flood {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.read == self.ready.len() {
            let to = self.all.min(self.made + 1_000);
            let syns = (self.made..to).map(|i| {
                let mut syn = Segment::client(0.0, SYN);
                syn.at_us = u64::from(i);
                // Each from another address.
                syn.src.0 = std::net::Ipv4Addr::from(0x0a00_0000 + i).into();
                syn
            });
            self.ready = pcap(&syns.collect::<Vec<_>>());
            // The file header has been read.
            self.read = pcap(&[]).len();
            self.made = to;
        }
        let n = buffer.len().min(self.ready.len() - self.read);
        buffer[..n].copy_from_slice(&self.ready[self.read..self.read + n]);
        self.read += n;
        Ok(n)
    }
}

#[test]
fn a_syn_flood_passes_through_a_fixed_limit() {
    const SYNS: u32 = 3_000_000;
    let reader = CaptureReader::from_reader("flood".into(), Box::new(Flood::new(SYNS))).unwrap();
    let options = Options { memory_limit: 16 << 20, ..Options::default() };
    let control = Control::default();
    let analysis = gentle_trace::analyze(vec![reader], &options, None, None, &control).unwrap();
    assert_eq!(analysis.captures[0].packets, u64::from(SYNS));
    assert_eq!(analysis.handshakes.attempts, u64::from(SYNS));
    assert_eq!(analysis.outcomes.floods.attempts, u64::from(SYNS));
    assert_eq!(analysis.outcomes.floods.parties, 1);
    let limits = analysis.limits;
    assert_eq!(limits.memory_limit_bytes, 16 << 20);
    let peak = limits.peak_bytes + limits.peak_remembered_bytes;
    assert!(peak <= limits.memory_limit_bytes, "{limits:?}");
    // The limit is used, not only kept.
    assert!(limits.peak_bytes > limits.memory_limit_bytes / 4, "{limits:?}");
    assert!(limits.retired_memory > u64::from(SYNS) * 9 / 10, "{limits:?}");
    assert!(limits.peak_connections > 30_000, "{limits:?}");
}

#[test]
fn without_a_flood_nothing_is_forgotten_and_a_connection_takes_at_most_200_bytes() {
    // The index has just doubled: it never takes more per connection.
    const CONNECTIONS: u32 = 28_673;
    for hosts in [["192.0.2.1", "198.51.100.2"], ["2001:db8::1", "2001:db8::2"]] {
        let segments: Vec<Segment> = (0..CONNECTIONS)
            .map(|i| {
                let client = (hosts[0], 1_025 + i as u16);
                Segment::between(f64::from(i) * 1e-3, client, (hosts[1], 443), SYN).seq(i)
            })
            .collect();
        let analysis = analyze_bytes(&[&pcap(&segments)], &Options::default()).0;
        let limits = analysis.limits;
        assert_eq!(limits.peak_connections, u64::from(CONNECTIONS));
        assert_eq!((limits.retired_idle, limits.retired_memory), (0, 0));
        assert!(limits.peak_bytes <= u64::from(CONNECTIONS) * 200, "{limits:?}");
    }
}

/// Many holes and much in flight on one connection, which then ends. No memory may be counted twice.
#[test]
fn memory_of_holes_is_given_back() {
    let mut segments =
        vec![Segment::client(0.0, SYN).seq(1_000), Segment::server(0.01, SYN | ACK).seq(5_000).ack(1_001)];
    let mut at = 0.02;
    let mut push = |seq: u32, len: u16| {
        at += 0.001;
        segments.push(Segment::client(at, ACK).seq(seq).ack(5_001).payload(len));
    };
    for i in 0..200 {
        push(1_001 + 1_000 * i, 100);
    }
    // Each hole is split, and split again.
    for part in [400, 700] {
        for i in 0..200 {
            push(1_001 + 1_000 * i + part, 50);
        }
    }
    segments.push(Segment::server(at + 0.1, ACK).seq(5_001).ack(200_101));
    for i in 0..4 {
        let later = 2_000.0 * f64::from(i + 1);
        segments.push(Segment::client(later, SYN).seq(1).port(40_001 + i as u16));
    }
    let (analysis, rows) = analyze_bytes(&[&pcap(&segments)], &Options::default());
    assert!(analysis.limits.peak_bytes < 1 << 20, "{:?}", analysis.limits);
    assert_eq!(analysis.limits.retired_memory, 0);
    assert!(rows[0].from_client.bytes >= 200 * 100 + 64 * 50);
}

#[test]
fn several_captures_are_one_trace() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/netns");
    let files = ["syn.client.pcap", "synack-2.router.pcap", "data-3.server.pcap"];
    let files = files.map(|name| folder.join(name));
    let (apart, apart_rows) = analyze_files(&files, &Options::default());
    let merged = tempfile::Builder::new().suffix(".pcap").tempfile().unwrap();
    let merged = merged.path();
    let args = [
        &["-F".as_ref(), "nsecpcap".as_ref(), "-w".as_ref(), merged.as_os_str()][..],
        &files.each_ref().map(|file| file.as_os_str())[..],
    ]
    .concat();
    programs::output("mergecap", args);
    let (mut together, rows) = analyze_files(&[merged], &Options::default());
    assert_eq!(rows, apart_rows);
    assert_eq!(apart.captures.len(), 3);
    let packets: u64 = apart.captures.iter().map(|capture| capture.packets).sum();
    assert_eq!(together.captures[0].packets, packets);
    together.captures = apart.captures.clone();
    let json = |analysis| serde_json::to_string(analysis).unwrap();
    assert_eq!(json(&together), json(&apart));
}

/// Eviction for lack of memory must not depend on the random keys of hash tables.
#[test]
fn the_same_is_forgotten_again() {
    let segments: Vec<Segment> = (0..60_000_u32)
        .flat_map(|i| {
            let at = f64::from(i) * 1e-2;
            let port = 1_025 + (i.wrapping_mul(7_919) % 50_000) as u16;
            let syn = Segment::client(at, SYN).seq(i).port(port);
            let rst = Segment::server(at + 1e-3, RST | ACK).ack(i + 1).port(port);
            [Some(syn), (i % 3 == 0).then_some(rst)]
        })
        .flatten()
        .collect();
    let file = pcap(&segments);
    let options = Options { memory_limit: Options::LEAST_MEMORY, ..Options::default() };
    let limits = || format!("{:?}", analyze_bytes(&[&file], &options).0.limits);
    let first = limits();
    for _ in 0..3 {
        assert_eq!(limits(), first);
    }
}
