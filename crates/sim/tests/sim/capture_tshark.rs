//! Captures of the simulator, checked with Wireshark's dissectors.
//!
//! The tests fail if tshark is not installed.

use gentle_aqm::Spec;
use gentle_capture::{CaptureReader, InterfaceDescription, PcapNgWriter, RawPacket};
use gentle_experiment::results::LinkResult;
use gentle_experiment::results::SchemeResult;
use gentle_experiment::{Scenario, Settings, Watch};
use gentle_sim::{capture, compare};
use gentle_units::Nanos;
use gentle_wire::LinkType;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use tempfile::TempDir;

/// A run and its capture.
struct Captured {
    result: SchemeResult,
    bytes: Vec<u8>,
    folder: TempDir,
}

impl Captured {
    fn new(scenario: &Scenario, spec: &str) -> Captured {
        let spec: Spec = spec.parse().unwrap();
        let seed = 1;
        let mut bytes = Vec::new();
        let stop = AtomicBool::new(false);
        let watch = Watch { stop: &stop, progress: &|_| {} };
        capture(scenario, &spec, seed, &mut bytes, &watch).unwrap();
        let settings = Settings { seeds: vec![seed], bins: Vec::new() };
        let comparison = compare(scenario, &[spec], &settings, &(), &AtomicBool::new(false));
        Captured { result: comparison.results.into_iter().next().unwrap(), bytes, folder: TempDir::new().unwrap() }
    }

    /// Writes the whole capture to a file.
    fn file(&self) -> PathBuf {
        let path = self.folder.path().join("whole.pcapng");
        std::fs::write(&path, &self.bytes).unwrap();
        path
    }

    /// Writes only the packets sent by the hosts, with the zero payload restored that the capture omits: checksums can
    /// be checked, and every packet occurs once, as on the wire before a router.
    fn entries(&self) -> PathBuf {
        let path = self.folder.path().join("entries.pcapng");
        let mut writer = PcapNgWriter::new(std::fs::File::create(&path).unwrap()).unwrap();
        for name in ["down entry", "up entry"] {
            let interface = InterfaceDescription { name: Some(name), ..InterfaceDescription::new(LinkType::ETHERNET) };
            writer.interface(&interface).unwrap();
        }
        let bytes = Cursor::new(self.bytes.clone());
        let mut reader = CaptureReader::from_reader("run".into(), Box::new(bytes)).unwrap().strict(true);
        let mut whole = Vec::new();
        while let Some(packet) = reader.next().unwrap() {
            // Interfaces 0 and 3: the entries.
            if packet.interface % 3 == 0 {
                whole.clear();
                whole.extend_from_slice(packet.data);
                whole.resize(packet.original_len as usize, 0);
                let packet = RawPacket { data: &whole, interface: packet.interface / 3, ..packet };
                writer.packet(&packet).unwrap();
            }
        }
        path
    }
}

const FIELDS: [&str; 15] = [
    "frame.interface_name",
    "frame.comment",
    "frame.time_epoch",
    "_ws.malformed",
    "ip.checksum.status",
    "tcp.checksum.status",
    "tcp.stream",
    "tcp.seq_raw",
    "tcp.seq",
    "tcp.len",
    "tcp.flags",
    "tcp.analysis.retransmission",
    "tcp.analysis.out_of_order",
    "ip.dsfield.ecn",
    "udp.length",
];

/// Fields of a frame, by name.
struct Frame(BTreeMap<&'static str, String>);

impl Frame {
    fn text(&self, field: &str) -> &str {
        &self.0[field]
    }

    fn has(&self, field: &str) -> bool {
        !self.text(field).is_empty()
    }

    fn number(&self, field: &str) -> u64 {
        let text = self.text(field);
        let number = match text.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16),
            None => text.parse(),
        };
        number.unwrap_or_else(|_| panic!("{field} is '{text}'"))
    }
}

/// Runs tshark on a file and returns its frames.
fn tshark(file: &Path) -> Vec<Frame> {
    let mut command = Command::new("tshark");
    command.args(["-n", "-T", "fields", "-E", "separator=/t"]);
    for preference in ["ip.check_checksum:TRUE", "tcp.check_checksum:TRUE"] {
        command.args(["-o", preference]);
    }
    for field in FIELDS {
        command.args(["-e", field]);
    }
    let output = match command.arg("-r").arg(file).output() {
        Ok(output) => output,
        Err(error) => panic!("tshark cannot be run ({error}): run `scripts/bootstrap test`"),
    };
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{complaint}");
    let text = String::from_utf8(output.stdout).expect("text");
    let frames = text.lines().map(|line| {
        let mut values = line.split('\t').map(str::to_owned);
        Frame(FIELDS.iter().map(|field| (*field, values.next().unwrap_or_default())).collect())
    });
    frames.collect()
}

