//! Conversion of a trace's flows for the simulator.

use gentle_experiment::{Direction, Flow, Initiator};
use gentle_trace::flows;

pub(super) fn flow(flow: &flows::Flow) -> Flow {
    Flow {
        at: flow.start,
        bytes: flow.bytes,
        rtt: flow.rtt,
        direction: Some(match flow.down {
            true => Direction::Down,
            false => Direction::Up,
        }),
        initiator: Some(match flow.sender_connects {
            true => Initiator::Sender,
            false => Initiator::Receiver,
        }),
    }
}
