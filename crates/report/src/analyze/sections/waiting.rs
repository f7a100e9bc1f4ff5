//! Cost of lost packets, and its course over time.

use super::share;
use crate::analyze::section::{Cell, Chart, Head, Row, Section, Table};
use crate::format::{Quantity, Scale, percent, time};
use gentle_trace::results::Analysis;

pub(super) fn waiting(analysis: &Analysis) -> Option<Section> {
    let w = &analysis.waiting;
    let mut facts = Vec::new();
    let mut fact = |name: &str, value: String| facts.push((name.to_owned(), value));
    let lost = |seconds: f64| seconds > 0.0;
    if let Some(loss) = analysis.outcomes.loss.filter(|&loss| loss > 0.0) {
        fact("answered, lost", percent(loss));
    }
    if lost(w.handshake_s) {
        let mut value = time(w.handshake_s);
        if let Some(share) = w.handshake_share {
            value += &format!(", {} of all waiting", percent(share));
        }
        fact("SYNs, SYN/ACKs", value);
    }
    if let Some(mean) = w.loss_mean_s {
        fact("mean per loss", time(mean));
    }
    if lost(w.data_s) {
        fact("all other segments", time(w.data_s));
    }
    if lost(w.failed_s) {
        fact("failed attempts", format!("waited {}", time(w.failed_s)));
    }
    Section::new("waiting", "Time spent waiting for retransmissions").narrow().facts(facts).unless_empty()
}

pub(super) fn retransmissions(analysis: &Analysis) -> Option<Section> {
    let r = &analysis.retransmissions;
    let kinds = [
        (0, "retransmitted: bytes seen before", r.retransmitted),
        (0, "late: filled a hole after a loss", r.late),
        (1, "of both, spurious (DSACK, time stamps)", r.spurious),
        (0, "reordered: filled a hole, nothing lost", r.reordered),
        (0, "keep-alive and window probes", r.probes),
    ];
    if kinds.iter().all(|(_, _, n)| *n == 0) {
        return None;
    }
    let shares: Vec<_> = kinds.iter().map(|(_, _, n)| share(*n, r.data_segments)).collect();
    let scale = Scale::of(Quantity::Share, shares.iter().copied().flatten());
    let mut table = Table::new([Head::words("segments with data or FIN"), Head::new("count", ""), Head::new("%", "")]);
    table.row(Row::new("all", vec![Cell::count(r.data_segments), Cell::none()]));
    for ((depth, name, n), share) in kinds.into_iter().zip(shares).filter(|((_, _, n), _)| *n > 0) {
        let cells = vec![Cell::count(n), Cell::Text(scale.show(share))];
        table.row(Row::new(name, cells).depth(depth));
    }
    Some(Section::new("retransmissions", "Data retransmissions").narrow().table(table))
}

/// Timeline, as a chart only: a table would be long and not informative.
pub(super) fn timeline(analysis: &Analysis) -> Option<Section> {
    const CHARTS: &[Chart] = &[Chart {
        name: "timeline",
        caption: "Attempts, loss, waiting and throughput",
        hint: "",
        keys: &[],
        wide: true,
    }];
    let bins = &analysis.timeline.bins;
    (bins.len() > 1).then(|| Section::new("timeline", "Over time").charts(CHARTS))
}
