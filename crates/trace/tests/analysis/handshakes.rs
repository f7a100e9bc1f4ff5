//! Handshake counts equal those by the definitions for the segments that `tshark` shows.

use crate::captures;
use crate::tshark::{self, ACK, Ends, Layer, RST, SYN, Segment};
use gentle_testkit::zeek;
use gentle_trace::Options;
use gentle_trace::results::Analysis;
use std::collections::{HashMap, HashSet};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    attempts: u64,
    successes: u64,
    duplicate_syn: u64,
    duplicate_synack: u64,
}

impl Counts {
    /// Counts of an analysis.
    pub(crate) fn of(analysis: &Analysis) -> Counts {
        let handshakes = &analysis.handshakes;
        Counts {
            attempts: handshakes.attempts,
            successes: handshakes.successes,
            duplicate_syn: handshakes.duplicate_syn,
            duplicate_synack: handshakes.duplicate_synack,
        }
    }
}

/// Counts by the definitions.
#[derive(Debug)]
pub(crate) struct Defined {
    counts: Counts,
    /// Successes if the ACK may be captured before the SYN/ACK, as from another receive queue.
    in_any_order: u64,
}

impl Defined {
    /// Whether `ours` are these counts. Of an ACK that came first, the analysis remembers the highest of its client only.
    pub(crate) fn are(&self, ours: Counts) -> bool {
        let successes = self.counts.successes..=self.in_any_order;
        let expected = Counts { successes: ours.successes, ..self.counts };
        ours == expected && successes.contains(&ours.successes)
    }
}

/// Counts by the definitions, literally and with unbounded memory.
pub(crate) fn count(segments: impl Iterator<Item = Segment>) -> Defined {
    let mut counts = Counts::default();
    let mut attempts: HashSet<(Ends, u32)> = HashSet::new();
    let mut synacks: HashSet<(Ends, u32, u32)> = HashSet::new();
    // By initiator and acknowledgement number: the sequence numbers of SYNs.
    let mut answers: HashMap<(Ends, u32), HashSet<u32>> = HashMap::new();
    let mut answered: HashSet<(Ends, u32)> = HashSet::new();
    let mut acks: HashSet<(Ends, u32)> = HashSet::new();
    for Segment { ends, seq, ack, flags } in segments {
        match (flags & SYN != 0, flags & ACK != 0) {
            (true, false) => {
                counts.duplicate_syn += u64::from(!attempts.insert((ends, seq)));
            }
            (true, true) => {
                let (source, source_port, destination, destination_port) = ends.clone();
                let initiator = (destination, destination_port, source, source_port);
                answers.entry((initiator, seq.wrapping_add(1))).or_default().insert(ack.wrapping_sub(1));
                counts.duplicate_synack += u64::from(!synacks.insert((ends, seq, ack)));
            }
            (false, true) => {
                acks.insert((ends.clone(), ack));
                if flags & RST != 0 {
                    continue;
                }
                if let Some(syns) = answers.get(&(ends.clone(), ack)) {
                    answered.extend(syns.iter().map(|&syn| (ends.clone(), syn)));
                }
            }
            (false, false) => {}
        }
    }
    counts.attempts = attempts.len() as u64;
    counts.successes = attempts.intersection(&answered).count() as u64;
    for (initiator, ack) in acks {
        if let Some(syns) = answers.get(&(initiator.clone(), ack)) {
            answered.extend(syns.iter().map(|&syn| (initiator.clone(), syn)));
        }
    }
    Defined { counts, in_any_order: attempts.intersection(&answered).count() as u64 }
}

/// Compares all captures; returns the total number of attempts.
fn compare(layer: Layer) -> u64 {
    let captures = zeek::all();
    let lines = tshark::lines(&captures);
    let options = Options { inner: layer == Layer::Innermost, ..Options::default() };
    let mut attempts = 0;
    for (path, lines) in captures.iter().zip(&lines) {
        let theirs = count(lines.iter().filter_map(|line| tshark::segment(line, layer)));
        let ours = Counts::of(&captures::analyze_files(&[path], &options).0);
        assert!(theirs.are(ours), "{}: {ours:?} {theirs:?}", zeek::name(path));
        attempts += ours.attempts;
    }
    attempts
}

#[test]
fn of_every_real_capture() {
    let attempts = compare(Layer::Outermost);
    assert!(attempts > 400, "there is something to compare: {attempts}");
}

#[test]
fn inside_tunnels_of_every_real_capture() {
    let attempts = compare(Layer::Innermost);
    assert!(attempts > 400, "there is something to compare: {attempts}");
}
