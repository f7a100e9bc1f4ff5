//! Compares RED, adaptive RED and CHOKe with the kernel's own code, decision by decision.
//!
//! The files in `golden/` whose names begin with `red_`, `ared_` or `choke_` hold the decisions of the Linux functions
//! (`red.h`, `sch_red.c`, `sch_choke.c`) on a random schedule, run in user space with the parameters that `tc` derives
//! and the random numbers of this crate's generator. Packets are numbered from 0 in order of arrival. A line is
//!
//! * an arrival, `+ <microseconds since the line before> <flow> <bytes> <ECN-capable> <decision>`, the decision being
//!   `q` queued, `m` marked and queued, `e` early drop, `t` tail drop, `x12` match: dropped together with packet 12;
//! * a departure, `- <microseconds> <packet>|none`.

use crate::testing::TestPacket;
use gentle_aqm::{DropReason, Qdisc, Signals, Spec, registry};
use gentle_units::{Instant, Nanos};
use std::path::Path;

/// Replays one recording and returns the number of decisions; the error names the first line that differs.
fn replay(text: &str) -> Result<usize, String> {
    let header = |key: &str| {
        text.lines()
            .find_map(|line| line.strip_prefix("# ")?.strip_prefix(key)?.strip_prefix(": "))
            .ok_or_else(|| format!("no '{key}' in the header"))
    };
    let spec: Spec = header("spec")?.parse().map_err(|e| format!("{e}"))?;
    let seed = header("seed")?.parse().map_err(|e| format!("{e}"))?;
    let mut queue = registry::build::<TestPacket>(&spec, seed);
    let mut drops = Signals::new();
    let mut now = Instant::ZERO;
    let mut arrivals = 0;
    let mut decisions = 0;
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (event, expected) = line.rsplit_once(' ').ok_or("no decision")?;
        let fields: Vec<&str> = event.split(' ').collect();
        let number = |index: usize| -> Result<u64, String> {
            let field = fields.get(index).ok_or("a field is missing")?;
            field.parse().map_err(|e| format!("'{field}': {e}"))
        };
        now += Nanos::from_micros(number(1)?);
        let decision = if fields[0] == "+" {
            let mut packet = TestPacket::data(number(2)?, number(3)? as u32).numbered(arrivals);
            if number(4)? != 0 {
                packet = packet.ecn_capable();
            }
            arrivals += 1;
            queue.enqueue(now, packet, &mut drops);
            let dropped: Vec<_> = drops.drain().map(|(p, why)| (p.id, why)).collect();
            // A marked packet may also be dropped at the tail.
            let marked = drops.drain_marks().count() > 0;
            match dropped[..] {
                [] if marked => "m".to_owned(),
                [] => "q".to_owned(),
                [(_, DropReason::Tail)] => "t".to_owned(),
                [(_, DropReason::Early)] => "e".to_owned(),
                [(queued, DropReason::PushOut), (_, DropReason::Early)] => format!("x{queued}"),
                _ => format!("{dropped:?}"),
            }
        } else {
            let packet = queue.dequeue(now, &mut drops).packet();
            packet.map_or("none".to_owned(), |packet| packet.id.to_string())
        };
        if decision != expected {
            return Err(format!("'{line}' was decided as '{decision}'"));
        }
        decisions += 1;
    }
    Ok(decisions)
}

#[test]
fn every_decision_is_that_of_the_kernel() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut files = 0;
    for entry in folder.read_dir().unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let ours = ["red_", "ared_", "choke_"];
        if !ours.iter().any(|prefix| name.starts_with(prefix)) {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        match replay(&text) {
            Ok(decisions) => assert!(decisions >= 1000, "{name}: only {decisions}"),
            Err(difference) => panic!("{name}: {difference}"),
        }
        files += 1;
    }
    assert!(files >= 7, "only {files} recordings");
}
