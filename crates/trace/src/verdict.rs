//! Verdict of an analysis: its findings, most important first.

use crate::results::{
    Analysis, Capture, CauseKind, DataWait, DroppedFor, ExpectedCost, FailureReason, Finding, Name, Waits,
};
use std::collections::BTreeMap;

/// Smallest mean wait of a connection for retransmitted data that is reported where no handshake packet was lost, seconds.
const NOTABLE_WAIT_S: f64 = 0.01;

/// Findings of the verdict.
pub(crate) fn findings(analysis: &Analysis) -> Vec<Finding> {
    let warned = |spoils: bool| {
        let warnings = analysis.warnings.iter().enumerate();
        let chosen = warnings.filter(move |(_, warning)| warning.kind.spoils_figures() == spoils);
        chosen.map(|(warning, _)| Finding::Warning { warning })
    };
    let mut findings: Vec<Finding> = warned(true).collect();
    if analysis.handshakes.attempts == 0 {
        findings.push(nothing(analysis));
        findings.extend(slow_lookups(analysis));
    } else {
        one_sided(analysis, &mut findings);
        loss(analysis, &mut findings);
        findings.extend(slow_lookups(analysis));
        dropped_for(analysis, &mut findings);
        findings.extend(analysis.expected_cost.as_ref().and_then(expected_cost));
        without_loss(analysis, &mut findings);
        failures(analysis, &mut findings);
    }
    findings.extend(warned(false));
    copies(analysis, &mut findings);
    others(analysis, &mut findings);
    let connections = analysis.limits.retired_memory;
    findings.extend((connections > 0).then_some(Finding::Evicted { connections }));
    findings.extend(analysis.interrupted.then_some(Finding::Interrupted));
    findings
}

/// Finding about a trace without an attempt.
fn nothing(analysis: &Analysis) -> Finding {
    let captures = &analysis.captures;
    let segments: u64 = captures.iter().map(|capture| capture.tcp_segments).sum();
    if segments == 0 {
        let packets = captures.iter().map(|capture| capture.packets).sum();
        return Finding::NoTcp { packets, kinds: kinds(captures) };
    }
    let (outcomes, handshakes) = (&analysis.outcomes, &analysis.handshakes);
    Finding::NoSyn {
        segments,
        answered: outcomes.without_syn,
        answered_again: outcomes.without_syn_again,
        synacks_again: handshakes.duplicate_synack.saturating_sub(handshakes.capture_duplicates.synack),
    }
}

/// Packets other than TCP by kind.
fn kinds(captures: &[Capture]) -> BTreeMap<Name, u64> {
    let mut kinds = BTreeMap::new();
    for (kind, packets) in captures.iter().flat_map(|capture| capture.other.iter().chain(&capture.skipped)) {
        *kinds.entry(*kind).or_default() += packets;
    }
    kinds
}

/// SYN/ACKs and SYNs that were not captured.
fn one_sided(analysis: &Analysis, findings: &mut Vec<Finding>) {
    let outcomes = &analysis.outcomes;
    if outcomes.one_sided > 0 {
        findings.push(Finding::OneSided { attempts: outcomes.one_sided, completed: outcomes.completed });
    }
    if outcomes.without_syn > 0 {
        let (connections, again) = (outcomes.without_syn, outcomes.without_syn_again);
        findings.push(Finding::WithoutSyn { connections, again });
    }
}

/// Lost SYNs and SYN/ACKs.
fn loss(analysis: &Analysis, findings: &mut Vec<Finding>) {
    let (outcomes, waiting) = (&analysis.outcomes, &analysis.waiting);
    let (answered, attempts) = (outcomes.answered, analysis.handshakes.attempts);
    let all_answered = answered + outcomes.seen_twice == attempts;
    if answered == 0 {
        findings.push(Finding::NoneAnswered { attempts, no_server: outcomes.dead.attempts == attempts });
        return;
    }
    if outcomes.with_loss == 0 {
        findings.push(Finding::NoLoss { answered, all_answered, data_wait: data_wait(analysis) });
        return;
    }
    findings.push(Finding::Loss {
        answered,
        all_answered,
        with_loss: outcomes.with_loss,
        completed_with_loss: outcomes.completed_with_loss,
        mean_wait_s: waiting.loss_mean_s,
        wait_s: waiting.loss_s,
        all_waits_s: waiting.handshake_s + waiting.data_s,
    });
    let worst = analysis.top.servers.iter().find(|server| server.with_loss > 0);
    findings.extend(worst.map(|worst| Finding::WorstServer {
        name: worst.name.clone(),
        answered: worst.answered,
        with_loss: worst.with_loss,
        time_lost_s: worst.time_lost_s,
    }));
}

/// Waiting for retransmitted data, if it is considerable.
fn data_wait(analysis: &Analysis) -> Option<DataWait> {
    let waited_s = analysis.waiting.data_s;
    let mean_s = waited_s / analysis.outcomes.completed.max(1) as f64;
    let again = &analysis.retransmissions;
    let before_capture_point = again.late > again.retransmitted;
    (mean_s >= NOTABLE_WAIT_S).then_some(DataWait { waited_s, mean_s, before_capture_point })
}

