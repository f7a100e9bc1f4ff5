//! Reasons not to trust a capture.

use crate::format::{count, percent, plural, time};
use gentle_trace::results::{Capture, Interface, TrustWarning, TrustWarningKind};
use gentle_wire::LinkType;

/// Interfaces that a sentence names.
const NAMED: usize = 8;

/// Sentence of a warning about `captures`.
pub(super) fn sentence(warning: &TrustWarning, captures: &[Capture]) -> String {
    let number = |name: &str| warning.evidence.get(name).copied().unwrap_or(0.0);
    let of = |name: &str, one: &str, several: &str| plural(number(name) as u64, one, several);
    let packets = |one: &str, several: &str| of("packets", one, several);
    let file = warning.file.and_then(|file| captures.get(file));
    let text = match warning.kind {
        TrustWarningKind::DroppedByCapture => format!(
            "The capture lacks packets: by its own statistics {} of {} ({}) were dropped while capturing. A handshake whose answer was not captured looks like one that failed, and loss, failures and waiting below are partly the capture's, not the network's.",
            count(number("packets") as u64),
            of("of", "packet", "packets"),
            percent(number("share")),
        ),
        TrustWarningKind::MissingPackets => format!(
            "The capture lacks packets: {} of data were acknowledged but not captured, compared with {} captured. The capture dropped them, or they took another path. SYNs and SYN/ACKs are missing as often: attempts whose answer is missing count as failed, and some losses are the capture's.",
            of("stretches", "stretch", "stretches"),
            of("data_segments", "data segment", "data segments"),
        ),
        TrustWarningKind::TimesApart => format!(
            "{} a time that is up to {} away from the others: the clock was wrong, or the file is damaged. Duration, rates and idle times do not hold; `editcap -A START -B STOP` leaves such packets out.",
            packets("packet has", "packets have"),
            distance(number("distance_s")),
        ),
        TrustWarningKind::TimeRunsBackwards => format!(
            "The capture is not in order of time: {} ({}) earlier than one before, by up to {}. Order decides which packet is an attempt, an answer or a retransmission; `reordercap FILE SORTED` puts a file in order (concatenated captures as well).",
            packets("packet is", "packets are"),
            percent(number("share")),
            time(number("furthest_s")),
        ),
        TrustWarningKind::AnswersBeforeQuestions => format!(
            "Answers come before requests: {} and {} were captured after their answers, half of them by {} or more. The capture combines two points with different clocks, which differ by more than that (`editcap -t SECONDS` shifts one; `--interface` analyses one). Round-trip times, waiting and late segments do not hold.",
            of("handshake_segments", "SYN or SYN/ACK", "SYNs or SYN/ACKs"),
            of("data_segments", "data segment", "data segments"),
            time(number("offset_s")),
        ),
        TrustWarningKind::LinkTypeNotRead => format!(
            "{} {} which gentle does not read, so their content is unknown. docs/reference/analysis.md lists the link types that it reads.",
            packets("packet has", "packets have"),
            link_type(number("link_type")),
        ),
        TrustWarningKind::Encrypted => format!(
            "{} encrypted {} and not read: capture at a point where they are not encrypted.",
            packets("packet is", "packets are"),
            match (number("at_link") > 0.0, number("at_ip") > 0.0) {
                (true, true) => "at the link layer or by IPsec (ESP)",
                (false, true) => "by IPsec (ESP)",
                (_, false) => "at the link layer (MACsec, or Wi-Fi's own encryption)",
            },
        ),
        TrustWarningKind::CutTooShort => format!(
            "{} cut before the end of the headers and not read: capture at least 96 bytes of each (`tcpdump -s 96`).",
            packets("packet was", "packets were"),
        ),
        TrustWarningKind::InterfacesLeftOut => {
            let all = file.map_or(&[][..], |file| &file.interfaces[..]);
            let (analysed, left_out) = (with_packets(all, true), with_packets(all, false));
            let analysed = match analysed[..] {
                [] => "Nothing was analysed".to_owned(),
                _ => format!("Only {} analysed", were(&analysed)),
            };
            format!(
                "{analysed}; {} left out, with {} more. --interface NAME chooses others.",
                were(&left_out),
                packets("packet", "packets"),
            )
        }
        TrustWarningKind::MergedSegments => format!(
            "{} larger than any host accepts (up to {}; largest MSS {}): the network card or the kernel merged them before the capture (TSO, GSO, GRO). Data segments, and lost ones, are more than counted. SYNs, SYN/ACKs and their losses are not affected. Capture on the wire, or with `ethtool -K DEVICE tso off gso off gro off`, to count data.",
            of("segments", "segment is", "segments are"),
            plural(number("largest_bytes") as u64, "byte", "bytes"),
            count(number("mss_bytes") as u64),
        ),
        TrustWarningKind::SeveralPoints => {
            let interfaces = match captures {
                [only] => with_packets(&only.interfaces, true),
                _ => Vec::new(),
            };
            let (points, choice) = match interfaces.len() {
                0 | 1 => (String::new(), ""),
                _ => (format!(" ({})", list(&interfaces)), " --interface NAME analyses one interface alone."),
            };
            format!(
                "The same packets were captured at several points{points}: {} of {} had been seen before at another point. Each packet counts once, where it was seen first.{choice}",
                count(number("segments_again") as u64),
                of("segments", "TCP segment", "TCP segments"),
            )
        }
        TrustWarningKind::TunnelsRead => format!(
            "All TCP of this capture is inside {} ({}), so the connections inside were analysed, as with --inner.",
            tunnels(captures),
            packets("packet", "packets"),
        ),
        TrustWarningKind::TunnelsNotRead => format!(
            "{} TCP inside {}, which was not analysed, compared with {} outside: --inner counts both.",
            packets("packet has", "packets have"),
            tunnels(captures),
            of("tcp_segments_outside", "TCP segment", "TCP segments"),
        ),
    };
    match file {
        Some(file) if captures.len() > 1 => format!("{}: {text}", file.path),
        _ => text,
    }
}

