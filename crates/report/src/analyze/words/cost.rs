//! Cost of handshake loss by the response-time model.

use crate::format::{count, percent, time};
use gentle_trace::results::{CostGap, CostOfSize, ExpectedCost};

/// Sentence about expected and measured wait per connection, seconds, at a probability of handshake loss.
pub(super) fn sentence(cost: &ExpectedCost, handshake_loss: f64, expected_s: f64, measured_s: f64) -> String {
    let mut rtos: Vec<(f64, f64)> = Vec::new();
    for rto in &cost.initial_rtos {
        match rtos.iter_mut().find(|(s, _)| *s == rto.initial_rto_s) {
            Some((_, share)) => *share += rto.share,
            None => rtos.push((rto.initial_rto_s, rto.share)),
        }
    }
    let rtos = match rtos[..] {
        [(only, _)] => format!("an initial RTO of {only} s"),
        _ => {
            let each = rtos.iter().map(|(s, share)| format!("{s} s ({})", percent(*share)));
            format!("initial RTOs of {}", each.collect::<Vec<_>>().join(" and "))
        }
    };
    let mut sentence = format!(
        "By the response-time model, losing {} of the handshake attempts at {rtos} costs {} per connection on average; {} was measured",
        percent(handshake_loss),
        time(expected_s),
        time(measured_s),
    );
    if let [shortest, .., longest] = &cost.sizes[..] {
        sentence += &format!(
            ". That is {} of the response time of connections with {}, {} of those with {}",
            percent(shortest.expected_share),
            segments(shortest),
            percent(longest.expected_share),
            segments(longest),
        );
    }
    sentence + "."
}

/// Range of sizes in words.
fn segments(size: &CostOfSize) -> String {
    match size.max_segments {
        Some(max) => format!("{} to {} segments", count(size.min_segments), count(max)),
        None => format!("more than {} segments", count(size.min_segments - 1)),
    }
}

/// Sentence about a part without a value.
pub(super) fn gap(gap: CostGap) -> &'static str {
    match gap {
        CostGap::Middlebox => {
            "No expected wait: a middlebox drops every SYN with certain options or data, and the model assumes independent losses."
        }
        CostGap::FewLosses => "No expected wait: fewer than ten connections lost a SYN or SYN/ACK.",
        CostGap::UnknownRto => {
            "No expected wait: no interval between SYNs or SYN/ACKs after a loss fits a known initial RTO."
        }
        CostGap::NoRoundTrip => {
            "No response times: no round-trip time was measured, because no handshake without a duplicate was captured in both directions."
        }
        CostGap::NoData => "No loss of data: no segment with data or FIN was captured.",
    }
}
