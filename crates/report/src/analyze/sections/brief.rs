//! Brief summary for operators: outcomes of the attempts, and the cost of handshake losses.

use super::share;
use crate::analyze::section::Section;
use crate::format::{NONE, bytes, count, percent, plural, time};
use gentle_trace::results::Analysis;

pub(super) fn attempts(analysis: &Analysis) -> Option<Section> {
    let attempts = analysis.handshakes.attempts;
    let o = &analysis.outcomes;
    let w = &analysis.waiting;
    let mut facts = Vec::new();
    let mut fact = |name: &str, value: String| facts.push((name.to_owned(), value));
    fact("capture", capture(analysis));
    if attempts > 0 {
        fact("connection attempts", count(attempts));
        fact("answered", share_of(o.answered, attempts));
    }
    let apart: Vec<String> = [
        ("refused", &o.refused),
        ("rejected", &o.rejected),
        ("with a port still in use", &o.challenged),
        ("answered elsewhere", &o.elsewhere),
        ("blackholed", &o.blackholed),
        ("to dead hosts", &o.dead),
        ("of scans", &o.scans),
        ("of floods", &o.floods),
        ("with one side captured", &o.unseen),
    ]
    .into_iter()
    .filter(|(_, apart)| apart.attempts > 0)
    .map(|(what, apart)| format!("{} {what}", count(apart.attempts)))
    .collect();
    if !apart.is_empty() {
        fact("not answered", apart.join(", "));
    }
    if o.with_loss > 0 {
        let lost = share_of(o.with_loss, o.answered);
        fact("with handshake loss", format!("{lost} of those answered"));
        let mean = w.loss_mean_s.map_or(NONE.to_owned(), time);
        fact("waited for it", format!("{}, {mean} on average", time(w.loss_s)));
    }
    if w.failed_s > 0.0 {
        fact("failed attempts", format!("waited {}", time(w.failed_s)));
    }
    let rtt = &analysis.handshakes.rtt_s.both;
    if let (Some(p50), Some(p95)) = (rtt.p50, rtt.p95) {
        fact("round-trip time", format!("median {}, p95 {}", time(p50), time(p95)));
    }
    Section::new("attempts", "Connection attempts").facts(facts).unless_empty()
}

/// Size of the capture and its start.
fn capture(analysis: &Analysis) -> String {
    let packets = analysis.captures.iter().map(|c| c.packets).sum();
    let on_the_wire = analysis.captures.iter().map(|c| c.wire_bytes).sum();
    let mut parts = vec![plural(packets, "packet", "packets"), bytes(on_the_wire), time(analysis.duration_s)];
    parts.extend(super::begin(analysis).map(|begin| format!("from {begin}")));
    parts.join(", ")
}

/// Count with its share, `1,012 (2.1 %)`.
fn share_of(n: u64, of: u64) -> String {
    let share = share(n, of).map_or(String::new(), |share| format!(" ({})", percent(share)));
    count(n) + &share
}
