//! Invariants of an analysis, for any capture.

use crate::capture::open;
use crate::flows::flows_and_check;
use gentle_report::analyze::put_into_words;
use gentle_trace::results::{Analysis, IntervalHistogram};
use gentle_trace::row::Row;
use gentle_trace::{Anonymizer, Control, Options, analyze};
use std::io::Cursor;

/// Analyses uncompressed captures as one trace and checks the results; `None` if one of them is not a capture.
pub fn analyze_and_check(files: &[&[u8]], options: &Options, anonymizer: Option<&Anonymizer>) -> Option<Analysis> {
    let readers: Option<Vec<_>> = files.iter().map(|file| open(Cursor::new(file.to_vec())).ok()).collect();
    let mut rows = Vec::new();
    let mut take = |row: &Row| {
        rows.push(row.clone());
        Ok(())
    };
    let analysis = analyze(readers?, options, anonymizer, Some(&mut take), &Control::default());
    let mut analysis = analysis.expect("damage is a warning, and rows go into memory");
    check(&analysis, options);
    check_rows(&analysis, &rows);
    flows_and_check(&mut analysis, &rows, options, anonymizer);
    put_into_words(&mut analysis);
    let warnings = analysis.warnings.iter().map(|warning| &warning.sentence);
    let filters = analysis.filters.iter().map(|filter| &filter.description);
    let flows = analysis.flows.iter().flat_map(|flows| &flows.in_words);
    assert!(flows.clone().next().is_some());
    assert!(analysis.verdict.iter().chain(warnings).chain(filters).chain(flows).all(|text| !text.is_empty()));
    serde_json::to_vec(&analysis).expect("an analysis is JSON");
    Some(analysis)
}

fn check(analysis: &Analysis, options: &Options) {
    let h = &analysis.handshakes;
    assert_eq!(h.successes + h.failures, h.attempts);
    let o = &analysis.outcomes;
    let apart =
        [&o.blackholed, &o.dead, &o.refused, &o.rejected, &o.challenged, &o.elsewhere, &o.scans, &o.floods, &o.unseen];
    let failed: u64 = apart.iter().map(|apart| apart.attempts).sum();
    assert_eq!(o.answered + failed + o.seen_twice, h.attempts);
    assert_eq!(o.completed + o.half_open, o.answered);
    assert!(h.successes <= o.completed + o.seen_twice);
    assert!(o.reset.attempts + o.abandoned.attempts <= o.half_open);
    assert!(o.with_loss <= o.answered && o.completed_with_loss <= o.with_loss);
    assert!(o.one_sided <= o.completed && o.late + o.completed_with_loss <= o.completed);
    assert!(o.repeats.total() <= h.duplicate_syn + h.duplicate_synack);
    assert_eq!(h.successes_with_duplicate_syn + h.failures_with_duplicate_syn, h.attempts_with_duplicate_syn);
    assert!(h.attempts_with_duplicate_syn <= h.attempts.min(h.duplicate_syn));
    assert!(h.successes_with_duplicate_syn <= h.successes);
    assert!(h.outside_standard_intervals <= h.attempts_with_duplicate_syn);
    assert!(h.successes_with_retransmission <= h.attempts_with_retransmission.min(h.successes));
    assert!(h.attempts_with_retransmission <= h.attempts);
    assert!(h.capture_duplicates.syn <= h.duplicate_syn);
    assert!(h.capture_duplicates.synack <= h.duplicate_synack);

    for (histogram, duplicates) in [
        (&analysis.intervals.syn, h.duplicate_syn - h.capture_duplicates.syn),
        (&analysis.intervals.synack, h.duplicate_synack - h.capture_duplicates.synack),
    ] {
        assert_eq!(histogram.total, duplicates);
        check_histogram(histogram);
    }

    let r = &analysis.retransmissions;
    assert!(r.spurious <= r.retransmitted + r.late);
    assert!(r.retransmitted + r.late + r.reordered <= r.data_segments);

    let mut segments = 0;
    for capture in &analysis.captures {
        let once = |name| capture.other.get(name).copied().unwrap_or(0);
        let skipped: u64 = capture.skipped.values().sum();
        let fragments = once("fragment");
        // A reassembled packet is counted under its protocol, and its fragments as fragments.
        let counted = skipped + capture.other.values().sum::<u64>() + capture.tcp_segments;
        assert!(counted >= capture.packets && counted - fragments <= capture.packets);
        segments += capture.tcp_segments;
    }

    let bins = &analysis.timeline.bins;
    assert_eq!(bins.iter().map(|bin| bin.attempts).sum::<u64>(), h.attempts);
    let wire_bytes = analysis.captures.iter().map(|capture| capture.wire_bytes);
    assert_eq!(bins.iter().map(|bin| bin.wire_bytes).sum::<u64>(), wire_bytes.sum::<u64>());
    assert!(bins.iter().map(|bin| bin.segments).sum::<u64>() <= segments);

    for direction in &analysis.directions {
        for share in [
            direction.packet_retransmission_probability,
            direction.syn_share_of_retransmissions,
            direction.syn_retransmission_probability,
        ] {
            assert!(share.is_none_or(|share| (0.0..=1.0).contains(&share)));
        }
        assert!(direction.rate_bps.is_finite() && direction.rate_bps >= 0.0);
        assert!(direction.utilization.is_none_or(|u| u.is_finite() && u >= 0.0));
    }
    let waiting = &analysis.waiting;
    let lost = bins.iter().map(|bin| bin.time_lost_s);
    for seconds in
        [waiting.handshake_s, waiting.loss_s, o.deferred_s, waiting.data_s, waiting.failed_s, analysis.duration_s]
            .into_iter()
            .chain(lost)
    {
        assert!(seconds.is_finite() && seconds >= 0.0);
    }
    assert!(analysis.limits.peak_bytes <= options.memory_limit.max(Options::LEAST_MEMORY));
    for list in [&analysis.top.servers, &analysis.top.clients, &analysis.top.prefixes] {
        assert!(list.len() <= options.top);
    }
    assert!(!analysis.findings.is_empty());
}