/// Wireshark's `PROTO_CHECKSUM_E_GOOD`.
const GOOD: &str = "1";

const SYN_OR_FIN: u64 = 0b11;

/// Checks that no frame is malformed, that time does not decrease, and that each interface has as many frames as the
/// results count.
fn check_interfaces(frames: &[Frame], result: &SchemeResult) {
    let mut count: BTreeMap<&str, u64> = BTreeMap::new();
    let mut before = 0.0;
    for frame in frames {
        assert!(!frame.has("_ws.malformed"));
        let now: f64 = frame.text("frame.time_epoch").parse().unwrap();
        assert!(now >= before, "{now} after {before}");
        before = now;
        *count.entry(frame.text("frame.interface_name")).or_default() += 1;
    }
    let links = [("down", &result.links.down), ("up", &result.links.up)];
    for (name, LinkResult { offered, sent, drops, .. }) in links {
        let frames = |place: &str| {
            let interface = format!("{name} {place}");
            count.get(interface.as_str()).copied().unwrap_or(0)
        };
        assert_eq!(frames("entry"), *offered, "{name}");
        assert_eq!(frames("exit"), *sent, "{name}");
        assert_eq!(frames("drop"), drops.values().sum::<u64>(), "{name}");
    }
    assert!(count.len() <= 6, "{:?}", count.keys());
}

/// Checks that each dropped packet has a comment with its reason, other packets have none, and the counts of reasons
/// agree with the results.
fn check_comments(frames: &[Frame], result: &SchemeResult) {
    for (interface, link) in [("down drop", &result.links.down), ("up drop", &result.links.up)] {
        let mut reasons: BTreeMap<&str, u64> = link.drops.keys().map(|reason| (*reason, 0)).collect();
        for frame in frames {
            let comment = frame.text("frame.comment");
            if frame.text("frame.interface_name") != interface {
                assert!(frame.text("frame.interface_name").ends_with("drop") || comment.is_empty());
                continue;
            }
            let told = comment.strip_prefix("dropped: ").unwrap_or_else(|| panic!("'{comment}'"));
            let reason = told.split(',').next().unwrap();
            *reasons.get_mut(reason).unwrap_or_else(|| panic!("'{comment}'")) += 1;
        }
        let expected: BTreeMap<&str, u64> = link.drops.iter().map(|(reason, n)| (*reason, *n)).collect();
        assert_eq!(reasons, expected);
    }
}

fn check_checksums(entries: &[Frame]) {
    for frame in entries {
        assert_eq!(frame.text("ip.checksum.status"), GOOD);
        assert!(frame.has("udp.length") || frame.text("tcp.checksum.status") == GOOD);
    }
}

/// Fraction of segments with SYN, FIN or data sent by the hosts that Wireshark considers retransmitted. Wireshark
/// reports a retransmission that closely follows the last segment as out of order.
fn retransmission_share(entries: &[Frame]) -> f64 {
    let (mut sent, mut again) = (0, 0);
    for frame in entries.iter().filter(|frame| frame.has("tcp.len")) {
        if frame.number("tcp.len") > 0 || frame.number("tcp.flags") & SYN_OR_FIN != 0 {
            sent += 1;
            again += u64::from(frame.has("tcp.analysis.retransmission") || frame.has("tcp.analysis.out_of_order"));
        }
    }
    assert!(sent > 1000, "{sent}");
    again as f64 / f64::from(sent as u32)
}

#[test]
fn a_lossy_run_is_to_wireshark_what_it_is_to_us() {
    let mut scenario = Scenario::builtin("short").unwrap();
    scenario.set_profile("linux-7.2").unwrap();
    scenario.set_duration(Nanos::from_secs(5));
    let captured = Captured::new(&scenario, "pfifo limit=10");
    let result = &captured.result;
    assert!(result.drops["tail"] > 100, "{:?}", result.drops);

    let frames = tshark(&captured.file());
    check_interfaces(&frames, result);
    check_comments(&frames, result);

    let entries = tshark(&captured.entries());
    check_checksums(&entries);
    let theirs = retransmission_share(&entries);
    let ours = result.retransmission.packet_probability.unwrap();
    println!("retransmissions: {ours} of all segments, {theirs} by Wireshark's analysis");
    assert!((theirs / ours - 1.0).abs() < 0.01, "{ours} {theirs}");
}

