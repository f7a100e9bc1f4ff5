//! Next steps after an analysis: what to do about a finding, and the command that shows more.

use gentle_trace::results::{Analysis, FailureReason, Finding};

/// Next steps, in the order of the findings; each once.
pub(super) fn steps(analysis: &Analysis) -> Vec<String> {
    let mut steps: Vec<String> = Vec::new();
    // A middlebox that explains every loss needs no other queue.
    let dropped: u64 = analysis
        .findings
        .iter()
        .map(|finding| match finding {
            Finding::DroppedFor(dropped) => dropped.attempts,
            _ => 0,
        })
        .sum();
    let is_explained = |finding: &&Finding| matches!(finding, Finding::Loss { with_loss, .. } if *with_loss <= dropped);
    for step in analysis.findings.iter().filter(|finding| !is_explained(finding)).filter_map(step) {
        if !steps.iter().any(|known| known == step) {
            steps.push(step.to_owned());
        }
    }
    steps
}

/// Queue length and overflows of a server's listening sockets.
const LISTEN_QUEUE: &str = "On the servers that deferred attempts, look for full listen queues: ss -ltn shows their length, nstat -az TcpExtListenOverflows TcpExtListenDrops counts overflows. A longer queue needs both a larger backlog in listen() and a larger net.core.somaxconn; TCP_DEFER_ACCEPT defers as well.";

const PORTS: &str = "On the clients, widen net.ipv4.ip_local_port_range, or reuse connections: ports were reused before the server had forgotten their last connection.";

fn step(finding: &Finding) -> Option<&'static str> {
    Some(match finding {
        Finding::NoSyn { .. } => "Start the capture before the connections start.",
        Finding::OneSided { .. } | Finding::NoneAnswered { no_server: true, .. } => {
            "Capture both directions, at a point that both pass."
        }
        Finding::Loss { .. } => {
            "If the congested queue is yours, gentle compare --from CAPTURE --rate RATE shows these connections under other queue schemes. If it is not, gentle rexmit retransmits SYNs sooner."
        }
        Finding::DroppedFor(dropped) => match dropped.name {
            "mptcp" => {
                "A middlebox drops SYNs with MPTCP: fix it, or set net.mptcp.enabled=0 on the clients. No queue scheme helps."
            }
            "fast-open" => {
                "A middlebox drops SYNs with TCP Fast Open: fix it, or set net.ipv4.tcp_fastopen=0 on the clients. No queue scheme helps."
            }
            "ecn" => {
                "A middlebox drops SYNs with ECN: fix it, or set net.ipv4.tcp_ecn=0 on the clients. No queue scheme helps."
            }
            _ => {
                "A middlebox drops SYNs with data: fix it, or disable TCP Fast Open on the clients. No queue scheme helps."
            }
        },
        Finding::Deferred(_) => LISTEN_QUEUE,
        Finding::PortInUse(_) => PORTS,
        Finding::Failed { reason, .. } => match reason {
            FailureReason::Blackholed => {
                "For blackholed attempts, check the firewalls on the path (nft list ruleset), conntrack (conntrack -S) and the servers' listen queues (ss -ltn)."
            }
            FailureReason::Challenged => PORTS,
            FailureReason::Elsewhere => {
                "Check the address translation (NAT) on the way back: SYN/ACKs have an untranslated address."
            }
            FailureReason::Dead => {
                "Check whether the unanswered hosts are up, and whether a firewall drops every packet to them."
            }
            FailureReason::Refused => "Check that a process listens on the refused ports (ss -ltnp on the server).",
            FailureReason::Rejected => "Check the router or firewall that sent the ICMP errors.",
            FailureReason::Abandoned
            | FailureReason::Reset
            | FailureReason::Unseen
            | FailureReason::Scans
            | FailureReason::Floods => return None,
        },
        _ => return None,
    })
}
