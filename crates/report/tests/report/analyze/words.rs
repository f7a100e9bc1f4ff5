//! Sentences of findings.

use super::fixture::rich;
use gentle_report::analyze::{assumptions, put_into_words};
use gentle_trace::results::{Analysis, CauseKind, CostGap, Finding, Flows, Interface, TrustWarning, TrustWarningKind};
use std::collections::BTreeMap;

/// An analysis in words.
fn worded(mut analysis: Analysis) -> Analysis {
    put_into_words(&mut analysis);
    analysis
}

#[test]
fn every_finding_is_a_sentence() {
    insta::assert_snapshot!(worded(rich()).verdict.join("\n"));
}

#[test]
fn all_attempts_with_a_loss_are_all() {
    let sentence = |answered, with_loss| {
        let mut analysis = rich();
        for finding in &mut analysis.findings {
            if let Finding::Loss { answered: all, with_loss: lost, .. } = finding {
                (*all, *lost) = (answered, with_loss);
            }
        }
        worded(analysis).verdict.into_iter().find(|sentence| sentence.contains("(1.01 s of ")).unwrap()
    };
    assert!(sentence(30, 30).starts_with("All 30 connection attempts lost a SYN or SYN/ACK"), "{}", sentence(30, 30));
    assert!(sentence(30, 3).starts_with("10 % of 30 connection attempts (3) lost"), "{}", sentence(30, 3));
}

#[test]
fn every_cause_has_evidence_a_remedy_and_a_check() {
    let of_kind = |kind| {
        let mut analysis = rich();
        analysis.causes.truncate(1);
        analysis.causes[0].kind = kind;
        worded(analysis)
    };
    let all = CauseKind::ALL.map(of_kind);
    let line = |analysis: &Analysis| {
        let cause = &analysis.causes[0];
        assert!(!cause.remedy.is_empty() && !cause.check.is_empty(), "{:?}", cause.kind);
        format!("{:?}: {} {} {}", cause.kind, cause.sentence, cause.remedy, cause.check)
    };
    insta::assert_snapshot!(all.iter().map(line).collect::<Vec<_>>().join("\n"));
}

#[test]
fn a_middlebox_that_explains_every_loss_needs_no_other_queue() {
    let mut analysis = rich();
    analysis.causes.truncate(1);
    analysis.causes[0].kind = CauseKind::DroppedOptions;
    let steps = worded(analysis).next_steps.join(" ");
    assert!(steps.contains("No queue scheme helps") && !steps.contains("gentle qdisc"), "{steps}");
}

