#![doc = include_str!("../README.md")]

use gentle_experiment::{Direction, Flow, Initiator, Scenario};
use gentle_trace::flows;
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

/// The scenario of [`Scenario::replay`] with connections of `captures`. `assumptions` are sentences about the captures and
/// inferences about the connections (the first assumptions of the scenario), or reasons for a lack of connections.
///
/// # Errors
/// No connection can be replayed.
pub fn scenario(
    captures: &str,
    connections: &[flows::Flow],
    assumptions: Vec<String>,
) -> Result<Scenario, NothingToReplay> {
    if connections.is_empty() {
        return Err(NothingToReplay { captures: captures.to_owned(), reasons: assumptions.join(" ") });
    }
    let mut scenario = Scenario::replay(captures, connections.iter().map(flow).collect());
    scenario.assumptions.splice(..0, assumptions);
    Ok(scenario)
}
