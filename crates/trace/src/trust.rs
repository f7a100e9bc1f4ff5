//! Reasons not to trust a capture, with evidence: missing packets, wrong timestamps, traffic that was not analysed.

use crate::decode::FileCounts;
use crate::findings::FileFacts;
use crate::merged::MergedCounts;
use crate::results::{TrustWarning, TrustWarningKind};
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
        let each = |of: fn(&FileFacts) -> Option<TrustWarning>| {
            let files = self.files.iter().enumerate();
            files.filter_map(move |(file, facts)| Some(TrustWarning { file: Some(file), ..of(facts)? }))
        };
        let mut warnings = Vec::new();
        warnings.extend(each(dropped));
        warnings.extend(each(outliers));
        warnings.extend(each(backwards));
        warnings.extend(self.answers_first());
        if warnings.is_empty() {
            // Each of the warnings above would explain missing packets.
            warnings.extend(self.missing());
        }
        warnings.extend(each(unread_link));
        warnings.extend(each(encrypted));
        warnings.extend(each(cut));
        warnings.extend(each(left_out));
        warnings.extend(each(merged));
        warnings.extend(self.several_points());
        warnings.extend(self.tunnels());
        warnings
    }

    fn missing(&self) -> Option<TrustWarning> {
        let unseen = self.tally.order.unseen;
        let segments = self.tally.retransmissions.data_segments;
        let share = unseen as f64 / segments.saturating_add(unseen).max(1) as f64;
        let evidence = [("stretches", unseen as f64), ("data_segments", segments as f64), ("share", share)];
        let is_notable = unseen >= FEW && share >= MISSING;
        is_notable.then(|| TrustWarning::new(TrustWarningKind::MissingPackets, evidence))
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
        let evidence =
            [("handshake_segments", handshakes.n as f64), ("data_segments", data.n as f64), ("offset_s", gap)];
        let is_notable = gap >= HARMLESS_DISORDER.as_secs_f64();
        is_notable.then(|| TrustWarning::new(TrustWarningKind::AnswersBeforeQuestions, evidence))
    }

    fn several_points(&self) -> Option<TrustWarning> {
        let again = self.tally.seen_again;
        let segments: u64 = self.files.iter().map(|file| file.counts.tcp_segments).sum();
        let evidence = [("segments_again", again as f64), ("segments", segments as f64)];
        (again > 0).then(|| TrustWarning::new(TrustWarningKind::SeveralPoints, evidence))
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
        let kind = match self.outside {
            Some(_) => TrustWarningKind::TunnelsRead,
            None => TrustWarningKind::TunnelsNotRead,
        };
        Some(TrustWarning::new(kind, [("packets", carrying as f64), ("tcp_segments_outside", outside as f64)]))
    }
}

fn dropped(file: &FileFacts) -> Option<TrustWarning> {
    let (dropped, received) = (file.dropped, file.received);
    // Without such statistics: packets in the file plus packets dropped.
    let all = match received {
        0 => file.counts.packets.saturating_add(dropped),
        received => received.max(dropped),
    };
    let share = dropped as f64 / all.max(1) as f64;
    let evidence = [("packets", dropped as f64), ("of", all as f64), ("share", share)];
    (share >= MISSING).then(|| TrustWarning::new(TrustWarningKind::DroppedByCapture, evidence))
}

fn outliers(file: &FileFacts) -> Option<TrustWarning> {
    let outliers = file.counts.times.outliers()?;
    let evidence = [
        ("packets", outliers.packets as f64),
        ("first_s", outliers.time.as_secs_f64()),
        ("distance_s", outliers.distance.as_secs_f64()),
    ];
    Some(TrustWarning::new(TrustWarningKind::TimesApart, evidence))
}

fn backwards(file: &FileFacts) -> Option<TrustWarning> {
    let (packets, furthest) = file.counts.times.backwards();
    let share = packets as f64 / file.counts.packets.max(1) as f64;
    if furthest < CLOCK_STEP && !(furthest > HARMLESS_DISORDER && share >= NOTABLE) {
        return None;
    }
    let evidence = [("packets", packets as f64), ("share", share), ("furthest_s", furthest.as_secs_f64())];
    Some(TrustWarning::new(TrustWarningKind::TimeRunsBackwards, evidence))
}

fn unread_link(file: &FileFacts) -> Option<TrustWarning> {
    let packets = notable(file, "unknown-link")?;
    let number = file.unread_link.map_or(-1.0, f64::from);
    Some(TrustWarning::new(TrustWarningKind::LinkTypeNotRead, [("packets", packets as f64), ("link_type", number)]))
}

fn encrypted(file: &FileFacts) -> Option<TrustWarning> {
    let at_link = notable(file, "encrypted");
    let esp = file.counts.other().get("esp").copied();
    let at_ip = esp.filter(|&packets| packets as f64 >= NOTABLE * file.counts.packets as f64);
    at_link.or(at_ip)?;
    let (at_link, at_ip) = (at_link.unwrap_or(0), at_ip.unwrap_or(0));
    let evidence = [("packets", (at_link + at_ip) as f64), ("at_link", at_link as f64), ("at_ip", at_ip as f64)];
    Some(TrustWarning::new(TrustWarningKind::Encrypted, evidence))
}

fn cut(file: &FileFacts) -> Option<TrustWarning> {
    let packets = notable(file, "truncated")?;
    Some(TrustWarning::new(TrustWarningKind::CutTooShort, [("packets", packets as f64)]))
}

fn left_out(file: &FileFacts) -> Option<TrustWarning> {
    let left_out = file.interfaces.iter().filter(|interface| !interface.analysed);
    let packets = left_out.fold(0_u64, |sum, interface| sum.saturating_add(interface.packets));
    (packets > 0).then(|| TrustWarning::new(TrustWarningKind::InterfacesLeftOut, [("packets", packets as f64)]))
}

fn merged(file: &FileFacts) -> Option<TrustWarning> {
    let MergedCounts { segments, largest, limit, .. } = file.counts.merged;
    let all = file.counts.tcp_segments;
    let evidence = [
        ("segments", segments as f64),
        ("of", all as f64),
        ("largest_bytes", f64::from(largest)),
        ("mss_bytes", f64::from(limit)),
    ];
    let is_notable = segments > 0 && segments as f64 >= NOTABLE * all as f64;
    is_notable.then(|| TrustWarning::new(TrustWarningKind::MergedSegments, evidence))
}

/// Packets of a file skipped for `reason`, if they are a notable share.
fn notable(file: &FileFacts, reason: &str) -> Option<u64> {
    let skipped = file.counts.skipped().get(reason).copied()?;
    (skipped as f64 >= NOTABLE * file.counts.packets as f64).then_some(skipped)
}
