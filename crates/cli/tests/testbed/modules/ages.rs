//! `gentle` and `age_prio` from stock parts: the classifier in BPF as the kernel loads it, and `gentle qdisc` with it. How it
//! and the module tell flows apart.
//! `decisions.rs` compares the classifier's decisions on schedules of packets with the simulator's.

use super::far::Far;
use super::guest::{attempt, dummy, only_here, qdisc, qdiscs, run};
use super::laboratory::{Laboratory, number};
use super::packets::{Sender, V4, V6, ethernet, ipv4, ipv6};
use gentle_wire::{EthernetHeader, Fragment, Ipv4Header, Ipv6Extension, Ipv6Header, protocol};
use serde_json::Value;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

const GENTLE: &str = env!("CARGO_BIN_EXE_gentle");

/// EtherTypes (IANA, IEEE 802 Numbers).
const ARP: u16 = 0x0806;
const PPPOE: u16 = 0x8864;

/// SCTP (RFC 9260).
const SCTP: u8 = 132;

#[test]
fn the_classifier_tells_flows_apart_and_counts_their_bytes() {
    let Some(laboratory) = Laboratory::new() else {
        return;
    };
    let printed = laboratory.run("modules::ages::within");
    assert_eq!(number(&printed, "flows"), flows().len() as u64);
}

#[test]
#[ignore = "runs within a machine"]
fn within() {
    only_here();
    without_ipv6();
    dummy("d0");
    run("ip link add link d0 name d0.5 type vlan id 5");
    run("ip link set d0.5 up");
    on_several_processors();
    every_kind_of_flow();
    println!("flows: {}", flows().len());
    bytes_of_segments_put_together();
    put_on_and_taken_off();
    a_script_stands_alone();
    the_script_for_openwrt();
    without_the_capability();
}

/// Keeps new devices from sending IPv6 packets of their own, which may come before there is a classifier.
fn without_ipv6() {
    std::fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1")
        .expect("a machine of its own");
}

/// Loads the classifier with `tc` alone, and sends from as many threads as there are processors, each a flow. Also run by
/// `kernel/testing/smp/run` on Debian's kernels, where `gentle` is not.
#[test]
#[ignore = "runs within a machine"]
fn on_several_processors() {
    const PACKETS: u64 = 40;
    const THREADS: u16 = 4;
    only_here();
    without_ipv6();
    let object = "/run/classifier.o";
    std::fs::write(
        object,
        include_bytes!("../../../../deploy/bpf/ages.bpfel.o"),
    )
    .expect("a file");
    dummy("d1");
    run("tc qdisc add dev d1 root handle 5a1: prio bands 10");
    for band in 1..=10 {
        run(&format!(
            "tc qdisc add dev d1 parent 5a1:{band:x} handle {band}: pfifo"
        ));
    }
    run(&format!(
        "tc filter add dev d1 parent 5a1: protocol all pref 1 bpf object-file {object} section classifier"
    ));
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            scope.spawn(move || {
                let mut sender = Sender::new("d1");
                let packet = v4(protocol::UDP, 1000 + thread);
                let frame = ethernet(&[EthernetHeader::IPV4], &packet);
                assert_eq!(frame.len(), 1034);
                for _ in 0..PACKETS {
                    assert!(sender.send(&frame));
                }
            });
        }
    });
    // Ages are multiples of 1034: two below 2 kB, two more below 4 kB, four below 8 kB and so on. The threads take less
    // than a second, after which flows would be forgiven.
    let flow = [2, 2, 4, 8, 16, 8, 0, 0, 0, 0];
    let expected = flow.map(|packets| packets * u64::from(THREADS));
    assert_eq!(flow.iter().sum::<u64>(), PACKETS);
    assert_eq!(sent("d1"), expected);
    run("ip link del d1");
}

/// A port of the source, another one of the destination, and 1000 bytes.
fn ports(source: u16) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend(source.to_be_bytes());
    bytes.extend(80_u16.to_be_bytes());
    bytes.resize(1000, 0);
    // Length of a TCP header, for those who look.
    bytes[12] = 0x50;
    bytes
}

fn session(ppp: u16, packet: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x11, 0, 0, 9];
    bytes.extend((packet.len() as u16 + 2).to_be_bytes());
    bytes.extend(ppp.to_be_bytes());
    bytes.extend(packet);
    bytes
}

/// Frames by a number, mostly the port of the source, and whether they are different flows if it differs.
struct Kind {
    name: &'static str,
    frame: fn(u16) -> Vec<u8>,
    apart: bool,
}

fn v4(transport: u8, source: u16) -> Vec<u8> {
    let header = Ipv4Header {
        protocol: transport,
        ..V4
    };
    ipv4(header, &ports(source))
}