fn check_histogram(histogram: &IntervalHistogram) {
    let near = histogram.standard.iter().map(|standard| standard.count);
    assert_eq!(near.sum::<u64>() + histogram.outside, histogram.total);
    let binned = histogram.bins.iter().map(|bin| bin.count);
    assert_eq!(binned.sum::<u64>(), histogram.total);
    assert!(histogram.bins.iter().all(|bin| bin.from_s < bin.to_s && bin.count > 0));
    assert!(histogram.bins.windows(2).all(|pair| pair[0].to_s <= pair[1].from_s));
}

fn check_rows(analysis: &Analysis, rows: &[Row]) {
    let closes = analysis.closes;
    let closed = closes.fin + closes.rst + closes.silent + closes.open;
    let established = rows.iter().filter(|row| row.established).count() as u64;
    assert_eq!(closed + closes.never_established, rows.len() as u64);
    assert_eq!(established, analysis.handshakes.successes);
    for row in rows {
        for side in [row.from_client, row.from_server] {
            assert!(side.retransmissions <= side.segments);
        }
    }
    let segments: u64 = rows.iter().map(|row| row.from_client.segments + row.from_server.segments).sum();
    let captured: u64 = analysis.captures.iter().map(|capture| capture.tcp_segments).sum();
    assert!(segments <= captured);
}

/// Checks invariants of the QUIC handshakes in a capture of UDP datagrams only.
pub fn check_quic(analysis: &Analysis) {
    let Some(quic) = &analysis.other_protocols.quic else {
        return;
    };
    assert!(quic.successes <= quic.attempts && quic.attempts_with_loss <= quic.attempts);
    assert!(quic.attempts <= analysis.captures[0].packets);
    assert!(quic.time_lost_s.is_finite() && quic.time_lost_s >= 0.0);
    assert_eq!(quic.versions.values().sum::<u64>(), quic.attempts);
}
