//! `gentle analyze` of the captures that `gentle compare --pcap` writes: it finds the losses of the simulation.

use crate::command::{gentle, stderr, stdout, text};
use gentle_capture::{CaptureReader, QueueSide};
use gentle_wire::{LinkType, Packet, Transport, Tunnels, dissect};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use tempfile::TempDir;

/// Runs a comparison of one scheme and writes its capture; returns the results of the scheme.
fn compare(options: &[&str], pcap: &Path) -> Value {
    let mut command = gentle(&["compare", "--quiet", "--json", "--seeds", "1", "--pcap"]);
    let json = stdout(command.arg(pcap).args(options));
    let json: Value = serde_json::from_str(&json).expect("JSON");
    json["results"][0].clone()
}

fn analyze(capture: &Path, options: &[&str]) -> Value {
    let mut command = gentle(&["analyze", "--quiet", "--json"]);
    let json = stdout(command.arg(capture).args(options));
    serde_json::from_str(&json).expect("JSON")
}

/// Calls `each` with the packets of a capture and the side of the queue that saw each.
fn packets(capture: &Path, mut each: impl FnMut(QueueSide, &Packet<'_>)) {
    let mut reader = CaptureReader::open(capture).unwrap();
    loop {
        let Some(raw) = reader.next().unwrap() else {
            return;
        };
        let (number, len) = (raw.interface as usize, raw.original_len);
        let data = raw.data.to_vec();
        let interface = &reader.interfaces()[number];
        let side = interface.queue_side().expect("a side");
        let packet = dissect(LinkType::ETHERNET, &data, len, Tunnels::Outer).unwrap();
        each(side, &packet);
    }
}

/// Both ends of a connection, the smaller first.
type Flow = [(String, u16); 2];

fn flow(packet: &Packet<'_>) -> Option<Flow> {
    let Transport::Tcp(tcp) = &packet.transport else {
        return None;
    };
    let mut ends = [(packet.ip.src.to_string(), tcp.src_port), (packet.ip.dst.to_string(), tcp.dst_port)];
    ends.sort();
    Some(ends)
}

/// Packets that the queues dropped.
#[derive(Debug, Default)]
struct Truth {
    attempts: u64,
    /// Attempts that lost a SYN or SYN/ACK and were answered nevertheless.
    with_loss: u64,
    /// SYNs and SYN/ACKs that were sent into the queues, and those that these dropped.
    sent: [u64; 2],
    lost: [u64; 2],
}

fn truth(capture: &Path) -> Truth {
    let mut truth = Truth::default();
    let (mut begun, mut lost, mut answered) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    packets(capture, |side, packet| {
        let Transport::Tcp(tcp) = &packet.transport else {
            return;
        };
        let Some(flow) = flow(packet) else { return };
        let kind = match (tcp.flags.is_syn(), tcp.flags.is_synack()) {
            (true, _) => 0,
            (_, true) => 1,
            _ => {
                if side == QueueSide::Exit {
                    answered.insert(flow);
                }
                return;
            }
        };
        match side {
            QueueSide::Entry => {
                truth.sent[kind] += 1;
                begun.insert(flow);
            }
            QueueSide::Exit => {
                if kind == 1 {
                    answered.insert(flow);
                }
            }
            QueueSide::Drop => {
                truth.lost[kind] += 1;
                lost.insert(flow);
            }
        }
    });
    truth.attempts = begun.len() as u64;
    truth.with_loss = lost.intersection(&answered).count() as u64;
    truth
}

#[test]
fn the_losses_are_those_of_the_simulation() {
    let folder = TempDir::new().unwrap();
    let capture = folder.path().join("run.pcapng");
    let mut losses = 0;
    for traffic in ["real", "real-reverse", "short"] {
        for (scheme, seed) in [("pfifo limit=50", "1"), ("red limit=75000b", "2"), ("codel", "3"), ("spa", "1")] {
            let result =
                compare(&["--traffic", traffic, "--scheme", scheme, "--first-seed", seed, "--duration=60s"], &capture);
            let what = format!("{traffic}, {scheme}");
            let truth = truth(&capture);
            let found = analyze(&capture, &[]);
            assert_eq!(found["handshakes"]["attempts"], truth.attempts, "{what}");
            // The analysis invents no loss, and may take one among late answers for late.
            let with_loss = found["outcomes"]["with_loss"].as_u64().unwrap();
            let missed = truth.with_loss.checked_sub(with_loss);
            assert!(missed.is_some_and(|missed| missed <= 1), "{what}: {with_loss} of {}", truth.with_loss);
            for (kind, class) in ["syn", "synack"].into_iter().enumerate() {
                let share = truth.lost[kind] as f64 / truth.sent[kind] as f64;
                let recorded = result["loss"][class].as_f64().unwrap_or(f64::NAN);
                assert!(
                    (share - recorded).abs() < 1e-9 || (share.is_nan() && recorded.is_nan()),
                    "{what}, {class}: {share} {recorded} {truth:?}"
                );
            }
            let kinds: Vec<&Value> = found["warnings"].as_array().unwrap().iter().map(|it| &it["kind"]).collect();
            assert_eq!(kinds, ["interfaces-left-out"], "{what}");
            losses += truth.with_loss;
        }
    }
    assert!(losses > 50, "{losses}");
}

#[test]
fn another_side_of_the_queue_can_be_chosen() {
    let folder = TempDir::new().unwrap();
    let capture = folder.path().join("run.pcapng");
    compare(&["--duration=20s", "--scheme=pfifo limit=20"], &capture);
    let mut sent: BTreeMap<String, u64> = BTreeMap::new();
    packets(&capture, |side, _| *sent.entry(format!("{side:?}")).or_default() += 1);
    for (options, packets) in [
        (&[][..], sent["Entry"]),
        (&["--interface=down exit", "--interface=up exit"], sent["Exit"]),
        (&["--interface=2", "--interface=up drop"], sent["Drop"]),
    ] {
        let found = analyze(&capture, options);
        assert_eq!(found["captures"][0]["packets"], packets, "{options:?}");
    }
    let mut command = gentle(&["analyze", "--interface=down", "--quiet"]);
    let told = stderr(command.arg(&capture), 1);
    assert!(told.contains("no interface 'down' in the captures") && told.contains("0 (down entry)"), "{told}");
    // The program that replays a capture makes the same choice.
    let mut command = gentle(&["compare", "--quiet", "--rate=2mbit", "--seeds=1", "--scheme=spa", "--from"]);
    let shown = stdout(command.arg(&capture));
    assert!(shown.contains("Only interfaces down entry, up entry were analysed"), "{shown}");
}

const TWO_HOSTS: &str = "duration = \"20s\"
[link.down]
rate = \"5mbit\"
[link.up]
rate = \"5mbit\"
[[workload]]
kind = \"long\"
flows = 1
host = 0
[[workload]]
kind = \"long\"
flows = 3
host = 7
[[workload]]
kind = \"udp\"
rate = \"500kbit\"
packet = 500
host = 300
";

#[test]
fn each_host_has_addresses_of_its_own() {
    let folder = TempDir::new().unwrap();
    let (scenario, capture) = (folder.path().join("hosts.toml"), folder.path().join("run.pcapng"));
    std::fs::write(&scenario, TWO_HOSTS).unwrap();
    compare(&["--traffic", text(&scenario), "--scheme=cake dual-dsthost"], &capture);
    let mut bytes: BTreeMap<[String; 2], u64> = BTreeMap::new();
    packets(&capture, |side, packet| {
        if side == QueueSide::Exit {
            let mut ends = [packet.ip.src.to_string(), packet.ip.dst.to_string()];
            ends.sort();
            *bytes.entry(ends).or_default() += u64::from(packet.ip.payload_len);
        }
    });
    let pairs: Vec<[&str; 2]> = bytes.keys().map(|[a, b]| [a.as_str(), b.as_str()]).collect();
    assert_eq!(pairs, [["10.1.0.1", "10.2.0.1"], ["10.1.0.8", "10.2.0.8"], ["10.1.1.45", "10.2.1.45"],]);
    // Fair between hosts, within what CUBIC makes of it, whatever their numbers of flows.
    let [one, three, udp]: [u64; 3] = bytes.into_values().collect::<Vec<_>>().try_into().unwrap();
    let ratio = three as f64 / one as f64;
    assert!((0.8..2.0).contains(&ratio), "{one} {three} {udp}");
    assert_eq!(analyze(&capture, &[])["handshakes"]["attempts"], 4);
}
