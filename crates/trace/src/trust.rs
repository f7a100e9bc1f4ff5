//! Reasons not to trust a capture, with evidence: missing packets, wrong timestamps, traffic that was not analysed.

use crate::decode::FileCounts;
use crate::findings::FileFacts;
use crate::format::{count, of, percent, time};
use crate::interfaces::InterfaceFacts;
use crate::results::{Capture, TrustWarning, TrustWarningKind};
use crate::tally::{OrderCounts, Tally};
use gentle_units::Nanos;

/// Smallest share of a file's packets at which traffic that was not analysed is reported.
const NOTABLE: f64 = 0.01;
/// Smallest share of missing packets that is reported; on a good link, as few handshakes are lost.
const MISSING: f64 = 0.001;
/// Smallest number of missing stretches of data that is reported; fewer may come from segmentation offload or a restart
/// of the capture.
const FEW: u64 = 5;
/// Harmless disorder, as between packets of several receive queues.
const HARMLESS_DISORDER: Nanos = Nanos::from_millis(1);
/// Disorder of at least this comes from clocks or files, and is reported however few packets have it.
const CLOCK_STEP: Nanos = Nanos::from_millis(10);
/// Smallest share of handshakes or data segments captured after their answers that is reported.
const ANSWERED_FIRST: f64 = 0.05;

/// Interfaces that a sentence names.
const NAMED: usize = 8;

/// Inputs of the warnings.
pub(crate) struct Evidence<'a> {
    pub(crate) files: &'a [FileFacts],
    /// Facts of a first pass that found TCP in tunnels only.
    pub(crate) outside: Option<&'a [FileFacts]>,
    pub(crate) tally: &'a Tally,
}

