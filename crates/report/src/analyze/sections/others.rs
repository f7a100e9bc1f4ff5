//! Handshakes of protocols other than TCP.

use super::{counted, share};
use crate::analyze::section::{Cell, Head, Row, Section, Table, round_trips};
use crate::format::{Quantity, Scale, count, time};
use gentle_trace::results::{Analysis, OtherHandshakes};

pub(super) fn others(analysis: &Analysis) -> Option<Section> {
    let o = &analysis.other_protocols;
    let present: Vec<(&str, &OtherHandshakes)> = [("QUIC", &o.quic), ("SCTP", &o.sctp), ("DCCP", &o.dccp)]
        .into_iter()
        .filter_map(|(name, found)| Some((name, found.as_ref()?)))
        .filter(|(_, found)| found.attempts > 0)
        .collect();
    let percents = Scale::of(Quantity::Share, [1.0].into_iter());
    let rtts = round_trips(present.iter().map(|(name, found)| (*name, found.rtt_s)));
    let mut table = Table::new([
        Head::words("protocol"),
        Head::new("attempts", ""),
        Head::new("successful", ""),
        Head::new("with loss", ""),
        Head::new("% of", "attempts"),
        Head::new("time lost", ""),
    ]);
    let mut facts = Vec::new();
    for (name, found) in present {
        let loss = percents.show(share(found.attempts_with_loss, found.attempts));
        table.row(Row::new(
            name,
            vec![
                Cell::count(found.attempts),
                Cell::count(found.successes),
                Cell::count(found.attempts_with_loss),
                Cell::Text(loss),
                Cell::Text(time(found.time_lost_s)),
            ],
        ));
        let sent_again: Vec<String> = found
            .retransmissions
            .iter()
            .filter(|(_, n)| **n > 0)
            .map(|(kind, n)| format!("{kind} {}", count(*n)))
            .collect();
        if !sent_again.is_empty() {
            facts.push((format!("{name} retransmitted"), sent_again.join(", ")));
        }
        if !found.versions.is_empty() {
            let versions: Vec<String> =
                found.versions.iter().map(|(version, n)| counted(*n, found.attempts, version, version)).collect();
            facts.push((format!("{name} versions"), versions.join(", ")));
        }
    }
    Section::new("other-protocols", "Handshakes of other protocols")
        .table(table)
        .facts(facts)
        .table(rtts)
        .unless_empty()
}