/// Number of the connection whose initial sequence number is closest to 2^32 among the first two thousand.
const WRAPS: usize = 1292;

#[test]
fn marks_datagrams_random_loss_and_wrapped_sequence_numbers_are_shown() {
    let mut flows = "start_s,bytes\n".to_owned();
    for number in 0..=WRAPS {
        let bytes = if number == WRAPS { 1_500_000 } else { 1 };
        let _ = writeln!(flows, "{},{bytes}", number as f64 * 1e-3);
    }
    let text = r#"
duration = "4s"
[hosts]
ecn = "request"
[link.down]
rate = "10mbit"
delay = "10ms"
loss = 0.002
[link.up]
rate = "10mbit"
delay = "10ms"
[[workload]]
kind = "replay"
file = "flows.csv"
[[workload]]
kind = "udp"
rate = "2mbit"
packet = 1000
jitter = 0
"#;
    let scenario = Scenario::from_toml("test.toml", text, &|_| Ok(flows.clone())).unwrap();
    let captured = Captured::new(&scenario, "codel ecn");
    let result = &captured.result;
    assert!(result.marks > 0 && result.links.down.drops["loss"] > 0);

    let frames = tshark(&captured.file());
    check_interfaces(&frames, result);
    check_comments(&frames, result);

    // Random loss happens after the queue, so a marked packet may be lost before the exit interface.
    let at = |place: &str| {
        let interface = format!("down {place}");
        frames.iter().filter(move |frame| frame.text("frame.interface_name") == interface)
    };
    let congested = |frame: &&Frame| frame.text("ip.dsfield.ecn") == "3";
    assert_eq!(at("entry").filter(congested).count(), 0);
    let marked = at("exit").filter(congested).count() + at("drop").filter(congested).count();
    assert_eq!(marked as u64, result.marks);

    // 2 Mb/s of packets of 1,000 bytes are 250 per second; 20 bytes are the IP header.
    let datagrams: Vec<&Frame> = at("entry").filter(|frame| frame.has("udp.length")).collect();
    assert_eq!(datagrams.len(), 1000);
    assert!(datagrams.iter().all(|frame| frame.number("udp.length") == 980));

    // Relative sequence numbers are computed by Wireshark: they continue where the raw ones wrap.
    let entries = tshark(&captured.entries());
    check_checksums(&entries);
    let data = entries.iter().filter(|frame| {
        frame.text("frame.interface_name") == "down entry"
            && frame.has("tcp.len")
            && frame.number("tcp.len") > 0
            && frame.text("tcp.stream") == WRAPS.to_string()
    });
    let (mut wrapped, mut end) = (0, 0);
    for frame in data {
        let seq = frame.number("tcp.seq");
        wrapped += u64::from(frame.number("tcp.seq_raw") < seq);
        end = end.max(seq + frame.number("tcp.len"));
    }
    assert!(wrapped > 100, "{wrapped}");
    assert_eq!(end, 1 + 1_500_000);
}

#[test]
fn applications_are_udp_both_ways() {
    let text = "duration = \"10s\"\n[link.down]\nrate = \"1mbit\"\n[link.up]\nrate = \"1mbit\"\n\
        [[workload]]\nkind = \"voice\"\n[[workload]]\nkind = \"game\"\n";
    let scenario = Scenario::from_toml("test.toml", text, &|_| Ok(String::new())).unwrap();
    let captured = Captured::new(&scenario, "fq_codel");
    let frames = tshark(&captured.file());
    check_interfaces(&frames, &captured.result);
    let lengths = |interface: &str| {
        let mut counts = std::collections::BTreeMap::new();
        for frame in &frames {
            if frame.text("frame.interface_name") == interface {
                *counts.entry(frame.number("udp.length")).or_insert(0) += 1;
            }
        }
        counts.into_iter().collect::<Vec<(u64, u32)>>()
    };
    // Lengths without the IP header: speech, and what the server and the client of the game send.
    let [down, up] = ["down exit", "up exit"].map(lengths);
    assert_eq!((down[1], up[1]), ((180, 500), (180, 500)));
    assert_eq!((down[0].0, up[0]), (128, (88, 250)));
    assert!((181..=182).contains(&down[0].1), "{down:?}");
}
