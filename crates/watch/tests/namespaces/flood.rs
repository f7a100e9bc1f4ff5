//! Floods of SYNs from random addresses.

use crate::network::{Connected, Network, PORT, SERVER};
use crate::process::Process;
use gentle_packets::bpf::Assembler;
use gentle_packets::bpf::opcode::{K, RET};
use gentle_packets::{Device, Host, Layer, PacketSocket};
use gentle_trace::live::Attempt;
use gentle_wire::{Ipv4Header, Tcp, TcpFlags, protocol};
use serde_json::Value;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Duration of the flood.
const LASTS: Duration = Duration::from_secs(15);
const CONNECTS: usize = 40;

/// Largest memory of the process of a watch with a limit of 64 MB, bytes.
const MOST_MEMORY: u64 = 100 << 20;

/// Network of which a watch of the server sees a flood, and connects of which a third of the SYNs are lost.
struct Flooded {
    network: Network,
    process: Process,
    /// Lines of the watch so far.
    lines: Vec<Value>,
    /// Folder of the watch's captures.
    _folder: TempDir,
}

impl Flooded {
    fn new() -> Option<Flooded> {
        let network = Network::new()?;
        network.server.serve(PORT);
        network.server.sh("ip link set eth0 address 02:00:00:00:00:02");
        network.client.sh("ip neighbour flush dev eth0");
        network.resolve();
        // The watch sees these SYNs: nft drops behind the packet socket.
        network
            .server
            .sh("nft 'add rule inet loss arriving tcp dport 80 tcp flags & (syn|ack) == syn numgen inc mod 3 0 drop'");
        let folder = tempfile::tempdir().expect("a folder");
        let process = Process::start(&network.server, Some(folder.path()), 64_000_000);
        Some(Flooded { network, process, lines: Vec::new(), _folder: folder })
    }

    /// Sends SYNs from random addresses and ports to port 7 of the server while `goes_on` returns true for their number.
    fn flood(&self, mut goes_on: impl FnMut(u32) -> bool + Send + 'static) -> JoinHandle<u32> {
        let client = Arc::clone(&self.network.client);
        std::thread::spawn(move || {
            let socket = device(&client);
            let mut sent = 0;
            while goes_on(sent) {
                send(&socket, sent);
                sent += 1;
            }
            sent
        })
    }

    /// Connects until the flood ends.
    fn connect_until(&self, flooding: JoinHandle<u32>) -> (Vec<Connected>, u32) {
        let mut connected = Vec::new();
        while !flooding.is_finished() {
            connected.extend(self.network.connects(SERVER, CONNECTS));
        }
        (connected, flooding.join().expect("the flood ends"))
    }

    /// Waits until the last packets are analysed and the last attempts decided: for 5 s, no packet comes.
    fn calm_down(&mut self) {
        let mut quiet = (0, 0);
        while quiet.1 < 5 {
            let line = self.process.next();
            if let Some(packets) = line["value"]["packets"].as_u64() {
                quiet = (packets, if packets == quiet.0 { quiet.1 + 1 } else { 0 });
            }
            self.lines.push(line);
        }
    }

    /// Ends the watch when all is calm.
    fn end(mut self) -> Found {
        self.calm_down();
        let Flooded { process, mut lines, .. } = self;
        lines.extend(process.end());
        let of = |kind: &'static str| lines.iter().filter(move |line| line["type"] == kind).map(|line| &line["value"]);
        let found = Found {
            attempts: of("attempt").map(|it| serde_json::from_value(it.clone()).expect("an attempt")).collect(),
            last: of("summary").next_back().expect("a summary").clone(),
            least_sample: of("summary").filter_map(|it| it["handshake_sample"].as_f64()).fold(1.0, f64::min),
        };
        let peak = of("peak").next().and_then(Value::as_u64).expect("a size");
        assert!(peak < MOST_MEMORY, "{peak}");
        found
    }
}

/// Everything that a watch found in a flood.
struct Found {
    /// Attempts to the port of the connects.
    attempts: Vec<Attempt>,
    /// Last summary.
    last: Value,
    least_sample: f64,
}

/// Socket on the device of a host that only sends.
fn device(host: &Host) -> PacketSocket {
    host.run(|| {
        let mut nothing = Assembler::default();
        nothing.op(RET | K, 0);
        PacketSocket::open(Device::Named("eth0"), Layer::Link, 1 << 16, |_| nothing.finish()).expect("a socket")
    })
}

/// Sends SYN number `n` of a flood.
fn send(socket: &PacketSocket, n: u32) {
    let mut frame = [0; 14 + 20 + 20];
    frame[..6].copy_from_slice(&[2, 0, 0, 0, 0, 2]);
    frame[6..14].copy_from_slice(&[2, 0, 0, 0, 0, 1, 8, 0]);
    // Knuth's multiplier spreads the numbers over all addresses and ports.
    let random = n.wrapping_mul(0x9e37_79b1);
    let source = [10 + (random >> 28) as u8, (random >> 16) as u8, (random >> 8) as u8, random as u8];
    let header = Ipv4Header::new(source.into(), [192, 0, 2, 2].into(), protocol::TCP, 20);
    let tcp = Tcp {
        src_port: 1024 + (random >> 12) as u16 % 60_000,
        dst_port: 7,
        seq: random,
        ack: 0,
        flags: TcpFlags::SYN,
        window: 1000,
        payload_len: 0,
        options: &[],
        payload: &[],
    };
    let sum = header.pseudo_header();
    let at = 14 + header.emit(&mut frame[14..]).expect("a header");
    tcp.emit(&sum, &mut frame[at..]).expect("a segment");
    // A full device drops the frame.
    let _ = socket.send(&frame);
}

/// Number of SYNs of a connect that was repeated after 1, 2, … s: the kernel adds at most milliseconds, and a busy machine
/// less than this.
fn syns(took: Duration) -> u16 {
    const BUSY: f64 = 0.3;
    1 + (took.as_secs_f64() + BUSY).floor() as u16
}

#[test]
fn flood_leaves_attempts_out_but_reports_none_wrongly() {
    let Some(mut flooded) = Flooded::new() else { return };
    let begin = Instant::now();
    let flooding = flooded.flood(move |_| begin.elapsed() < LASTS);
    let (during, sent) = flooded.connect_until(flooding);
    // The samples grow again.
    flooded.calm_down();
    let after = flooded.network.connects(SERVER, CONNECTS);
    let Found { attempts, last, least_sample, .. } = flooded.end();
    let rate = f64::from(sent) / LASTS.as_secs_f64();
    eprintln!(
        "{rate:.0} SYNs/s, {} missed, sample {least_sample}, {} of {} connects",
        last["missed"],
        attempts.len(),
        during.len() + after.len()
    );
    let find = |port: u16| attempts.iter().find(|it| it.client.port() == port);
    for connected in &during {
        if let Some(attempt) = find(connected.port) {
            assert!(!attempt.has_failed(), "{connected:?} {attempt:#?}");
            assert_eq!(attempt.syns, syns(connected.took), "{connected:?} {attempt:#?}");
        }
    }
    for connected in &after {
        let attempt = find(connected.port).unwrap_or_else(|| panic!("{connected:?} {attempts:#?}"));
        assert_eq!(attempt.syns, syns(connected.took), "{connected:?} {attempt:#?}");
    }
    assert_eq!(last["handshake_sample"], 1.0);
    let left_out = last["left_out"].as_u64().expect("a count");
    assert!(least_sample < 1.0 || last["missed"] == 0 && last["forgotten"] == 0, "{last:#}");
    assert!(attempts.len() < during.len() + after.len() || left_out == 0, "{last:#}");
}
