//! Conclusions of an analysis.

use super::{cost, names};
use crate::format::{count, percent, plural, time};
use gentle_trace::results::{Analysis, AttemptGroup, DataWait, FailureReason, Finding, NamedParty, PlaceNames, Waits};
use std::collections::BTreeMap;

/// Sentence of a finding in `analysis`, whose warnings have their sentences.
pub(super) fn sentence(finding: &Finding, analysis: &Analysis) -> String {
    match finding {
        Finding::Warning { warning } => {
            analysis.warnings.get(*warning).map_or_else(String::new, |warning| warning.sentence.clone())
        }
        Finding::NoTcp { packets, kinds } => no_tcp(*packets, kinds),
        Finding::NoSyn { segments, answered, answered_again, synacks_again } => {
            no_syn(*segments, *answered, *answered_again, *synacks_again)
        }
        Finding::OneSided { attempts, completed } => format!(
            "The capture is one-sided{}: it lacks the SYN/ACK of {} of {} that were answered, as their later packets show. Losses on that side are invisible.",
            if attempts < completed { " in part" } else { "" },
            count(*attempts),
            plural(*completed, "connection", "connections"),
        ),
        Finding::WithoutSyn { connections, again } => format!(
            "It lacks the SYN of {}{}.",
            plural(*connections, "connection", "connections"),
            match again {
                0 => String::new(),
                n => format!(", {} of which got a SYN/ACK more than once", count(*n)),
            }
        ),
        Finding::NoneAnswered { attempts, no_server } => {
            let none = match attempts {
                1 => "The one connection attempt was not completed".to_string(),
                n => format!("None of {} connection attempts was completed", count(*n)),
            };
            match no_server {
                true => {
                    format!("{none}: the capture has no packet of a server, so it may have one direction only.")
                }
                false => none + ".",
            }
        }
        Finding::NoLoss { answered, all_answered, data_wait } => {
            let waits = data_wait.map(|wait| data_waits(&wait) + " ").unwrap_or_default();
            match answered {
                1 => format!("{waits}The one {} lost no SYN or SYN/ACK.", attempt(*all_answered)),
                _ => format!("{waits}None of {} lost a SYN or SYN/ACK.", attempts(*answered, *all_answered)),
            }
        }
        Finding::Loss { .. } => loss(finding),
        Finding::WorstServer { name, answered, with_loss, time_lost_s } => format!(
            "Worst server: {}, {} of {} with a loss, {} lost.",
            names::named(&analysis.names, name),
            count(*with_loss),
            plural(*answered, "answered attempt", "answered attempts"),
            time(*time_lost_s),
        ),
        Finding::DroppedFor(dropped) => {
            let (what, it) = match dropped.name {
                "mptcp" => ("the MPTCP option", "it"),
                "fast-open" => ("the TCP Fast Open option", "it"),
                "ecn" => ("the ECN flags (ECE and CWR)", "them"),
                _ => ("data", "it"),
            };
            format!(
                "A middlebox, not a queue, drops SYNs with {what}: each lost SYN of {} had {it}, and no answered SYN did. They waited {}.",
                plural(dropped.attempts, "attempt", "attempts"),
                time(dropped.waited_s),
            )
        }
        Finding::ExpectedCost { handshake_loss, expected_wait_s, measured_wait_s } => {
            let cost = analysis.expected_cost.as_ref();
            cost.map_or_else(String::new, |cost| {
                cost::sentence(cost, *handshake_loss, *expected_wait_s, *measured_wait_s)
            })
        }
        Finding::Late { attempts } => format!(
            "{} a SYN or SYN/ACK although nothing was lost: the answer was late.",
            plural(*attempts, "answered attempt retransmitted", "answered attempts retransmitted"),
        ),
        Finding::Deferred(Waits { attempts, waited_s }) => {
            let waited = match *waited_s {
                s if s > 0.0 => format!(" ({} in total)", time(s)),
                _ => String::new(),
            };
            format!(
                "The server deferred {}{waited}: it ignored a SYN that had reached it, or retransmitted a SYN/ACK that had been acknowledged. Its listen queue is full, TCP_DEFER_ACCEPT waits for data, or the ACK was lost behind the capture point; the path before it lost nothing.",
                plural(*attempts, "answered attempt", "answered attempts"),
            )
        }
        Finding::PortInUse(Waits { attempts, waited_s }) => format!(
            "{} a connection with the same addresses and ports that the server still had (port reuse) and waited {}: the server answered the SYN with an ACK of that connection (challenge ACK, RFC 5961), and the client retransmitted its SYN. Nothing was lost.",
            plural(*attempts, "answered attempt first met", "answered attempts first met"),
            time(*waited_s),
        ),
        Finding::FirstRefused(Waits { attempts, waited_s }) => format!(
            "{} refused by an RST or an ICMP error and waited {} until the client retransmitted its SYN. Nothing was lost.",
            plural(*attempts, "answered attempt was first", "answered attempts were first"),
            time(*waited_s),
        ),
        Finding::FirstReset(Waits { attempts, waited_s }) => format!(
            "{} after the client had answered a SYN/ACK with an RST, and waited {} until it retransmitted its SYN. Nothing was lost.",
            plural(*attempts, "attempt was completed", "attempts were completed"),
            time(*waited_s),
        ),
        Finding::HeldUp(Waits { attempts, waited_s }) => {
            let held = match *waited_s {
                s if s > 0.0 => format!(", {} on average by their timestamps", time(s / *attempts as f64)),
                _ => String::new(),
            };
            format!(
                "{} held up before the capture point{held}, and several SYNs arrived at once: a tunnel or link was being set up. Nothing was lost.",
                plural(*attempts, "answered attempt was", "answered attempts were"),
            )
        }
        Finding::NotContinued { attempts } => {
            format!(
                "{} answered, but the client never completed the handshake.",
                plural(*attempts, "attempt was", "attempts were")
            )
        }
        Finding::Failed { reason, group } => failed(*reason, group, &analysis.names),
        Finding::FailedWait { waited_s } => {
            format!("Failed attempts waited {} in total.", time(*waited_s))
        }
        Finding::SeenTwice { attempts } => format!(
            "The capture has {} twice, before and after address translation (NAT): they count once among the outcomes and waiting times above, and twice among packets.",
            plural(*attempts, "attempt", "attempts"),
        ),
        Finding::Copies(copies) => format!(
            "{} made by the capture or a switch, not retransmissions ({}, {}, {}): they count as duplicates, but not as losses.",
            plural(copies.syn + copies.synack + copies.other, "segment is a copy", "segments are copies"),
            plural(copies.syn, "SYN", "SYNs"),
            plural(copies.synack, "SYN/ACK", "SYN/ACKs"),
            plural(copies.other, "other", "others"),
        ),
        Finding::SlowLookups { lookups, repeated, unanswered, waited_s, server } => {
            slow_lookups(*lookups, *repeated, *unanswered, *waited_s, server)
        }
        Finding::OtherProtocol { protocol, attempts, with_loss, time_lost_s } => format!(
            "{}: {} of {} retransmitted a packet of their handshake; the successful ones waited {} for it.",
            protocol.to_uppercase(),
            count(*with_loss),
            plural(*attempts, "connection attempt", "connection attempts"),
            time(*time_lost_s),
        ),
        Finding::Evicted { connections } => format!(
            "{} evicted before their end because of the memory limit: later duplicates were not recognised (--memory-limit).",
            plural(*connections, "connection was", "connections were"),
        ),
        Finding::Interrupted => "Interrupted: the analysis covers the packets read so far.".to_owned(),
    }
}

