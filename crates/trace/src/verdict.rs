//! The answer in plain words, the most important first.

use crate::results::Analysis;
use crate::words::{count, of, percent, time};

/// What the numbers say.
pub(crate) fn sentences(analysis: &Analysis) -> Vec<String> {
    let mut sentences = Vec::new();
    let handshakes = &analysis.handshakes;
    let segments: u64 = analysis.captures.iter().map(|c| c.tcp_segments).sum();
    if handshakes.attempts == 0 {
        sentences.push(if segments == 0 {
            "No TCP in this capture.".to_string()
        } else {
            format!(
                "No connection attempt in this capture: none of {} is a SYN. It may have begun after the connections did, or have only the servers' side of them.",
                of(segments, "TCP segment", "TCP segments")
            )
        });
    } else {
        loss(analysis, &mut sentences);
        failures(analysis, &mut sentences);
    }
    copies(analysis, &mut sentences);
    others(analysis, &mut sentences);
    if analysis.limits.retired_memory > 0 {
        sentences.push(format!(
            "{} forgotten before their end because of the memory limit: duplicates that came later were not recognised (--memory-limit).",
            of(analysis.limits.retired_memory, "connection was", "connections were"),
        ));
    }
    if analysis.interrupted {
        sentences.push("The analysis was stopped early; this is what had been read.".to_string());
    }
    sentences
}

fn loss(analysis: &Analysis, sentences: &mut Vec<String>) {
    let handshakes = &analysis.handshakes;
    let waiting = &analysis.waiting;
    let attempts = of(
        handshakes.attempts,
        "connection attempt",
        "connection attempts",
    );
    if handshakes.attempts_with_loss == 0 {
        sentences.push(if handshakes.attempts == 1 {
            "The one connection attempt lost no SYN or SYN/ACK.".to_string()
        } else {
            format!("None of {attempts} lost a SYN or SYN/ACK.")
        });
        return;
    }
    let share = handshakes.attempts_with_loss as f64 / handshakes.attempts as f64;
    let mut sentence = format!(
        "{} of {attempts} lost a SYN or SYN/ACK ({})",
        percent(share),
        count(handshakes.attempts_with_loss),
    );
    match waiting.handshake_mean_s {
        Some(mean) => {
            sentence += &format!(
                "; those that succeeded ({}) waited {} on average",
                count(handshakes.successes_with_loss),
                time(mean)
            );
            if let Some(share) = waiting.handshake_share {
                sentence += &format!(
                    "; that is {} of all the time that connections in this capture spent waiting for retransmissions ({} of {})",
                    percent(share),
                    time(waiting.handshake_s),
                    time(waiting.handshake_s + waiting.data_s),
                );
            }
        }
        None => sentence += "; none of those succeeded",
    }
    sentences.push(sentence + ".");
    if let Some(worst) = analysis.top.servers.first() {
        sentences.push(format!(
            "Worst server: {}, {} of {} with a loss, {} lost{}.",
            worst.name,
            count(worst.with_loss),
            of(worst.attempts, "attempt", "attempts"),
            time(worst.time_lost_s),
            if worst.failed_s > 0.0 {
                format!(" and {} waited for nothing", time(worst.failed_s))
            } else {
                String::new()
            }
        ));
    }
}

fn failures(analysis: &Analysis, sentences: &mut Vec<String>) {
    let handshakes = &analysis.handshakes;
    if handshakes.failures == 0 {
        return;
    }
    if handshakes.failures == handshakes.unanswered && handshakes.successes == 0 {
        sentences.push(
            "No SYN was answered: the capture may have only one direction of the traffic."
                .to_string(),
        );
        return;
    }
    let parts: Vec<String> = [
        (handshakes.unanswered, "unanswered"),
        (handshakes.refused, "refused"),
        (handshakes.half_open, "answered but never completed"),
    ]
    .into_iter()
    .filter(|(n, _)| *n > 0)
    .map(|(n, what)| format!("{} {what}", count(n)))
    .collect();
    sentences.push(format!(
        "{} of the attempts failed ({}): {}.",
        percent(handshakes.failures as f64 / handshakes.attempts as f64),
        count(handshakes.failures),
        parts.join(", ")
    ));
}

fn copies(analysis: &Analysis, sentences: &mut Vec<String>) {
    let copies = &analysis.handshakes.capture_duplicates;
    let all = copies.syn + copies.synack + copies.other;
    if all == 0 {
        return;
    }
    sentences.push(format!(
        "{} made by the capture or a switch, not retransmissions ({}, {}, {}): they count as duplicates, but not as losses.",
        of(all, "segment is a copy", "segments are copies"),
        of(copies.syn, "SYN", "SYNs"),
        of(copies.synack, "SYN/ACK", "SYN/ACKs"),
        of(copies.other, "other", "others"),
    ));
}

fn others(analysis: &Analysis, sentences: &mut Vec<String>) {
    let protocols = &analysis.other_protocols;
    for (name, handshakes) in [
        ("QUIC", &protocols.quic),
        ("SCTP", &protocols.sctp),
        ("DCCP", &protocols.dccp),
    ] {
        if let Some(handshakes) = handshakes
            && handshakes.attempts_with_loss > 0
        {
            sentences.push(format!(
                "{name}: {} of {} sent a packet of their handshake again; those that succeeded lost {} to it.",
                count(handshakes.attempts_with_loss),
                of(handshakes.attempts, "connection attempt", "connection attempts"),
                time(handshakes.time_lost_s),
            ));
        }
    }
}
