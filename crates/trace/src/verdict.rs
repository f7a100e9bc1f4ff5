//! Verdict of an analysis in sentences, most important first.

use crate::format::{count, of, percent, time};
use crate::results::{Analysis, AttemptGroup, CostOfSize, DroppedFor, ExpectedCost};
use crate::trust;

/// Smallest mean wait of a connection for retransmitted data that is reported where no handshake packet was lost, seconds.
const NOTABLE_WAIT_S: f64 = 0.01;

/// Sentences of the verdict.
pub(crate) fn sentences(analysis: &Analysis) -> Vec<String> {
    let warned = |spoils: bool| {
        let warnings = analysis.warnings.iter();
        warnings.filter(move |warning| warning.kind.spoils_figures() == spoils).map(|warning| warning.sentence.clone())
    };
    let mut sentences: Vec<String> = warned(true).collect();
    let handshakes = &analysis.handshakes;
    let segments: u64 = analysis.captures.iter().map(|c| c.tcp_segments).sum();
    if handshakes.attempts == 0 {
        sentences.push(nothing(analysis, segments));
    } else {
        one_sided(analysis, &mut sentences);
        loss(analysis, &mut sentences);
        dropped_for(analysis, &mut sentences);
        sentences.extend(analysis.expected_cost.as_ref().and_then(expected_cost));
        spurious(analysis, &mut sentences);
        answered_otherwise(analysis, &mut sentences);
        failures(analysis, &mut sentences);
    }
    sentences.extend(warned(false));
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

/// Sentence for a trace of `segments` TCP segments without an attempt.
fn nothing(analysis: &Analysis, segments: u64) -> String {
    let outcomes = &analysis.outcomes;
    let segments = match segments {
        0 => return trust::no_tcp(&analysis.captures),
        n => of(n, "TCP segment", "TCP segments"),
    };
    match (outcomes.without_syn, outcomes.without_syn_again) {
        (0, _) => format!(
            "No connection attempt in this capture: none of {segments} is a SYN. It may have begun after the connections did, or have only the servers' side of them.",
        ),
        (answers, again) => format!(
            "No connection attempt in this capture: none of {segments} is a SYN. {}, {}; it has the servers' side only, so nobody can say whether those were lost, or their answers, or whether there were any.",
            of(answers, "connection was answered by a SYN/ACK", "connections were answered by a SYN/ACK"),
            match again {
                0 => "none of them more than once".to_string(),
                n => format!(
                    "{} more than once ({} sent again)",
                    count(n),
                    of(
                        analysis.handshakes.duplicate_synack - analysis.handshakes.capture_duplicates.synack,
                        "SYN/ACK",
                        "SYN/ACKs"
                    )
                ),
            }
        ),
    }
}

/// Sentences about SYN/ACKs and SYNs that were not captured.
fn one_sided(analysis: &Analysis, sentences: &mut Vec<String>) {
    let outcomes = &analysis.outcomes;
    if outcomes.one_sided > 0 {
        sentences.push(format!(
            "The capture is one-sided{}: it lacks the SYN/ACK of {} of {} that went on as only answered ones do. What was lost on that side does not show in it.",
            if outcomes.one_sided < outcomes.completed {
                " in part"
            } else {
                ""
            },
            count(outcomes.one_sided),
            of(outcomes.completed, "connection", "connections"),
        ));
    }
    if outcomes.without_syn > 0 {
        sentences.push(format!(
            "It lacks the SYN of {}{}.",
            of(outcomes.without_syn, "connection", "connections"),
            match outcomes.without_syn_again {
                0 => String::new(),
                n => format!(", {} of which got a SYN/ACK more than once", count(n)),
            }
        ));
    }
}

/// Sentences about lost SYNs and SYN/ACKs.
fn loss(analysis: &Analysis, sentences: &mut Vec<String>) {
    let outcomes = &analysis.outcomes;
    let waiting = &analysis.waiting;
    let answered = outcomes.answered;
    let what = if answered + outcomes.seen_twice == analysis.handshakes.attempts {
        "connection attempt"
    } else {
        "answered connection attempt"
    };
    let attempts = of(answered, what, &format!("{what}s"));
    if answered == 0 {
        let none = match analysis.handshakes.attempts {
            1 => "The one connection attempt was not completed".to_string(),
            n => format!("None of {} connection attempts was completed", count(n)),
        };
        sentences.push(if outcomes.dead.attempts == analysis.handshakes.attempts {
            format!("{none}: there is nothing of a server in the capture, so it may have one direction only.")
        } else {
            none + "."
        });
        return;
    }
    if outcomes.with_loss == 0 {
        let none = match answered {
            1 => format!("The one {what} lost no SYN or SYN/ACK."),
            _ => format!("None of {attempts} lost a SYN or SYN/ACK."),
        };
        sentences.push(data_waits(analysis).map_or(none.clone(), |waits| format!("{waits} {none}")));
        return;
    }
    let share = outcomes.with_loss as f64 / answered as f64;
    let mut sentence =
        format!("{} of {attempts} lost a SYN or SYN/ACK ({})", percent(share), count(outcomes.with_loss),);
    if let Some(mean) = waiting.loss_mean_s {
        sentence += &match (outcomes.with_loss, outcomes.completed_with_loss) {
            (1, _) => format!(" and waited {} for it", time(mean)),
            (all, completed) if all == completed => {
                format!(" and waited {} for it on average", time(mean))
            }
            (_, completed) => {
                format!("; those that were completed ({}) waited {} for it on average", count(completed), time(mean))
            }
        };
        let all = waiting.handshake_s + waiting.data_s;
        if all > 0.0 {
            sentence += &format!(
                "; that is {} of all the time that connections in this capture spent waiting for retransmissions ({} of {})",
                percent(waiting.loss_s / all),
                time(waiting.loss_s),
                time(all),
            );
        }
    }
    sentences.push(sentence + ".");
    let worst = analysis.top.servers.iter().find(|e| e.with_loss > 0);
    if let Some(worst) = worst {
        sentences.push(format!(
            "Worst server: {}, {} of {} with a loss, {} lost.",
            worst.name,
            count(worst.with_loss),
            of(worst.answered, "answered attempt", "answered attempts"),
            time(worst.time_lost_s),
        ));
    }
}

/// Sentence about waiting for retransmitted data, if it is considerable.
fn data_waits(analysis: &Analysis) -> Option<String> {
    let waited = analysis.waiting.data_s;
    let mean = waited / analysis.outcomes.completed.max(1) as f64;
    let again = &analysis.retransmissions;
    let before = match again.late > again.retransmitted {
        true => ", most of it for segments lost before the capture point, where SYNs that were lost do not show",
        false => "",
    };
    (mean >= NOTABLE_WAIT_S).then(|| {
        format!("Connections waited {} for retransmitted data ({} each on average){before}.", time(waited), time(mean),)
    })
}

/// Sentences about SYNs that a middlebox drops for what they carry.
fn dropped_for(analysis: &Analysis, sentences: &mut Vec<String>) {
    let outcomes = &analysis.outcomes;
    // Data in a SYN are part of Fast Open.
    let fast_open = outcomes.dropped_for.iter().find(|it| it.name == "fast-open");
    let is_named =
        |dropped: &&DroppedFor| dropped.name != "data" || fast_open.is_none_or(|it| it.attempts < dropped.attempts);
    for dropped in outcomes.dropped_for.iter().filter(is_named) {
        let (what, it) = match dropped.name {
            "mptcp" => ("the MPTCP option", "it"),
            "fast-open" => ("the TCP Fast Open option", "it"),
            "ecn" => ("the ECN flags (ECE and CWR)", "them"),
            _ => ("data", "it"),
        };
        sentences.push(format!(
            "A middlebox, not a queue, drops SYNs with {what}: each lost SYN of {} had {it}, and no answered SYN did. They waited {}.",
            of(dropped.attempts, "attempt", "attempts"),
            time(dropped.waited_s),
        ));
    }
}

/// Sentence about the cost of handshake loss by the response-time model.
fn expected_cost(cost: &ExpectedCost) -> Option<String> {
    let (expected, measured) = (cost.expected_wait_s?, cost.measured_wait_s.mean?);
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
        "By the response-time model, the loss of {} of the attempts of a handshake, at {rtos}, costs {} a connection on average; measured were {}",
        percent(cost.handshake_loss),
        time(expected),
        time(measured),
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
    Some(sentence + ".")
}

/// Range of sizes in words.
fn segments(size: &CostOfSize) -> String {
    match size.max_segments {
        Some(max) => format!("{} to {} segments", count(size.min_segments), count(max)),
        None => format!("more than {} segments", count(size.min_segments - 1)),
    }
}

/// Sentences about retransmissions without a loss in the network.
fn spurious(analysis: &Analysis, sentences: &mut Vec<String>) {
    let outcomes = &analysis.outcomes;
    if outcomes.late > 0 {
        sentences.push(format!(
            "{} a SYN or SYN/ACK again without a loss: the answer was late.",
            of(outcomes.late, "answered attempt sent", "answered attempts sent"),
        ));
    }
    if outcomes.put_off > 0 {
        let waited = match outcomes.put_off_s {
            s if s > 0.0 => format!(" and waited {}", time(s)),
            _ => String::new(),
        };
        sentences.push(format!(
            "{} put off by the server{waited}: it left a SYN unanswered that had reached it, or sent its SYN/ACK again though the client's ACK is in the capture. That is no loss on the way here: its listen queue is full, TCP_DEFER_ACCEPT waits for data, or the ACK was lost behind the capture.",
            of(outcomes.put_off, "answered attempt was", "answered attempts were"),
        ));
    }
}

/// Sentences about SYNs that were sent again without a loss, because of an answer other than a SYN/ACK, or held up.
fn answered_otherwise(analysis: &Analysis, sentences: &mut Vec<String>) {
    let outcomes = &analysis.outcomes;
    if outcomes.completed_after_challenge > 0 {
        sentences.push(format!(
            "{} a connection with the same addresses and ports that the server still had (port reuse) and waited {}: the server answered the SYN with an ACK of that connection (challenge ACK, RFC 5961), and the client sent its SYN again. That is no loss.",
            of(
                outcomes.completed_after_challenge,
                "answered attempt first met",
                "answered attempts first met"
            ),
            time(outcomes.completed_after_challenge_s),
        ));
    }
    if outcomes.completed_after_refusal > 0 {
        sentences.push(format!(
            "{} refused by an RST or an ICMP error and waited {} until the client sent its SYN again. That is no loss.",
            of(outcomes.completed_after_refusal, "answered attempt was first", "answered attempts were first"),
            time(outcomes.completed_after_refusal_s),
        ));
    }
    if outcomes.completed_after_reset > 0 {
        sentences.push(format!(
            "{} after the client had answered a SYN/ACK with an RST, and waited {} until it sent its SYN again. That is no loss.",
            of(
                outcomes.completed_after_reset,
                "attempt was completed",
                "attempts were completed"
            ),
            time(outcomes.completed_after_reset_s),
        ));
    }
    if outcomes.held > 0 {
        let held = match outcomes.held_s {
            s if s > 0.0 => format!(", {} on average by their timestamps", time(s / outcomes.held as f64)),
            _ => String::new(),
        };
        sentences.push(format!(
            "{} held up before the capture point{held}, and several SYNs arrived at once: a tunnel or link was being set up. That is no loss.",
            of(
                outcomes.held,
                "answered attempt was",
                "answered attempts were"
            ),
        ));
    }
}

/// Sentences about attempts that were not completed, by reason.
fn failures(analysis: &Analysis, sentences: &mut Vec<String>) {
    let outcomes = &analysis.outcomes;
    let attempts = |n: u64| of(n, "attempt", "attempts");
    let by_rst = outcomes.reset.attempts + outcomes.abandoned.attempts;
    let half_open = outcomes.half_open.saturating_sub(by_rst);
    if half_open > 0 {
        sentences
            .push(
                format!("{} answered, but the client never went on.", of(half_open, "attempt was", "attempts were"),),
            );
    }
    for (apart, what) in [
        (
            &outcomes.abandoned,
            "got a SYN/ACK that the client answered with an RST: it had given up before, or only probed the port (the round-trip times include them)",
        ),
        (
            &outcomes.reset,
            "failed although nothing was lost: the client answered each SYN/ACK with an RST and sent its SYN again",
        ),
        (
            &outcomes.challenged,
            "failed because the server still has a connection with the same addresses and ports: it answered the SYN with an ACK of that connection (challenge ACK, RFC 5961)",
        ),
        (
            &outcomes.elsewhere,
            "failed because the SYN/ACK came under another address than the SYN went to: address translation (NAT) was not undone",
        ),
        (
            &outcomes.swallowed,
            "came to nothing though the host is alive, with every packet one way or the other lost or swallowed (a firewall, a full listen queue)",
        ),
        (&outcomes.dead, "went to hosts of which nothing was captured (dead, or behind a filter)"),
        (&outcomes.refused, "refused by an RST"),
        (&outcomes.rejected, "rejected by ICMP (unreachable or prohibited)"),
        (&outcomes.unseen, "without an answer went to servers of which the capture has the clients' side only"),
    ] {
        if apart.attempts > 0 {
            let verb = match what.split(' ').next() {
                Some("refused" | "rejected") if apart.attempts == 1 => "was ",
                Some("refused" | "rejected") => "were ",
                _ => "",
            };
            sentences.push(format!("{} {verb}{what}: {}.", attempts(apart.attempts), named(apart, "server")));
        }
    }
    if outcomes.scans.attempts > 0 {
        sentences.push(format!(
            "{} in vain of clients that tried many servers or ports, as a scan or a worm does: {}. They are in none of the numbers above.",
            attempts(outcomes.scans.attempts),
            named(&outcomes.scans, "client")
        ));
    }
    if outcomes.floods.attempts > 0 {
        sentences.push(format!(
            "{} as a SYN flood makes them, one SYN each of clients that complete nothing: {}. They are in none of the numbers above.",
            attempts(outcomes.floods.attempts),
            named(&outcomes.floods, "server")
        ));
    }
    if analysis.waiting.failed_s > 0.0 {
        sentences
            .push(format!("Attempts that were never completed waited {} in vain.", time(analysis.waiting.failed_s)));
    }
}

/// Names of the servers or clients: all if they are few, else their number and the first ones.
fn named(apart: &AttemptGroup, what: &str) -> String {
    let names: Vec<String> = apart
        .most
        .iter()
        .map(|named| match apart.parties {
            1 => named.name.clone(),
            _ => format!("{} ({})", named.name, count(named.attempts)),
        })
        .collect();
    let names = names.join(", ");
    if apart.parties > apart.most.len() as u64 {
        format!("{}, most at {names}", of(apart.parties, what, &format!("{what}s")))
    } else {
        names
    }
}

/// Sentence about copies made by the capture.
fn copies(analysis: &Analysis, sentences: &mut Vec<String>) {
    if analysis.outcomes.seen_twice > 0 {
        sentences.push(format!(
            "The capture has {} twice, before and after address translation (NAT): they count once among the outcomes and waiting times above, and twice among packets.",
            of(analysis.outcomes.seen_twice, "attempt", "attempts"),
        ));
    }
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

/// Sentences about losses in handshakes of other protocols.
fn others(analysis: &Analysis, sentences: &mut Vec<String>) {
    let protocols = &analysis.other_protocols;
    for (name, handshakes) in [("QUIC", &protocols.quic), ("SCTP", &protocols.sctp), ("DCCP", &protocols.dccp)] {
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