fn v6(transport: u8, source: u16) -> Vec<u8> {
    let header = Ipv6Header {
        protocol: transport,
        ..V6
    };
    ipv6(header, &ports(source))
}

/// A packet with another flow label for each number, and with the ports of `source`.
fn labelled(transport: u8, label: u16, source: u16) -> Vec<u8> {
    let header = Ipv6Header {
        protocol: transport,
        flow_label: label.into(),
        ..V6
    };
    ipv6(header, &ports(source))
}

fn flows() -> Vec<Kind> {
    let kind = |name, apart, frame| Kind { name, frame, apart };
    const IPV4: u16 = EthernetHeader::IPV4;
    const IPV6: u16 = EthernetHeader::IPV6;
    vec![
        kind("TCP", true, |port| {
            ethernet(&[IPV4], &v4(protocol::TCP, port))
        }),
        kind("UDP", true, |port| {
            ethernet(&[IPV4], &v4(protocol::UDP, port))
        }),
        kind("SCTP", true, |port| ethernet(&[IPV4], &v4(SCTP, port))),
        kind("TCP over IPv6", true, |port| {
            ethernet(&[IPV6], &v6(protocol::TCP, port))
        }),
        kind("UDP over IPv6", true, |port| {
            ethernet(&[IPV6], &v6(protocol::UDP, port))
        }),
        kind("TCP over IPv6 with a flow label", true, |port| {
            ethernet(&[IPV6], &labelled(protocol::TCP, 7, port))
        }),
        // A sender changes it when it times out.
        kind("the flow label of TCP", false, |label| {
            ethernet(&[IPV6], &labelled(protocol::TCP, label, 1000))
        }),
        kind("the flow label of UDP", false, |label| {
            ethernet(&[IPV6], &labelled(protocol::UDP, label, 1000))
        }),
        kind("TCP in a session", true, |port| {
            ethernet(&[PPPOE], &session(0x0021, &v4(protocol::TCP, port)))
        }),
        kind("UDP over IPv6 in a session", true, |port| {
            ethernet(&[PPPOE], &session(0x0057, &v6(protocol::UDP, port)))
        }),
        // Only the first fragment of a packet has ports. All fragments are to be one flow, so it counts without them.
        kind("first fragments", false, |port| {
            let header = Ipv4Header {
                more_fragments: true,
                protocol: protocol::UDP,
                ..V4
            };
            ethernet(&[IPV4], &ipv4(header, &ports(port)))
        }),
        kind("first fragments over IPv6", false, |port| {
            let fragment = Fragment {
                id: 7,
                offset: 0,
                more: true,
            };
            let header = Ipv6Header {
                extensions: &[Ipv6Extension::Fragment(fragment)],
                protocol: protocol::UDP,
                ..V6
            };
            ethernet(&[IPV6], &ipv6(header, &ports(port)))
        }),
        kind("a protocol without ports", false, |port| {
            // OSPF (RFC 2328).
            ethernet(&[IPV4], &v4(89, port))
        }),
    ]
}

/// Packets that each band has sent.
fn sent(dev: &str) -> Vec<u64> {
    counters(dev, "packets")
}

fn counters(dev: &str, counter: &str) -> Vec<u64> {
    let list = qdiscs(dev);
    (1..=10)
        .map(|band| {
            let parent = format!("5a1:{band:x}");
            let found = list.iter().find(|qdisc| qdisc["parent"] == parent.as_str());
            let found = found.unwrap_or_else(|| panic!("no {parent}: {list:?}"));
            found[counter].as_u64().expect("a number")
        })
        .collect()
}

fn apply(dev: &str, scheme: &str, rest: &str) -> String {
    let output = Command::new(GENTLE)
        .args(["qdisc", "apply", dev, scheme, "--backing=stock"])
        .args(rest.split_whitespace())
        .output()
        .expect("it runs");
    let text = String::from_utf8([output.stdout, output.stderr].concat()).expect("text");
    assert!(output.status.success(), "{scheme} {rest}: {text}");
    text
}