/// Lookups of names that waited.
fn slow_lookups(lookups: u64, repeated: u64, unanswered: u64, waited_s: f64, server: &str) -> String {
    let parts = [(repeated, "repeated a query"), (unanswered, "got no answer")];
    let slow = parts.into_iter().filter(|(n, _)| *n > 0);
    let slow: Vec<String> = slow.map(|(n, what)| format!("{} {what}", count(n))).collect();
    let share = percent((repeated + unanswered) as f64 / lookups.max(1) as f64);
    format!(
        "DNS: of {}, {} ({share}) and waited {} before the connections that need them, most at {server}.",
        plural(lookups, "lookup", "lookups"),
        slow.join(" and "),
        time(waited_s),
    )
}

/// Captures without TCP: the packets by kind.
fn no_tcp(packets: u64, kinds: &BTreeMap<&'static str, u64>) -> String {
    let kinds: Vec<String> = [
        ("udp", "UDP", "UDP"),
        ("sctp", "SCTP", "SCTP"),
        ("dccp", "DCCP", "DCCP"),
        ("esp", "ESP", "ESP"),
        ("other", "of another IP protocol", "of other IP protocols"),
        ("fragment", "fragment", "fragments"),
        ("not-ip", "not IP", "not IP"),
        ("encrypted", "encrypted", "encrypted"),
        ("truncated", "cut too short", "cut too short"),
        ("malformed", "malformed", "malformed"),
        ("unknown-link", "of a link type that is not read", "of link types that are not read"),
    ]
    .into_iter()
    .filter_map(|(kind, one, several)| Some(plural(*kinds.get(kind)?, one, several)))
    .collect();
    if packets == 0 {
        return "No packets in this capture.".to_string();
    }
    format!("No TCP in this capture: {}, {}.", plural(packets, "packet", "packets"), kinds.join(", "))
}

/// Captures without a SYN.
fn no_syn(segments: u64, answered: u64, answered_again: u64, synacks_again: u64) -> String {
    let none = format!(
        "No connection attempt in this capture: none of {} is a SYN.",
        plural(segments, "TCP segment", "TCP segments")
    );
    if answered == 0 {
        return none + " It may have begun after the connections did, or have only the servers' side of them.";
    }
    format!(
        "{none} {}, {}; the capture has the servers' side only, so losses of SYNs cannot be told from losses of SYN/ACKs.",
        plural(answered, "connection was answered by a SYN/ACK", "connections were answered by a SYN/ACK"),
        match answered_again {
            0 => "none of them more than once".to_string(),
            n => {
                format!("{} more than once ({} retransmitted)", count(n), plural(synacks_again, "SYN/ACK", "SYN/ACKs"))
            }
        }
    )
}

