//! Next steps after an analysis: what to do about a cause or a finding, and the command that shows more.

use gentle_trace::results::{Analysis, Cause, CauseKind, Finding, LossDirection};

/// Next steps, each once: about the capture, then about the causes in their order, of attempts and of lookups. The causes have their text.
pub(super) fn steps(analysis: &Analysis) -> Vec<String> {
    let of_findings = analysis.findings.iter().filter_map(of_finding).map(str::to_owned);
    let of_lookups = analysis.lookups.iter().flat_map(|lookups| &lookups.causes);
    let of_causes = analysis.causes.iter().chain(of_lookups).filter(|cause| has_step(cause)).map(of_cause);
    let mut steps: Vec<String> = Vec::new();
    for step in of_findings.chain(of_causes) {
        if !steps.contains(&step) {
            steps.push(step);
        }
    }
    steps
}

/// Whether operators can do something about the cause.
fn has_step(cause: &Cause) -> bool {
    !matches!(cause.kind, CauseKind::Scan)
}

fn of_cause(cause: &Cause) -> String {
    let name = super::cause_name(cause.kind);
    let direction = match cause.direction {
        Some(LossDirection::ToServer) => " toward the server",
        Some(LossDirection::ToClient) => " toward the client",
        Some(LossDirection::Both) => " in both directions",
        None => "",
    };
    format!("{name}{direction}: {} Check: {}", cause.remedy, cause.check)
}

fn of_finding(finding: &Finding) -> Option<&'static str> {
    match finding {
        Finding::NoSyn { .. } => Some("Start the capture before the connections start."),
        Finding::OneSided { .. } | Finding::NoneAnswered { no_server: true, .. } => {
            Some("Capture both directions, at a point that both pass.")
        }
        _ => None,
    }
}