fn every_kind_of_flow() {
    let mut wrong = Vec::new();
    for Kind { name, frame, apart } in flows() {
        // Through a VLAN device, the tag is in the packet's metadata.
        for dev in ["d0", "d0.5"] {
            apply("d0", "age_prio first=900 child=pfifo", "");
            let mut sender = Sender::new(dev);
            let before = sent("d0");
            for port in [1000, 1000, 2000] {
                assert!(sender.send(&frame(port)), "{name}");
            }
            sleep(Duration::from_millis(1));
            let went: Vec<u64> = sent("d0").iter().zip(before).map(|(a, b)| a - b).collect();
            if went[..3] != expected(apart) {
                wrong.push(format!("{name} on {dev}: {went:?}"));
            }
            run(&format!("{GENTLE} qdisc remove d0"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Packets in the first three bands after two packets with one number and one with another. The third packet of a flow has
/// an age of more than twice 900 bytes.
fn expected(apart: bool) -> [u64; 3] {
    if apart { [2, 1, 0] } else { [1, 1, 1] }
}

#[test]
fn the_module_tells_flows_apart() {
    let Some(laboratory) = Laboratory::new() else {
        return;
    };
    let printed = laboratory.run("modules::ages::within_the_module");
    assert_eq!(number(&printed, "flows"), flows().len() as u64 + 1);
}

#[test]
#[ignore = "runs within a machine"]
fn within_the_module() {
    only_here();
    without_ipv6();
    dummy("d0");
    run("ip link add link d0 name d0.5 type vlan id 5");
    run("ip link set d0.5 up");
    let mut kinds = flows();
    // The classifier takes it for another flow.
    kinds.push(Kind {
        name: "the flow label of TCP in a session",
        apart: false,
        frame: |label| {
            let packet = labelled(protocol::TCP, label, 1000);
            ethernet(&[PPPOE], &session(0x0057, &packet))
        },
    });
    let mut wrong = Vec::new();
    for Kind { name, frame, apart } in &kinds {
        for dev in ["d0", "d0.5"] {
            // The first frame takes all tokens; what follows waits in the module, which counts it by bands.
            run("tc qdisc add dev d0 root handle 1: tbf rate 8kbit burst 1600 limit 100000");
            run("tc qdisc add dev d0 parent 1:1 handle 2: gentle first 900");
            let mut sender = Sender::new(dev);
            assert!(sender.send(&ethernet(&[ARP], &[0; 1500])));
            for number in [1000, 1000, 2000] {
                assert!(sender.send(&frame(number)), "{name}");
            }
            let statistics = qdisc("d0", "gentle").expect("it is there");
            let bytes = frame(1000).len() as u64;
            let waiting: Vec<u64> = statistics["bytes_in_bands"]
                .as_array()
                .unwrap_or_else(|| panic!("{statistics}"))
                .iter()
                .map(|band| band.as_u64().expect("a number") / bytes)
                .collect();
            if waiting[..3] != expected(*apart) {
                wrong.push(format!("{name} on {dev}: {waiting:?}"));
            }
            run("tc qdisc del dev d0 root");
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    println!("flows: {}", kinds.len());
}

/// A connection whose packets are put together from many segments by the kernel (GSO): their age grows by what they
/// are on the wire.
fn bytes_of_segments_put_together() {
    const BYTES: usize = 1 << 20;
    let far = Far::new();
    apply("near0", "gentle", "--rate 100mbit");
    far.send(BYTES);
    let bytes = counters("near0", "bytes");
    let all: u64 = bytes.iter().sum();
    assert!(all > BYTES as u64, "{bytes:?}");
    // The connection took less than a second, in which nothing is forgiven. A band is exceeded by the packet that
    // ends it, of at most 64 kB and the headers of its segments.
    let mut before = 0;
    for (band, sent) in bytes.iter().enumerate().take(9) {
        before += sent;
        let end = 2048 << band;
        assert!(before >= end, "band {band}: {bytes:?}");
        assert!(before < end + 70_000, "band {band}: {bytes:?}");
    }
}

fn put_on_and_taken_off() {
    run("ip link add wan type veth peer name peer");
    run("ip link set wan up");
    run("ip link set peer up");
    let before = run("tc qdisc show dev wan");
    for (scheme, rest) in [
        ("gentle", ""),
        ("gentle", "--rate 20mbit"),
        (
            "gentle bands=15 noecn limit=50ms",
            "--rate 20mbit --shaper tbf",
        ),
        ("age_prio child=fq_codel first=1000", "--rate 20mbit"),
        ("tbf rate=20mbit child=gentle", ""),
    ] {
        let said = apply("wan", scheme, rest);
        assert_eq!(
            said.contains("'age_prio"),
            scheme.contains("gentle"),
            "{said}"
        );
        assert_eq!(
            said.contains("without limit"),
            scheme.contains("limit="),
            "{said}"
        );
        let shown = run("tc qdisc show dev wan");
        assert!(shown.contains("prio 5a"), "{shown}");
        assert_eq!(
            shown.contains(" ecn"),
            !scheme.contains("noecn"),
            "{scheme}: {shown}"
        );
        let filter = filters("wan");
        let again = apply("wan", scheme, rest);
        assert!(again.contains("nothing to do"), "{scheme} {rest}: {again}");
        assert_eq!(run("tc qdisc show dev wan"), shown);
        assert_eq!(filters("wan"), filter, "the classifier keeps its state");
        let table = run(&format!("{GENTLE} qdisc show wan"));
        assert!(table.contains("prio 5a"), "{table}");
    }
    // A classifier that somebody removed is put back.
    let handle = if filters("wan").is_empty() {
        "5a1"
    } else {
        "5a2"
    };
    run(&format!("tc filter del dev wan parent {handle}:"));
    let again = apply("wan", "tbf rate=20mbit child=gentle", "");
    assert!(again.contains("set up"), "{again}");
    run(&format!("{GENTLE} qdisc remove wan"));
    assert_eq!(run("tc qdisc show dev wan"), before);
    apply("wan", "gentle", "--ingress --rate 20mbit");
    let shown = run("tc filter show dev in-wan parent 5a1:");
    assert!(shown.contains("gentle_ages"), "{shown}");
    run(&format!("{GENTLE} qdisc remove wan"));
    assert_eq!(run("tc qdisc show dev wan"), before);
}

/// The classifiers of a device, with the number that each has since it was loaded.
fn filters(dev: &str) -> String {
    ["5a1:", "5a2:"]
        .map(|parent| run(&format!("tc filter show dev {dev} parent {parent}")))
        .concat()
}

/// The shell script that `gentle qdisc plan` prints needs no other file.
fn a_script_stands_alone() {
    let plan = run(&format!(
        "{GENTLE} qdisc plan d0 gentle --rate 20mbit --backing stock"
    ));
    let written = plan
        .split_whitespace()
        .find(|word| word.ends_with(".o"))
        .expect("a file");
    let written = written.trim_start_matches('>');
    let by_apply = {
        apply("d0", "gentle", "--rate 20mbit");
        run(&format!("{GENTLE} qdisc remove d0"));
        std::fs::read(written).expect("the same file")
    };
    std::fs::remove_file(written).expect("it was there");
    let script = format!("set -e\n{plan}");
    let status = Command::new("sh").args(["-c", &script]).status();
    assert!(status.expect("a shell").success(), "{plan}");
    assert_eq!(std::fs::read(written).expect("written"), by_apply);
    let shown: Value = Value::from(qdiscs("d0"));
    assert_eq!(shown.as_array().map(Vec::len), Some(12), "{shown}");
    assert!(filters("d0").contains("gentle_ages"));
    run("tc qdisc del dev d0 root");
}

/// `gentle.qos`, with stand-ins for the functions of sqm-scripts.
fn the_script_for_openwrt() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/openwrt");
    run("ip link add ifb4wan type ifb");
    let output = Command::new("sh")
        .arg(format!("{folder}/tests/run"))
        .arg(format!("{folder}/tests"))
        .args(["wan", "ifb4wan", "19000", "90000", "gentle.qos"])
        .env(
            "GENTLE_CLASSIFIER",
            concat!(env!("CARGO_MANIFEST_DIR"), "/../deploy/bpf/ages"),
        )
        .output()
        .expect("a shell");
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && words.is_empty(), "{words}");
    for dev in ["wan", "ifb4wan"] {
        let shown = run(&format!("tc filter show dev {dev} parent 110:"));
        assert!(shown.contains("gentle_ages"), "{dev}: {shown}");
        let bands = run(&format!("tc qdisc show dev {dev}"));
        assert_eq!(bands.matches("codel 12").count(), 10, "{dev}: {bands}");
    }
    run("tc qdisc del dev wan root");
    run("tc qdisc del dev wan ingress");
}

fn without_the_capability() {
    let before = run("tc qdisc show dev d0");
    // Of root without the rest, and of a user, who cannot write where tc keeps maps.
    for (user, capabilities) in [
        (
            0,
            "--bounding-set -all,+net_admin,+bpf --inh-caps +net_admin,+bpf",
        ),
        (
            1000,
            "--reuid 1000 --regid 1000 --clear-groups --bounding-set -all,+net_admin --inh-caps +net_admin \
             --ambient-caps +net_admin",
        ),
    ] {
        run(&format!("chown -R {user} /run/gentle"));
        let output = attempt(&format!(
            "setpriv {capabilities} {GENTLE} qdisc apply d0 age_prio"
        ));
        let words = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{words}");
        assert!(words.contains("needs root"), "{words}");
        assert!(words.contains("the previous state was restored"), "{words}");
        assert!(words.len() < 2000, "{words}");
        assert_eq!(run("tc qdisc show dev d0"), before);
    }
    run("chown -R 0 /run/gentle");
    let whole = "+net_admin,+bpf,+perfmon";
    run(&format!(
        "setpriv --bounding-set -all,{whole} --inh-caps {whole} {GENTLE} qdisc apply d0 age_prio"
    ));
    run(&format!("{GENTLE} qdisc remove d0"));
}
