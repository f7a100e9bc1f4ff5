//! Vantage point of the capture, and the meaning of duplicates there.

use crate::analyze::section::Section;
use crate::format::{count, plural};
use gentle_trace::results::Analysis;

pub(super) fn vantage(analysis: &Analysis) -> Option<Section> {
    let v = &analysis.vantage;
    let h = &analysis.handshakes;
    if h.duplicate_syn + h.duplicate_synack == 0 {
        return None;
    }
    let place = match v.side {
        "client" => "at the clients",
        "server" => "at the servers",
        "middle" => "between clients and servers",
        _ => "unknown",
    };
    let known = if v.given { "given" } else { "inferred" };
    let mut facts = vec![("capture point".to_owned(), format!("{place} ({known})"))];
    facts.extend(v.evidence.iter().map(|e| ("evidence".to_owned(), e.clone())));
    if h.duplicate_syn > 0 {
        let seen = format!(
            "{} before any SYN/ACK was seen, {} after one",
            plural(v.syn_before_synack, "duplicate", "duplicates"),
            count(v.syn_after_synack)
        );
        facts.push(("a duplicate SYN".to_owned(), v.duplicate_syn_means.clone()));
        facts.push(("seen".to_owned(), seen));
    }
    if h.duplicate_synack > 0 {
        let seen = format!(
            "{} before the ACK was seen, {} after it",
            plural(v.synack_before_ack, "duplicate", "duplicates"),
            count(v.synack_after_ack)
        );
        facts.push(("a duplicate SYN/ACK".to_owned(), v.duplicate_synack_means.clone()));
        facts.push(("seen".to_owned(), seen));
    }
    Section::new("vantage", "Vantage point").facts(facts).unless_empty()
}
