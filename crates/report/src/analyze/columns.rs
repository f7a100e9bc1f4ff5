//! Meanings of the columns of an analysis' tables, and of rows that are quantities.

use super::section::Table;
use crate::columns::{Column, legend};

/// Names with their meanings.
type Names = &'static [(&'static str, &'static str)];

/// Tables with names that need an explanation, in the order of the full report: title of the section, and names of columns or
/// rows.
const TABLES: &[(&str, Names)] = &[
    (
        "Outcomes of the attempts",
        &[
            ("answered", "a SYN/ACK came"),
            ("with handshake loss", "a SYN, SYN/ACK or the ACK of the handshake was lost"),
            ("with a late answer", "a SYN or SYN/ACK was retransmitted while its answer was on the way"),
            (
                "deferred by the server",
                "the server ignored a SYN that had reached it, or retransmitted a SYN/ACK that had been acknowledged; an ACK lost beyond the capture point looks the same, and among the causes counts as loss",
            ),
            (
                "after a port still in use",
                "the server first answered with an ACK or SYN/ACK of an older connection with the same ports",
            ),
            ("after a refusal", "an RST or ICMP error first answered a SYN"),
            ("after a SYN/ACK that was reset", "the client first answered a SYN/ACK with an RST"),
            ("with SYNs held up together", "SYNs sent by a timer passed less than 20 ms apart"),
            (
                "blackholed, host alive",
                "no answer from a host that answers others, or the client repeated its SYN after a SYN/ACK had passed",
            ),
            ("host dead or filtered", "no packet of the host was captured"),
            ("port still in use", "each SYN was answered with an ACK of an older connection with the same ports"),
            ("answered elsewhere (NAT)", "the SYN/ACK came from another address"),
            ("scans", "failed attempts of clients that failed to reach many servers or ports"),
            ("SYN floods", "single SYNs of clients that complete no attempt, at least 1,000 to one server"),
            ("server side not captured", "the capture has only the client's packets"),
            ("seen twice (NAT)", "attempts that the capture has before and after address translation; they count once"),
        ],
    ),
    (
        "TCP handshakes",
        &[
            ("connection attempts", "distinct SYNs: addresses, ports and sequence number"),
            ("successful", "SYN, SYN/ACK and ACK were captured"),
            ("outside the standard intervals", "no two SYNs of the attempt were apart as a standard timer sends them"),
            ("duplicate SYNs", "further SYNs of an attempt, copies made by the capture included"),
            ("whole path", "from the SYN to the ACK of the SYN/ACK"),
            ("capture point to server", "from the SYN to the SYN/ACK"),
            ("capture point to client", "from the SYN/ACK to its acknowledgement"),
        ],
    ),
    (
        "Expected cost of handshake loss",
        &[
            ("segments", "size of the connections"),
            ("without loss", "response time of such a connection by the model, without a handshake loss"),
            (
                "expected wait",
                "share of the response time that the model expects to be spent waiting for lost SYNs and SYN/ACKs",
            ),
            ("measured wait", "the same share, as captured"),
        ],
    ),
    (
        "Directions",
        &[
            ("mean rate", "bits on the wire of all packets, over the time of the capture"),
            ("utilisation", "mean rate as a share of the link's rate"),
            ("segments retransmitted", "retransmitted segments as a share of all segments"),
            ("SYNs, SYN/ACKs among them", "SYNs and SYN/ACKs as a share of the retransmitted segments"),
            ("SYNs, SYN/ACKs retransmitted", "retransmitted SYNs and SYN/ACKs as a share of all SYNs and SYN/ACKs"),
            (
                "summed delay per connection",
                "time from each transmission of a segment to its retransmission, added up per connection as in spa-2018, \
                 also where segments wait at the same time; ± is the half-width of the 95 % confidence interval over \
                 connections",
            ),
        ],
    ),
    (
        "Filters",
        &[
            ("connections removed", "connections that the filter takes out"),
            ("rtx all", "retransmitted segments as a share of all segments"),
            ("rtx SYN share", "SYNs and SYN/ACKs as a share of the retransmitted segments"),
            ("rtx SYN", "retransmitted SYNs and SYN/ACKs as a share of all SYNs and SYN/ACKs"),
            ("delay all", "summed retransmission delay per connection: mean of all connections"),
            ("delay with", "mean of connections that retransmitted a SYN or SYN/ACK"),
            ("delay without", "mean of connections that retransmitted no SYN or SYN/ACK"),
        ],
    ),
    (
        "Time between duplicates",
        &[
            ("between", "time from a SYN or SYN/ACK to its next duplicate"),
            ("standard", "intervals near one that a standard timer produces, with their counts"),
            ("backoff series", "timers that fit the intervals of a connection"),
        ],
    ),
    (
        "Largest time losses",
        &[
            ("time lost", "time that completed attempts waited for retransmitted SYNs and SYN/ACKs"),
            ("with loss", "completed attempts that lost a SYN or SYN/ACK"),
            ("not completed", "attempts without a complete handshake"),
            ("failed", "time that those attempts waited"),
        ],
    ),
    (
        "Handshakes of other protocols",
        &[
            ("with loss", "attempts that lost a packet of the handshake"),
            ("time lost", "time that attempts waited for retransmitted packets of the handshake"),
        ],
    ),
];

/// Columns of the tables of an analysis, and rows that are quantities, each list with the title of its section.
pub fn columns() -> Vec<(&'static str, Vec<Column>)> {
    let column = |&(head, meaning): &(&str, &'static str)| Column { head: head.to_owned(), meaning };
    TABLES.iter().map(|(title, names)| (*title, names.iter().map(column).collect())).collect()
}

/// Meanings of the names in the tables of a section that need an explanation, in one sentence.
pub(super) fn explained(section: &str, tables: &[&Table]) -> String {
    let shown = |name: &str| {
        tables.iter().any(|table| {
            let heads = table.heads.iter().map(|head| format!("{} {}", head.subject, head.detail));
            let rows = table.rows.iter().map(|row| row.name.clone());
            heads.chain(rows).any(|text| is_named(&text, name))
        })
    };
    legend(
        names(section)
            .iter()
            .filter(|(name, _)| shown(name))
            .map(|&(head, meaning)| Column { head: head.to_owned(), meaning }),
    )
}

/// Meaning of the column with this head in a section; empty if it needs no explanation.
pub(super) fn meaning(section: &str, head: &str) -> &'static str {
    let named = names(section).iter().find(|(name, _)| is_named(head, name));
    named.map_or("", |(_, meaning)| meaning)
}

/// Names in the tables of a section that need an explanation.
fn names(section: &str) -> Names {
    TABLES.iter().find(|(title, _)| section.starts_with(title)).map_or(&[][..], |(_, names)| names)
}

/// Whether a head or row is `name`, possibly with a unit, statistic or remark after it.
fn is_named(text: &str, name: &str) -> bool {
    text.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', ',', ':']))
}