impl Evidence<'_> {
    /// Warnings, gravest first.
    pub(crate) fn warnings(&self) -> Vec<TrustWarning> {
        let mut warnings = Vec::new();
        let files = || self.files.iter();
        warnings.extend(files().filter_map(|file| self.dropped(file)));
        warnings.extend(files().filter_map(|file| self.outliers(file)));
        warnings.extend(files().filter_map(|file| self.backwards(file)));
        warnings.extend(self.answers_first());
        if warnings.is_empty() {
            // Each of the warnings above would explain missing packets.
            warnings.extend(self.missing());
        }
        warnings.extend(files().filter_map(|file| self.unread_link(file)));
        warnings.extend(files().filter_map(|file| self.encrypted(file)));
        warnings.extend(files().filter_map(|file| self.cut(file)));
        warnings.extend(files().filter_map(|file| self.left_out(file)));
        warnings.extend(self.several_points());
        warnings.extend(self.tunnels());
        warnings
    }

    /// Prefix `FILE: ` if there are several files.
    fn place(&self, file: &FileFacts) -> String {
        match self.files {
            [_] => String::new(),
            _ => format!("{}: ", file.path),
        }
    }

    fn dropped(&self, file: &FileFacts) -> Option<TrustWarning> {
        let (dropped, received) = (file.dropped, file.received);
        // Without such statistics: packets in the file plus packets dropped.
        let all = match received {
            0 => file.counts.packets.saturating_add(dropped),
            received => received.max(dropped),
        };
        let share = dropped as f64 / all.max(1) as f64;
        (share >= MISSING).then(|| {
            TrustWarning::new(
                TrustWarningKind::DroppedByCapture,
                format!(
                    "{}The capture lacks packets: by its own statistics {} of {} ({}) were dropped while capturing. A handshake whose answer was not captured looks like one that failed, and loss, failures and waiting below are partly the capture's, not the network's.",
                    self.place(file),
                    count(dropped),
                    of(all, "packet", "packets"),
                    percent(share),
                ),
                [("packets", dropped as f64), ("of", all as f64), ("share", share)],
            )
        })
    }

    fn missing(&self) -> Option<TrustWarning> {
        let unseen = self.tally.order.unseen;
        let segments = self.tally.retransmissions.data_segments;
        let share = unseen as f64 / segments.saturating_add(unseen).max(1) as f64;
        (unseen >= FEW && share >= MISSING).then(|| {
            TrustWarning::new(
                TrustWarningKind::MissingPackets,
                format!(
                    "The capture lacks packets: {} of data were acknowledged that it never saw, beside {} that it did. It dropped them, or they took another way. SYNs and SYN/ACKs are missing as often: attempts whose answer is missing count as failed, and some losses are the capture's.",
                    of(unseen, "stretch", "stretches"),
                    of(segments, "data segment", "data segments"),
                ),
                [("stretches", unseen as f64), ("data_segments", segments as f64), ("share", share)],
            )
        })
    }

    fn outliers(&self, file: &FileFacts) -> Option<TrustWarning> {
        let outliers = file.counts.times.outliers()?;
        let days = outliers.distance.as_secs_f64() / 86_400.0;
        let distance = if days >= 366.0 {
            of((days / 365.25).round() as u64, "year", "years")
        } else {
            of(days.round() as u64, "day", "days")
        };
        Some(TrustWarning::new(
            TrustWarningKind::TimesApart,
            format!(
                "{}{} a time that is up to {distance} away from the others: the clock was wrong, or the file is damaged. Duration, rates and idle times do not hold; `editcap -A START -B STOP` leaves such packets out.",
                self.place(file),
                of(outliers.packets, "packet has", "packets have"),
            ),
            [
                ("packets", outliers.packets as f64),
                ("first_s", outliers.time.as_secs_f64()),
                ("distance_s", outliers.distance.as_secs_f64()),
            ],
        ))
    }

    fn backwards(&self, file: &FileFacts) -> Option<TrustWarning> {
        let (packets, furthest) = file.counts.times.backwards();
        let share = packets as f64 / file.counts.packets.max(1) as f64;
        if furthest < CLOCK_STEP && !(furthest > HARMLESS_DISORDER && share >= NOTABLE) {
            return None;
        }
        Some(TrustWarning::new(
            TrustWarningKind::TimeRunsBackwards,
            format!(
                "{}The capture is not in order of time: {} ({}) earlier than one before, by up to {}. What came first decides what is an attempt, an answer or a retransmission; `reordercap FILE SORTED` puts a file in order (two captures written one behind the other as well).",
                self.place(file),
                of(packets, "packet is", "packets are"),
                percent(share),
                time(furthest.as_secs_f64()),
            ),
            [("packets", packets as f64), ("share", share), ("furthest_s", furthest.as_secs_f64())],
        ))
    }

    fn answers_first(&self) -> Option<TrustWarning> {
        let OrderCounts { late_data, late_handshakes, .. } = &self.tally.order;
        let (handshakes, data) = (late_handshakes.quantiles(), late_data.quantiles());
        let of_handshakes = handshakes.n as f64 / self.tally.attempts.max(1) as f64;
        let segments = self.tally.retransmissions.data_segments;
        let of_data = data.n as f64 / segments.max(1) as f64;
        let by_handshakes =
            of_handshakes >= ANSWERED_FIRST && (handshakes.n >= 3 || handshakes.n == self.tally.attempts);
        let by_data = of_data >= ANSWERED_FIRST && data.n >= 3;
        let gap = [(by_handshakes, handshakes), (by_data, data)]
            .into_iter()
            .filter_map(|(counts, gaps)| gaps.p50.filter(|_| counts))
            .fold(0.0, f64::max);
        (gap >= HARMLESS_DISORDER.as_secs_f64()).then(|| {
            TrustWarning::new(
                TrustWarningKind::AnswersBeforeQuestions,
                format!(
                    "Answers come before questions: {} and {} were captured after what answers them, half of them by {} or more. Two capture points with different clocks were put together: theirs differ by more than that (`editcap -t SECONDS` shifts one; `--interface` analyses one). Round-trip times, waiting and late segments do not hold.",
                    of(handshakes.n, "SYN or SYN/ACK", "SYNs or SYN/ACKs"),
                    of(data.n, "data segment", "data segments"),
                    time(gap),
                ),
                [
                    ("handshake_segments", handshakes.n as f64),
                    ("data_segments", data.n as f64),
                    ("offset_s", gap),
                ],
            )
        })
    }

    fn unread_link(&self, file: &FileFacts) -> Option<TrustWarning> {
        let packets = notable(file, "unknown-link")?;
        let name = match &file.unread_link {
            Some((number, Some(name))) => format!("link type {number}, {name},"),
            Some((number, None)) => format!("link type {number}"),
            None => "a link type".to_string(),
        };
        let number = file.unread_link.as_ref().map(|(number, _)| *number);
        Some(TrustWarning::new(
            TrustWarningKind::LinkTypeNotRead,
            format!(
                "{}{} {name} which gentle does not read, so nothing is known of what they carry. docs/analyze.md lists the link types that it reads.",
                self.place(file),
                of(packets, "packet has", "packets have"),
            ),
            [("packets", packets as f64), ("link_type", number.map_or(-1.0, f64::from))],
        ))
    }

    fn encrypted(&self, file: &FileFacts) -> Option<TrustWarning> {
        let at_link = notable(file, "encrypted");
        let at_ip = file
            .counts
            .other()
            .get("esp")
            .copied()
            .filter(|&packets| packets as f64 >= NOTABLE * file.counts.packets as f64);
        let packets = at_link.unwrap_or(0) + at_ip.unwrap_or(0);
        let what = match (at_link, at_ip) {
            (None, None) => return None,
            (Some(_), None) => "at the link layer (MACsec, or Wi-Fi's own encryption)",
            (None, Some(_)) => "by IPsec (ESP)",
            (Some(_), Some(_)) => "at the link layer or by IPsec (ESP)",
        };
        Some(TrustWarning::new(
            TrustWarningKind::Encrypted,
            format!(
                "{}{} encrypted {what}, and nothing in them was read: capture where they are not.",
                self.place(file),
                of(packets, "packet is", "packets are"),
            ),
            [("packets", packets as f64)],
        ))
    }

    fn cut(&self, file: &FileFacts) -> Option<TrustWarning> {
        let packets = notable(file, "truncated")?;
        Some(TrustWarning::new(
            TrustWarningKind::CutTooShort,
            format!(
                "{}{} cut before the end of the headers and not read: capture at least 96 bytes of each (`tcpdump -s 96`).",
                self.place(file),
                of(packets, "packet was", "packets were"),
            ),
            [("packets", packets as f64)],
        ))
    }

    fn left_out(&self, file: &FileFacts) -> Option<TrustWarning> {
        let interfaces = |analysed: bool| {
            let interfaces = file.interfaces.iter();
            interfaces.filter(move |it| it.analysed == analysed && it.packets > 0)
        };
        let packets = interfaces(false).fold(0_u64, |sum, it| sum.saturating_add(it.packets));
        let analysed = match interfaces(true).next() {
            None => "Nothing was analysed".to_owned(),
            Some(_) => format!("Only {} analysed", were(interfaces(true))),
        };
        (packets > 0).then(|| {
            TrustWarning::new(
                TrustWarningKind::InterfacesLeftOut,
                format!(
                    "{}{analysed}; {} left out, with {}. --interface NAME chooses others.",
                    self.place(file),
                    were(interfaces(false)),
                    of(packets, "packet", "packets"),
                ),
                [("packets", packets as f64)],
            )
        })
    }

    fn several_points(&self) -> Option<TrustWarning> {
        let again = self.tally.seen_again;
        let files = self.files.iter();
        let segments: u64 = files.map(|file| file.counts.tcp_segments).sum();
        let interfaces = match self.files {
            [file] => file.interfaces.iter(),
            _ => [].iter(),
        };
        let interfaces = interfaces.filter(|it| it.analysed && it.packets > 0);
        let (points, choice) = match interfaces.clone().count() {
            0 | 1 => (String::new(), ""),
            _ => (format!(" ({})", list(interfaces)), " --interface NAME analyses one interface alone."),
        };
        (again > 0).then(|| {
            TrustWarning::new(
                TrustWarningKind::SeveralPoints,
                format!(
                    "The same packets were captured at several points{points}: {} of {} had been seen before at another point. Each packet counts once, where it was seen first.{choice}",
                    count(again),
                    of(segments, "TCP segment", "TCP segments"),
                ),
                [("segments_again", again as f64), ("segments", segments as f64)],
            )
        })
    }

    fn tunnels(&self) -> Option<TrustWarning> {
        let files = self.outside.unwrap_or(self.files);
        let sum = |of: fn(&FileCounts) -> u64| {
            let counts = files.iter().map(|file| of(&file.counts));
            counts.fold(0, u64::saturating_add)
        };
        let (carrying, outside) = (sum(|file| file.tunnelled_tcp), sum(|file| file.tcp_segments));
        if carrying == 0 || (carrying as f64) < NOTABLE * outside as f64 {
            return None;
        }
        let mut names: Vec<&str> = files.iter().flat_map(|file| file.counts.tunnels().into_keys()).collect();
        names.sort_unstable();
        names.dedup();
        let names = names.join(", ");
        let evidence = [("packets", carrying as f64), ("tcp_segments_outside", outside as f64)];
        Some(match self.outside {
            Some(_) => TrustWarning::new(
                TrustWarningKind::TunnelsRead,
                format!(
                    "All TCP of this capture is inside {names} ({}), so the connections inside were analysed, as with --inner.",
                    of(carrying, "packet", "packets"),
                ),
                evidence,
            ),
            None => TrustWarning::new(
                TrustWarningKind::TunnelsNotRead,
                format!(
                    "{} TCP inside {names}, which was not looked into, beside {} outside: --inner counts both.",
                    of(carrying, "packet has", "packets have"),
                    of(outside, "TCP segment", "TCP segments"),
                ),
                evidence,
            ),
        })
    }
}