/// Warning of a kind about a file, with evidence.
fn warning<const N: usize>(
    kind: TrustWarningKind,
    file: Option<usize>,
    evidence: [(&'static str, f64); N],
) -> TrustWarning {
    TrustWarning { kind, file, sentence: String::new(), evidence: BTreeMap::from(evidence) }
}

fn warnings() -> Vec<TrustWarning> {
    use TrustWarningKind as Kind;
    let (first, second) = (Some(0), Some(1));
    vec![
        warning(Kind::DroppedByCapture, first, [("packets", 9_991.0), ("of", 10_000.0), ("share", 0.9991)]),
        warning(Kind::MissingPackets, None, [("stretches", 5.0), ("data_segments", 800.0), ("share", 0.006)]),
        warning(Kind::TimesApart, first, [("packets", 1.0), ("distance_s", 60.0 * 365.25 * 86_400.0)]),
        warning(Kind::TimesApart, second, [("packets", 2.0), ("distance_s", 3.0 * 86_400.0)]),
        warning(Kind::TimeRunsBackwards, second, [("packets", 3.0), ("share", 0.02), ("furthest_s", 0.15)]),
        warning(
            Kind::AnswersBeforeQuestions,
            None,
            [("handshake_segments", 1.0), ("data_segments", 90.0), ("offset_s", 0.02)],
        ),
        warning(Kind::LinkTypeNotRead, first, [("packets", 1.0), ("link_type", 189.0)]),
        warning(Kind::LinkTypeNotRead, first, [("packets", 2.0), ("link_type", 65_000.0)]),
        warning(Kind::LinkTypeNotRead, first, [("packets", 2.0), ("link_type", -1.0)]),
        warning(Kind::Encrypted, first, [("packets", 7.0), ("at_link", 7.0), ("at_ip", 0.0)]),
        warning(Kind::Encrypted, first, [("packets", 7.0), ("at_link", 0.0), ("at_ip", 7.0)]),
        warning(Kind::Encrypted, first, [("packets", 7.0), ("at_link", 3.0), ("at_ip", 4.0)]),
        warning(Kind::CutTooShort, second, [("packets", 1.0)]),
        warning(Kind::InterfacesLeftOut, first, [("packets", 11.0)]),
        warning(Kind::InterfacesLeftOut, second, [("packets", 11.0)]),
        warning(Kind::SeveralPoints, None, [("segments_again", 400.0), ("segments", 800.0)]),
        warning(Kind::TunnelsNotRead, None, [("packets", 1.0), ("tcp_segments_outside", 30.0)]),
        warning(Kind::TunnelsRead, None, [("packets", 31.0), ("tcp_segments_outside", 0.0)]),
    ]
}

/// The interfaces numbered from 0 to `n`, of which the first `analysed` were analysed.
fn interfaces(n: u32, analysed: u32) -> Vec<Interface> {
    let interface = |number| Interface {
        number,
        name: (number % 2 == 0).then(|| format!("eth{number}")),
        description: None,
        packets: 11,
        analysed: number < analysed,
    };
    (0..n).map(interface).collect()
}

fn sentences(analysis: Analysis) -> String {
    let warnings = worded(analysis).warnings.into_iter();
    warnings.map(|warning| warning.sentence).collect::<Vec<_>>().join("\n")
}

#[test]
fn every_warning_is_a_sentence() {
    let mut several = Analysis { warnings: warnings(), ..rich() };
    several.captures[0].interfaces = interfaces(2, 1);
    several.captures[1].interfaces = interfaces(12, 0);
    let mut alone = several.clone();
    alone.captures.truncate(1);
    alone.warnings.retain(|warning| warning.file != Some(1));
    alone.captures[0].interfaces = interfaces(12, 10);
    insta::assert_snapshot!(format!("{}\n\nOne capture:\n{}", sentences(several), sentences(alone)));
}

#[test]
fn the_capture_point_and_gaps_are_sentences() {
    let mut text = String::new();
    for side in ["client", "server", "middle", "unknown"] {
        let mut analysis = rich();
        analysis.vantage.side = side;
        let vantage = worded(analysis).vantage;
        text += &format!("{side}\n{}\n{}\n", vantage.duplicate_syn_means, vantage.duplicate_synack_means);
    }
    text += &worded(rich()).vantage.evidence.join("\n");
    let mut analysis = rich();
    let cost = analysis.expected_cost.as_mut().unwrap();
    cost.gaps =
        vec![CostGap::Middlebox, CostGap::FewLosses, CostGap::UnknownRto, CostGap::NoRoundTrip, CostGap::NoData];
    let analysis = worded(analysis);
    text += &format!("\n{}\n", analysis.expected_cost.unwrap().not_computed.join("\n"));
    text += &analysis.filters.iter().map(|filter| filter.description.as_str()).collect::<Vec<_>>().join("\n");
    insta::assert_snapshot!(text);
}

fn flows() -> Flows {
    Flows {
        connections: 48_210,
        flows: 40_212,
        left_out: BTreeMap::from([("no-syn", 120), ("not-established", 1), ("not-across", 2), ("no-data", 7_875)]),
        payload_bytes: 1_000,
        flow_bytes: 910,
        other_way_bytes: 20,
        open_at_end: 1,
        rtt_own: 40_000,
        rtt_of_server: 1,
        rtt_of_trace: 211,
        ..Flows::default()
    }
}

#[test]
fn flows_are_described() {
    let text = |flows: Flows| {
        let analysis = worded(Analysis { flows: Some(flows), ..rich() });
        assumptions(&analysis).join("\n") + "\n\n"
    };
    let none = Flows { connections: 1, left_out: BTreeMap::from([("too-many", 1)]), ..Flows::default() };
    let unknown = Flows { connections: 1, flows: 1, rtt_unknown: 1, local: true, ..flows() };
    let mut without_tcp = Analysis { flows: Some(Flows::default()), ..rich() };
    without_tcp.captures.iter_mut().for_each(|capture| capture.tcp_segments = 0);
    without_tcp.findings.truncate(2);
    let without_tcp = assumptions(&worded(without_tcp)).join("\n");
    insta::assert_snapshot!(text(flows()) + &text(none) + &text(unknown) + &without_tcp);
}
