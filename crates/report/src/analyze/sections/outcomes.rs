//! Outcomes of the connection attempts, and reasons of retransmissions.

use super::share;
use crate::analyze::section::{Cell, Head, Row, Section, Table};
use crate::format::{Quantity, Scale, time};
use gentle_trace::results::Analysis;

pub(super) fn outcomes(analysis: &Analysis) -> Option<Section> {
    let o = &analysis.outcomes;
    let attempts = analysis.handshakes.attempts;
    if attempts == 0 {
        return None;
    }
    let percents = Scale::of(Quantity::Share, [1.0].into_iter());
    let mut table = Table::new([Head::words("attempts"), Head::new("count", ""), Head::new("% of attempts", "")]);
    let mut line = |depth: usize, name: &str, n: u64| {
        if depth == 0 || n > 0 {
            let share = percents.show(share(n, attempts));
            let cells = vec![Cell::count(n), Cell::Text(share)];
            table.row(Row::new(name, cells).depth(depth));
        }
    };
    line(0, "answered", o.answered);
    line(1, "with handshake loss", o.with_loss);
    line(1, "with a late answer", o.late);
    line(1, "deferred by the server", o.deferred);
    line(1, "after a port still in use", o.completed_after_challenge);
    line(1, "after a refusal", o.completed_after_refusal);
    line(1, "after a SYN/ACK that was reset", o.completed_after_reset);
    line(1, "with SYNs held up together", o.held);
    line(1, "whose SYN/ACK was not captured", o.one_sided);
    line(1, "not completed", o.half_open);
    line(2, "SYN/ACK reset, SYN again", o.reset.attempts);
    line(2, "SYN/ACK reset", o.abandoned.attempts);
    for (name, apart) in [
        ("blackholed, host alive", &o.blackholed),
        ("host dead or filtered", &o.dead),
        ("refused (RST)", &o.refused),
        ("rejected (ICMP)", &o.rejected),
        ("port still in use", &o.challenged),
        ("answered elsewhere (NAT)", &o.elsewhere),
        ("scans", &o.scans),
        ("SYN floods", &o.floods),
        ("server side not captured", &o.unseen),
    ] {
        if apart.attempts > 0 {
            line(0, name, apart.attempts);
        }
    }
    if o.seen_twice > 0 {
        line(0, "seen twice (NAT)", o.seen_twice);
    }
    let r = &o.repeats;
    let mut repeats = Table::new([Head::words("SYNs and SYN/ACKs retransmitted because"), Head::new("count", "")]);
    for (name, n) in [
        ("the packet or its answer was lost", r.lost),
        ("the answer was late", r.late),
        ("an RST or ICMP error had answered", r.rejected),
        ("the server deferred the client", r.deferred),
        ("a challenge ACK had answered", r.challenged),
        ("the SYN/ACK had been reset", r.reset),
        ("the path held the packet up", r.held),
        ("the attempt failed", r.failed),
    ] {
        if n > 0 {
            repeats.row(Row::new(name, vec![Cell::count(n)]));
        }
    }
    let mut facts = Vec::new();
    if o.deferred_s > 0.0 {
        facts.push(("deferred, waited".to_owned(), time(o.deferred_s)));
    }
    if o.completed_after_challenge_s > 0.0 {
        let waited = time(o.completed_after_challenge_s);
        facts.push(("port in use, waited".to_owned(), waited));
    }
    if o.completed_after_refusal_s > 0.0 {
        let waited = time(o.completed_after_refusal_s);
        facts.push(("refused, waited".to_owned(), waited));
    }
    if o.completed_after_reset_s > 0.0 {
        let waited = time(o.completed_after_reset_s);
        facts.push(("SYN/ACK reset, waited".to_owned(), waited));
    }
    if o.held_s > 0.0 {
        facts.push(("held up, by timestamps".to_owned(), time(o.held_s)));
    }
    Some(Section::new("outcomes", "Outcomes of the attempts").narrow().table(table).table(repeats).facts(facts))
}