/// SYNs that a middlebox drops for what they carry.
fn dropped_for(analysis: &Analysis, findings: &mut Vec<Finding>) {
    let all = &analysis.outcomes.dropped_for;
    // Data in a SYN are part of Fast Open.
    let fast_open = all.iter().find(|it| it.name == "fast-open");
    let is_named =
        |dropped: &&DroppedFor| dropped.name != "data" || fast_open.is_none_or(|it| it.attempts < dropped.attempts);
    findings.extend(all.iter().filter(is_named).cloned().map(Finding::DroppedFor));
}

/// Cost of handshake loss by the response-time model.
fn expected_cost(cost: &ExpectedCost) -> Option<Finding> {
    Some(Finding::ExpectedCost {
        handshake_loss: cost.handshake_loss,
        expected_wait_s: cost.expected_wait_s?,
        measured_wait_s: cost.measured_wait_s.mean?,
    })
}

/// Retransmissions without a loss in the network.
fn without_loss(analysis: &Analysis, findings: &mut Vec<Finding>) {
    let it = &analysis.outcomes;
    if it.late > 0 {
        findings.push(Finding::Late { attempts: it.late });
    }
    type Of = fn(Waits) -> Finding;
    // Of servers next to the capture point whose data show that the path in between lost the packets, none.
    let deferred = analysis.causes.iter().filter(|cause| {
        use CauseKind::{Deferred, DeferredAccept, ListenQueue, NewConnectionsDropped};
        matches!(cause.kind, Deferred | DeferredAccept | ListenQueue | NewConnectionsDropped)
    });
    let deferred = deferred.map(|cause| cause.group.attempts).sum::<u64>().min(it.deferred);
    let kinds: [(Of, _, _); 5] = [
        (Finding::Deferred, deferred, it.deferred_s),
        (Finding::PortInUse, it.completed_after_challenge, it.completed_after_challenge_s),
        (Finding::FirstRefused, it.completed_after_refusal, it.completed_after_refusal_s),
        (Finding::FirstReset, it.completed_after_reset, it.completed_after_reset_s),
        (Finding::HeldUp, it.held, it.held_s),
    ];
    let found = kinds.into_iter().filter(|(_, attempts, _)| *attempts > 0);
    findings.extend(found.map(|(kind, attempts, waited_s)| kind(Waits { attempts, waited_s })));
}

/// Attempts that were not completed, by reason.
fn failures(analysis: &Analysis, findings: &mut Vec<Finding>) {
    let it = &analysis.outcomes;
    let by_rst = it.reset.attempts + it.abandoned.attempts;
    let attempts = it.half_open.saturating_sub(by_rst);
    findings.extend((attempts > 0).then_some(Finding::NotContinued { attempts }));
    let reasons = [
        (FailureReason::Abandoned, &it.abandoned),
        (FailureReason::Reset, &it.reset),
        (FailureReason::Challenged, &it.challenged),
        (FailureReason::Elsewhere, &it.elsewhere),
        (FailureReason::Blackholed, &it.blackholed),
        (FailureReason::Dead, &it.dead),
        (FailureReason::Refused, &it.refused),
        (FailureReason::Rejected, &it.rejected),
        (FailureReason::Unseen, &it.unseen),
        (FailureReason::Scans, &it.scans),
        (FailureReason::Floods, &it.floods),
    ];
    let found = reasons.into_iter().filter(|(_, group)| group.attempts > 0);
    findings.extend(found.map(|(reason, group)| Finding::Failed { reason, group: group.clone() }));
    let waited_s = analysis.waiting.failed_s;
    findings.extend((waited_s > 0.0).then_some(Finding::FailedWait { waited_s }));
}

/// Copies made by the capture.
fn copies(analysis: &Analysis, findings: &mut Vec<Finding>) {
    let attempts = analysis.outcomes.seen_twice;
    findings.extend((attempts > 0).then_some(Finding::SeenTwice { attempts }));
    let copies = analysis.handshakes.capture_duplicates;
    findings.extend((copies.syn + copies.synack + copies.other > 0).then_some(Finding::Copies(copies)));
}

/// Lookups that delayed the connections after them.
fn slow_lookups(analysis: &Analysis) -> Option<Finding> {
    let found = analysis.lookups.as_ref()?;
    let causes = &found.causes;
    let slow: u64 = causes.iter().map(|cause| cause.group.attempts).sum();
    let most = causes.iter().flat_map(|cause| &cause.group.most).max_by_key(|party| party.attempts)?;
    Some(Finding::SlowLookups {
        lookups: found.answered.saturating_add(found.unanswered),
        repeated: slow.saturating_sub(found.unanswered),
        unanswered: found.unanswered,
        waited_s: causes.iter().map(|cause| cause.group.waited_s).sum(),
        server: most.name.clone(),
    })
}

/// Losses in handshakes of other protocols.
fn others(analysis: &Analysis, findings: &mut Vec<Finding>) {
    let protocols = &analysis.other_protocols;
    for (protocol, found) in [("quic", &protocols.quic), ("sctp", &protocols.sctp), ("dccp", &protocols.dccp)] {
        if let Some(found) = found.as_ref().filter(|found| found.attempts_with_loss > 0) {
            findings.push(Finding::OtherProtocol {
                protocol,
                attempts: found.attempts,
                with_loss: found.attempts_with_loss,
                time_lost_s: found.time_lost_s,
            });
        }
    }
}
