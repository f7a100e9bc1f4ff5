//! Table of handshakes as in handshake-2009.

use super::share;
use crate::analyze::section::{Cell, Head, Row, Section, Table, round_trips};
use crate::format::{NONE, Quantity, Scale, count};
use gentle_trace::results::Analysis;

pub(super) fn handshakes(analysis: &Analysis) -> Option<Section> {
    let h = &analysis.handshakes;
    if h.attempts == 0 && h.synack_without_syn == 0 {
        return None;
    }
    let percents = Scale::of(Quantity::Share, [1.0].into_iter());
    let mut table = Table::new([Head::words("all captured"), Head::new("count", ""), Head::new("% of attempts", "")]);
    let mut line = |depth: usize, name: &str, n: u64| {
        let of_attempts = percents.show(share(n, h.attempts));
        let cells = vec![Cell::count(n), Cell::Text(of_attempts)];
        table.row(Row::new(name, cells).depth(depth));
    };
    if h.attempts > 0 {
        line(0, "connection attempts", h.attempts);
        line(0, "successful", h.successes);
        line(0, "not successful", h.failures);
        line(0, "attempts with several SYNs", h.attempts_with_duplicate_syn);
        if h.attempts_with_duplicate_syn > 0 {
            line(1, "of successful ones", h.successes_with_duplicate_syn);
            line(1, "of unsuccessful ones", h.failures_with_duplicate_syn);
            line(1, "outside the standard intervals", h.outside_standard_intervals);
        }
        if h.attempts_with_retransmission > 0 {
            line(0, "attempts with SYN or SYN/ACK retransmission", h.attempts_with_retransmission);
            line(1, "successful ones", h.successes_with_retransmission);
        }
        if h.syn_with_data > 0 {
            line(0, "SYNs with data (Fast Open)", h.syn_with_data);
        }
    }
    let mut plain = |depth: usize, name: &str, value: String| {
        table.row(Row::new(name, vec![Cell::Text(value), Cell::none()]).depth(depth));
    };
    if h.attempts > 0 {
        let decimals =
            |value: Option<f64>, digits: usize| value.map_or(NONE.to_owned(), |value| format!("{value:.digits$}"));
        plain(0, "SYNs per successful connection", decimals(h.syn_per_success, 3));
        if h.attempts_per_duplicate.is_some() {
            let every = decimals(h.attempts_per_duplicate, 0);
            plain(0, "connections per one with several SYNs", every);
        }
    }
    let copies = &h.capture_duplicates;
    for (name, n, copied) in
        [("duplicate SYNs", h.duplicate_syn, copies.syn), ("duplicate SYN/ACKs", h.duplicate_synack, copies.synack)]
    {
        plain(0, name, count(n));
        if copied > 0 {
            plain(1, "copies made by the capture", count(copied));
        }
    }
    for (name, n) in
        [("other segments copied by the capture", copies.other), ("SYN/ACKs without their SYN", h.synack_without_syn)]
    {
        if n > 0 {
            plain(0, name, count(n));
        }
    }
    Some(Section::new("handshakes", "TCP handshakes").narrow().table(table).table(round_trips([
        ("whole path", h.rtt_s.both),
        ("capture point to server", h.rtt_s.server_side),
        ("capture point to client", h.rtt_s.client_side),
    ])))
}
