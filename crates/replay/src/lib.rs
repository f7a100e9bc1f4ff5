#![doc = include_str!("../README.md")]

use gentle_experiment::{Direction, Flow, Initiator, Scenario};
use gentle_trace::flows::{self, Flows};
use gentle_trace::results::Analysis;
use thiserror::Error;

/// A captured connection as a flow of a scenario.
pub fn flow(captured: &flows::Flow) -> Flow {
    Flow {
        at: captured.start,
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
/// about. What was inferred of them is the first of its assumptions.
///
/// # Errors
/// No connection can be replayed.
pub fn scenario(
    captures: &str,
    collected: Flows,
    analysis: &mut Analysis,
) -> Result<Scenario, NothingToReplay> {
    let flows = collected.finish(analysis);
    let inferred = analysis.flows.take().unwrap_or_default().in_words;
    if flows.is_empty() {
        return Err(NothingToReplay {
            captures: captures.to_owned(),
            reasons: inferred.join(" "),
        });
    }
    let mut scenario = Scenario::replay(captures, flows.iter().map(flow).collect());
    scenario.assumptions.splice(..0, inferred);
    Ok(scenario)
}