/// Name of the attempts that count.
fn attempt(all_answered: bool) -> &'static str {
    if all_answered { "connection attempt" } else { "answered connection attempt" }
}

fn attempts(answered: u64, all_answered: bool) -> String {
    let one = attempt(all_answered);
    plural(answered, one, &format!("{one}s"))
}

fn data_waits(wait: &DataWait) -> String {
    let before = match wait.before_capture_point {
        true => ", most of it for segments lost before the capture point, where lost SYNs are invisible",
        false => "",
    };
    format!(
        "Connections waited {} for retransmitted data ({} each on average){before}.",
        time(wait.waited_s),
        time(wait.mean_s),
    )
}

/// Lost SYNs and SYN/ACKs.
fn loss(finding: &Finding) -> String {
    let Finding::Loss { answered, all_answered, with_loss, completed_with_loss, mean_wait_s, wait_s, all_waits_s } =
        *finding
    else {
        return String::new();
    };
    let attempts = attempts(answered, all_answered);
    let mut sentence = match (with_loss, answered) {
        (1, 1) => format!("The only {} lost a SYN or SYN/ACK", attempt(all_answered)),
        (lost, all) if lost == all => format!("All {attempts} lost a SYN or SYN/ACK"),
        _ => format!(
            "{} of {attempts} ({}) lost a SYN or SYN/ACK",
            percent(with_loss as f64 / answered as f64),
            count(with_loss),
        ),
    };
    if let Some(mean) = mean_wait_s {
        sentence += &match (with_loss, completed_with_loss) {
            (1, _) => format!(" and waited {} for it", time(mean)),
            (all, completed) if all == completed => {
                format!(" and waited {} for it on average", time(mean))
            }
            (_, completed) => {
                format!("; those that were completed ({}) waited {} for it on average", count(completed), time(mean))
            }
        };
        if all_waits_s > 0.0 {
            sentence += &format!(
                ". These waits are {} of the time that established connections waited for retransmissions ({} of {})",
                percent(wait_s / all_waits_s),
                time(wait_s),
                time(all_waits_s),
            );
        }
    }
    sentence + "."
}

/// Attempts that were not completed, for one reason.
fn failed(reason: FailureReason, group: &AttemptGroup, names: &PlaceNames) -> String {
    let was = if group.attempts == 1 { "was" } else { "were" };
    let (verb, what) = match reason {
        FailureReason::Abandoned => (
            "got",
            "a SYN/ACK that the client answered with an RST: it had given up, or only probed the port (the round-trip times include them)",
        ),
        FailureReason::Reset => (
            "failed",
            "although nothing was lost: the client answered each SYN/ACK with an RST and retransmitted its SYN",
        ),
        FailureReason::Challenged => (
            "failed",
            "because the server still has a connection with the same addresses and ports: it answered the SYN with an ACK of that connection (challenge ACK, RFC 5961)",
        ),
        FailureReason::Elsewhere => (
            "failed",
            "because the SYN/ACK came under another address than the SYN went to: address translation (NAT) was not undone",
        ),
        FailureReason::Blackholed => (
            "failed",
            "although the host is up: every packet in one direction was dropped (a firewall, a full listen queue)",
        ),
        FailureReason::Dead => ("went", "to hosts without a packet in the capture (dead, or behind a filter)"),
        FailureReason::Refused => (was, "refused by an RST"),
        FailureReason::Rejected => (was, "rejected by ICMP (unreachable or prohibited)"),
        FailureReason::Unseen => {
            ("went", "to servers of which the capture has the clients' side only, and were not answered")
        }
        FailureReason::Scans => ("failed", "of clients that tried many servers or ports, as a scan or a worm does"),
        FailureReason::Floods => ("look", "like a SYN flood: one SYN each, from clients that complete no handshake"),
    };
    let (parties, apart) = match reason {
        FailureReason::Scans => ("client", " The numbers above exclude them."),
        FailureReason::Floods => ("server", " The numbers above exclude them."),
        _ => ("server", ""),
    };
    let attempts = plural(group.attempts, "attempt", "attempts");
    format!("{attempts} {verb} {what}: {}.{apart}", places(group, parties, names))
}

/// Servers or clients: all if they are few, else their number and the first ones.
fn places(group: &AttemptGroup, what: &str, names: &PlaceNames) -> String {
    let place = |party: &NamedParty| match (group.parties, names.of(&party.name)) {
        (1, _) => names::named(names, &party.name),
        (_, Some(name)) => format!("{name} ({}, {})", party.name, count(party.attempts)),
        (_, None) => format!("{} ({})", party.name, count(party.attempts)),
    };
    let names = group.most.iter().map(place).collect::<Vec<String>>().join(", ");
    if group.parties > group.most.len() as u64 {
        format!("{}, most at {names}", plural(group.parties, what, &format!("{what}s")))
    } else {
        names
    }
}