/// Names of interfaces, the first ones if they are many.
fn list<'a>(interfaces: impl Iterator<Item = &'a InterfaceFacts>) -> String {
    let mut names: Vec<String> = interfaces.map(InterfaceFacts::label).collect();
    let more = names.len().saturating_sub(NAMED);
    names.truncate(NAMED);
    match more {
        0 => names.join(", "),
        more => format!("{} and {} more", names.join(", "), count(more as u64)),
    }
}

/// Names of interfaces as the subject of a sentence, with its verb.
fn were<'a>(interfaces: impl Iterator<Item = &'a InterfaceFacts> + Clone) -> String {
    match interfaces.clone().count() {
        1 => format!("interface {} was", list(interfaces)),
        _ => format!("interfaces {} were", list(interfaces)),
    }
}

/// Packets of a file skipped for `reason`, if they are a notable share.
fn notable(file: &FileFacts, reason: &str) -> Option<u64> {
    let skipped = file.counts.skipped().get(reason).copied()?;
    (skipped as f64 >= NOTABLE * file.counts.packets as f64).then_some(skipped)
}

/// Sentence about captures without TCP: the packets by kind.
pub(crate) fn no_tcp(captures: &[Capture]) -> String {
    let packets: u64 = captures.iter().map(|capture| capture.packets).sum();
    let sum = |kind: &str| -> u64 {
        let of_one = |capture: &Capture| {
            let counts = [&capture.other, &capture.skipped];
            counts.iter().filter_map(|counts| counts.get(kind)).sum::<u64>()
        };
        captures.iter().map(of_one).sum()
    };
    let kinds: Vec<String> = [
        ("udp", "UDP", "UDP"),
        ("sctp", "SCTP", "SCTP"),
        ("dccp", "DCCP", "DCCP"),
        ("esp", "ESP", "ESP"),
        ("other", "of another IP protocol", "of other IP protocols"),
        ("fragment", "fragment", "fragments"),
        ("not-ip", "not IP", "not IP"),
        ("encrypted", "encrypted", "encrypted"),
        ("truncated", "cut too short", "cut too short"),
        ("malformed", "malformed", "malformed"),
        ("unknown-link", "of a link type that is not read", "of link types that are not read"),
    ]
    .into_iter()
    .map(|(kind, one, several)| (sum(kind), one, several))
    .filter(|(packets, ..)| *packets > 0)
    .map(|(packets, one, several)| of(packets, one, several))
    .collect();
    if packets == 0 {
        return "No packets in this capture.".to_string();
    }
    format!("No TCP in this capture: {}, {}.", of(packets, "packet", "packets"), kinds.join(", "))
}