/// Distance of times, in years or days.
fn distance(seconds: f64) -> String {
    let days = seconds / 86_400.0;
    if days >= 366.0 {
        plural((days / 365.25).round() as u64, "year", "years")
    } else {
        plural(days.round() as u64, "day", "days")
    }
}

/// Link type by its number; below zero, it is unknown.
fn link_type(number: f64) -> String {
    if number < 0.0 {
        return "a link type".to_owned();
    }
    match LinkType(number as u16).registered_name() {
        Some(name) => format!("link type {number}, {name},"),
        None => format!("link type {number}"),
    }
}

/// Protocols of the tunnels in captures.
fn tunnels(captures: &[Capture]) -> String {
    let mut names: Vec<&str> = captures.iter().flat_map(|capture| capture.tunnels.keys().copied()).collect();
    names.sort_unstable();
    names.dedup();
    names.join(", ")
}

/// Interfaces with packets that were analysed, or were not.
fn with_packets(interfaces: &[Interface], analysed: bool) -> Vec<&Interface> {
    interfaces.iter().filter(|it| it.analysed == analysed && it.packets > 0).collect()
}

/// Names of interfaces, the first ones if they are many.
fn list(interfaces: &[&Interface]) -> String {
    let names: Vec<String> = interfaces.iter().take(NAMED).map(|interface| interface.label()).collect();
    match interfaces.len().saturating_sub(NAMED) {
        0 => names.join(", "),
        more => format!("{} and {} more", names.join(", "), count(more as u64)),
    }
}

/// Names of interfaces as the subject of a sentence, with its verb.
fn were(interfaces: &[&Interface]) -> String {
    match interfaces {
        [_] => format!("interface {} was", list(interfaces)),
        _ => format!("interfaces {} were", list(interfaces)),
    }
}
