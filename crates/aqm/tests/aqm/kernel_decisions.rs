//! Replays schedules of arrivals and departures recorded from Linux's own code, and expects every packet to be sent,
//! marked or dropped as in the kernel.
//!
//! A file in `golden/` holds one schedule. The header describes it; `# scheme:` and `# seed:` are the arguments of
//! `registry::build`. Each further line is one call with its results:
//!
//! ```text
//! 120000 e 3 1514 0 x17o     120 µs later a packet of flow 3 arrives, 1514 bytes, not ECN-capable;
//!                            the 18th to arrive is dropped, for the kernel's reason `overlimit`
//! 0 d x18c >19*              at the same time, a departure: one packet dropped (`congested`), the next sent with CE set
//! ```
//!
//! The letters are the initials of the kernel's `enum qdisc_drop_reason`: overlimit, congested, flow_limit, maxflows;
//! and `r` for packets that SFQ frees without a reason when it re-sorts them.

use crate::testing::TestPacket;
use gentle_aqm::{DropReason, Ecn, Signals, Spec, registry};
use gentle_units::{Instant, Nanos};
use std::path::Path;

/// Schemes whose files have this format; the name of a file begins with its scheme.
const SCHEMES: [&str; 5] = ["codel_", "fq_codel_", "pie_", "fq_pie_", "sfq_"];

/// The reason of `scheme` for a drop whose reason in the kernel begins with `initial`; `refused`: the packet was
/// arriving.
fn reason(scheme: &str, initial: char, refused: bool) -> DropReason {
    match (scheme, initial) {
        ("codel" | "pie" | "fq_pie", 'o') | ("sfq", 'm') => DropReason::Tail,
        ("codel" | "fq_codel", 'c') => DropReason::Aqm,
        ("pie" | "fq_pie", 'c') => DropReason::Early,
        ("fq_codel", 'o') | ("sfq", 'o' | 'r') => DropReason::Overlimit,
        ("sfq", 'f') if refused => DropReason::Tail,
        ("sfq", 'f') => DropReason::PushOut,
        other => panic!("no such drop: {other:?}"),
    }
}

/// Replays one file and returns the numbers of packets sent, marked and dropped.
fn replay(path: &Path) -> [usize; 3] {
    let text = std::fs::read_to_string(path).unwrap();
    let header = |key: &str| {
        text.lines()
            .find_map(|line| line.strip_prefix("# ")?.strip_prefix(key))
            .unwrap_or_else(|| panic!("{}: no '# {key}'", path.display()))
    };
    let spec: Spec = header("scheme: ").parse().unwrap();
    let scheme = spec.scheme().name;
    let mut qdisc = registry::build::<TestPacket>(&spec, header("seed: ").parse().unwrap());
    let mut drops = Signals::new();
    let mut now = Instant::ZERO;
    let mut id = 0;
    let mut counts = [0; 3];
    for (number, line) in text.lines().enumerate() {
        if line.starts_with('#') {
            continue;
        }
        let mut words = line.split(' ');
        let mut word = || words.next().unwrap();
        now += Nanos(word().parse().unwrap());
        let mut sent = None;
        match word() {
            "e" => {
                let (flow, bytes) = (word().parse().unwrap(), word().parse().unwrap());
                let mut packet = TestPacket::data(flow, bytes).numbered(id);
                if word() != "0" {
                    packet = packet.ecn_capable();
                }
                id += 1;
                qdisc.enqueue(now, packet, &mut drops);
            }
            "d" => sent = qdisc.dequeue(now, &mut drops).packet(),
            other => panic!("{}:{}: '{other}'", path.display(), number + 1),
        }
        let kernel: Vec<String> = words
            .map(|outcome| match outcome.strip_prefix('x') {
                None => outcome.to_owned(),
                Some(drop) => {
                    let (dropped, initial) = drop.split_at(drop.len() - 1);
                    let refused = dropped.parse() == Ok(id - 1);
                    let initial = initial.chars().next().unwrap();
                    format!("{dropped} {}", reason(scheme, initial, refused))
                }
            })
            .collect();
        let mut ours = Vec::new();
        for (packet, reason) in drops.drain() {
            counts[2] += 1;
            ours.push(format!("{} {reason}", packet.id));
        }
        if let Some(packet) = sent {
            let marked = packet.ecn == Ecn::Ce;
            counts[0] += 1;
            counts[1] += usize::from(marked);
            ours.push(format!(">{}{}", packet.id, if marked { "*" } else { "" }));
        }
        assert_eq!(ours, kernel, "{}:{} at {now}: left is ours, right is the kernel's", path.display(), number + 1);
    }
    let left = format!("{} packets, {} bytes", qdisc.len(), qdisc.backlog());
    assert_eq!(left, header("left: "), "{}", path.display());
    counts
}

#[test]
fn every_packet_fares_as_in_the_kernel() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut files = 0;
    for entry in folder.read_dir().unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if !SCHEMES.iter().any(|scheme| name.starts_with(scheme)) {
            continue;
        }
        let [sent, marked, dropped] = replay(&path);
        assert!(sent > 0 && dropped > 0, "{name}: {sent} sent, {dropped} dropped");
        assert_eq!(marked > 0, name.contains("ecn"), "{name}: {marked} marked");
        files += 1;
    }
    assert!(files >= 13, "only {files} schedules");
}
