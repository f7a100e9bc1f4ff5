#![doc = include_str!("../README.md")]

use gentle_experiment::{Direction, Flow, Initiator, Scenario};
use gentle_trace::flows::{self, Flows};
use gentle_trace::results::Analysis;
use thiserror::Error;

/// A captured connection as a flow of a scenario.
pub fn flow(captured: &flows::Flow) -> Flow {
    Flow {
        at: captured.start.since_origin(),
        bytes: captured.bytes,
        rtt: captured.rtt,
        direction: Some(match captured.down {
            true => Direction::Down,
            false => Direction::Up,
        }),
        initiator: Some(match captured.sender_connects {
            true => Initiator::Sender,
            false => Initiator::Receiver,
        }),
    }
}

/// The captures have no connection that can be replayed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{captures}: nothing to compare. {reasons}")]
pub struct NothingToReplay {
    /// Names of the captures.
    pub captures: String,
    /// Why their connections cannot be replayed, in sentences.
    pub reasons: String,
}

/// The scenario of [`Scenario::replay`] with the connections that `collected` has of `captures`, which `analysis` is
/// about. Its first assumptions are the warnings about the captures, and what was inferred of the connections.
///
/// # Errors
/// No connection can be replayed.
pub fn scenario(captures: &str, collected: Flows, analysis: &mut Analysis) -> Result<Scenario, NothingToReplay> {
    let flows = collected.finish(analysis);
    let inferred = analysis.flows.take().unwrap_or_default().in_words;
    let warned = |spoils: bool| {
        let warnings = analysis.warnings.iter();
        let warnings = warnings.filter(move |it| it.kind.spoils_figures() == spoils);
        warnings.map(|it| it.sentence.clone())
    };
    let inferred: Vec<String> = warned(true).chain(inferred).chain(warned(false)).collect();
    if flows.is_empty() {
        let has_tcp = analysis.captures.iter().any(|it| it.tcp_segments > 0);
        let reasons = match has_tcp {
            true => inferred,
            false => without_tcp(analysis),
        };
        return Err(NothingToReplay { captures: captures.to_owned(), reasons: reasons.join(" ") });
    }
    let mut scenario = Scenario::replay(captures, flows.iter().map(flow).collect());
    scenario.assumptions.splice(..0, inferred);
    Ok(scenario)
}

/// Contents of captures without TCP, in sentences.
fn without_tcp(analysis: &Analysis) -> Vec<String> {
    let others = &analysis.other_protocols;
    let attempts: Vec<String> = [(&others.quic, "QUIC"), (&others.sctp, "SCTP"), (&others.dccp, "DCCP")]
        .into_iter()
        .filter_map(|(found, name)| {
            Some(match found.as_ref()?.attempts {
                1 => format!("1 {name} connection"),
                attempts => format!("{attempts} {name} connections"),
            })
        })
        .collect();
    let mut sentences = analysis.verdict.clone();
    if !attempts.is_empty() {
        sentences.push(format!("It has {}.", attempts.join(", ")));
    }
    sentences.push("Only TCP connections can be replayed.".to_owned());
    sentences
}
