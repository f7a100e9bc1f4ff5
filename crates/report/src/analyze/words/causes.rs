//! Causes of slow and failed attempts: name, evidence, remedy, and the command that verifies it.

use super::checks::Known;
use crate::format::{capitalized, count, percent, plural};
use gentle_trace::results::{Cause, CauseKind, DroppedFor, LossDirection};

/// Text of a kind of cause.
struct Text {
    name: &'static str,
    /// Observation, as a clause.
    seen: &'static str,
    /// Remedy.
    remedy: &'static str,
    /// Command that verifies the cause, with placeholders in capitals.
    check: &'static str,
}

/// Name of a cause, as in tables.
pub fn cause_name(kind: CauseKind) -> &'static str {
    text(kind).name
}

/// Fills the text of causes; `dropped` has the parts for which SYNs are dropped, and `known` the values for checks.
pub fn describe_causes(causes: &mut [Cause], dropped: &[DroppedFor], known: &Known<'_>) {
    let dropped: Vec<&str> = dropped.iter().map(|it| it.name).collect();
    let remedy = dropped_remedy(&dropped);
    for cause in causes {
        let Text { seen, remedy: usual, check, .. } = text(cause.kind);
        cause.sentence = format!("{}{}{}.", capitalized(seen), evidence(cause), direction(cause));
        cause.remedy = match cause.kind {
            CauseKind::DroppedOptions => remedy.clone(),
            _ => usual.to_owned(),
        };
        cause.check = known.check(check, cause);
    }
}

/// The numbers of the evidence.
fn evidence(cause: &Cause) -> String {
    let number = |name: &str| cause.evidence.get(name).map_or(0, |number| *number as u64);
    let (segments, lost) = (number("data_segments"), number("data_lost"));
    if segments == 0 {
        return String::new();
    }
    let mut text = format!(
        " ({} of {} of the same servers lost, {}",
        count(lost),
        plural(segments, "data segment", "data segments"),
        percent(lost as f64 / (segments + lost) as f64),
    );
    match (cause.kind, number("data_lost_in_a_row"), number("first_data_ignored")) {
        (CauseKind::RandomLoss | CauseKind::BurstLoss | CauseKind::LossWithoutQueue, in_a_row, _) if lost > 0 => {
            text += &format!("; {} in a row", count(in_a_row));
        }
        (CauseKind::ListenQueue, _, ignored) if ignored > 0 => {
            text += &format!("; the first data of {} ignored", plural(ignored, "connection", "connections"));
        }
        _ => {}
    }
    text + ")"
}

/// Direction of losses on the path, with its evidence.
fn direction(cause: &Cause) -> String {
    let number = |name: &str| cause.evidence.get(name).map_or(0, |number| *number as u64);
    if !cause.evidence.contains_key("attempts_lost_either_way") {
        return String::new();
    }
    let toward = |name: &str, handshakes: &str, attempts: u64, lost: u64, passed: u64| {
        let (attempts, lost, data) = (count(attempts), count(lost), count(passed.saturating_add(lost)));
        format!("toward {name}, {attempts} {handshakes} and {lost} of {data} data segments")
    };
    let both = number("attempts_lost_both_ways");
    let to_server = toward(
        "the server",
        "attempts lost SYNs or ACKs",
        number("attempts_lost_to_server") + both,
        number("data_lost_to_server"),
        number("data_to_server"),
    );
    let to_client = toward(
        "the client",
        "attempts lost SYN/ACKs",
        number("attempts_lost_to_client") + both,
        number("data_lost_to_client"),
        number("data_to_client"),
    );
    let found = match cause.direction {
        Some(LossDirection::ToServer) => "Direction of the losses: toward the server",
        Some(LossDirection::ToClient) => "Direction of the losses: toward the client",
        Some(LossDirection::Both) => "Direction of the losses: both",
        None => "Direction of the losses: uncertain",
    };
    format!(". {found} ({to_server}; {to_client}; {} in either)", count(number("attempts_lost_either_way")))
}

/// Remedy for SYNs that are dropped because of these parts.
fn dropped_remedy(parts: &[&str]) -> String {
    let setting = |part: &str| match part {
        "mptcp" => "net.mptcp.enabled=0",
        "ecn" => "net.ipv4.tcp_ecn=0",
        _ => "net.ipv4.tcp_fastopen=0",
    };
    let mut settings: Vec<&str> = parts.iter().map(|part| setting(part)).collect();
    settings.sort_unstable();
    settings.dedup();
    format!("Fix the middlebox, or set {} on the clients. No queue scheme helps.", settings.join(" and "))
}

const LISTEN_QUEUE: &str = "On the server, lengthen the listen queue: a larger backlog in listen() and a larger net.core.somaxconn; or accept connections sooner.";
const LISTEN_CHECK: &str = "nstat -az TcpExtListenOverflows TcpExtListenDrops; ss -ltn";
const NO_REMEDY: &str = "gentle has no remedy for this.";

fn text(kind: CauseKind) -> Text {
    let of = |name, seen, remedy, check| Text { name, seen, remedy, check };
    match kind {
        CauseKind::Congestion => of(
            "Congestion",
            "round trips were longer when packets were lost, so a queue overflowed",
            "If the congested link is yours, use a scheme with short queues (gentle qdisc plan shows the commands). If it is not, gentle rexmit retransmits lost SYNs sooner.",
            "gentle compare --from CAPTURE --rate RATE",
        ),
        CauseKind::RandomLoss => of(
            "Random loss",
            "the path was not delayed when packets were lost, and it also lost single data segments, as a radio link or a damaged cable does",
            "Fix the link; no queue scheme helps. gentle rexmit retransmits lost SYNs sooner.",
            "ip -s link; ethtool -S DEVICE",
        ),
        CauseKind::BurstLoss => of(
            "Policer or loss in bursts",
            "the path was not delayed when packets were lost, and it also lost many data segments or several in a row",
            "If a policer limits the rate, shape below that rate (gentle qdisc plan --rate), so that a queue absorbs the bursts.",
            "tc -s filter show dev DEVICE ingress",
        ),
        CauseKind::LossWithoutQueue => of(
            "Loss without a queue",
            "the path was not delayed when packets were lost: a link with errors, or a policer",
            "Look for link errors and for a policer; no queue scheme helps. gentle rexmit retransmits lost SYNs sooner.",
            "ip -s link; tc -s filter show dev DEVICE ingress",
        ),
        CauseKind::NewConnectionsDropped => of(
            "New connections dropped",
            "SYNs were lost while data passed: a full listen queue, a full connection-tracking table, or a limit on new connections",
            "Lengthen the listen queue (backlog in listen(), net.core.somaxconn), enlarge net.netfilter.nf_conntrack_max, or raise the limit.",
            "nstat -az TcpExtListenOverflows TcpExtListenDrops; conntrack -S; nft list ruleset",
        ),
        CauseKind::Loss => of(
            "Loss of unknown kind",
            "too few other packets passed to show the kind of loss",
            "Capture data as well as SYNs, for longer, to find the kind of loss. gentle rexmit retransmits lost SYNs sooner.",
            "gentle analyze LONGER-CAPTURE",
        ),
        CauseKind::DroppedOptions => of(
            "SYN options dropped",
            "each lost SYN had an option, data or flags that no answered SYN of the server had, so a middlebox drops them",
            "",
            "tshark -r CAPTURE -Y 'tcp.flags.syn==1 && tcp.analysis.retransmission'",
        ),
        CauseKind::ListenQueue => {
            of("Full listen queue", "the server ignored ACKs and data that had reached it", LISTEN_QUEUE, LISTEN_CHECK)
        }
        CauseKind::DeferredAccept => of(
            "Deferred accept",
            "the server repeated its SYN/ACK seconds after the client's ACK, as with TCP_DEFER_ACCEPT",
            "Clients wait only if the server speaks first: remove TCP_DEFER_ACCEPT there.",
            "strace -e trace=setsockopt on the server",
        ),
        CauseKind::Deferred => of(
            "Full listen queue or lost ACK",
            "the server repeated its SYN/ACK after the client's ACK",
            LISTEN_QUEUE,
            LISTEN_CHECK,
        ),
        CauseKind::LateAnswer => of(
            "Late answer",
            "the answer took longer than the initial RTO; nothing was lost",
            "Find the delay: a long queue, or a slow link. Shorter queues help only in the first case.",
            "mtr --tcp --port PORT HOST",
        ),
        CauseKind::PortReuse => of(
            "Port reuse",
            "the server still had a connection with the same addresses and ports",
            "On the clients, widen net.ipv4.ip_local_port_range, or reuse connections: ports were reused before the server had forgotten their last connection.",
            "ss -tan state time-wait | wc -l; sysctl net.ipv4.ip_local_port_range",
        ),
        CauseKind::ResetByClient => of(
            "Reset by the client",
            "the client answered the SYN/ACK with an RST: it had given up, or the SYN/ACK reached it with an address or port that it does not know",
            "Check the clients' timeouts, and the address translation (NAT) on the way back. gentle has no remedy for this.",
            "conntrack -L -p tcp --dport PORT",
        ),
        CauseKind::HeldUp => of(
            "Held up before the capture point",
            "several SYNs or SYN/ACKs arrived at once",
            "Something before the capture point delays the first packets, as a tunnel that is being set up. gentle has no remedy for this.",
            "gentle analyze --full CAPTURE",
        ),
        CauseKind::Filtered => of(
            "Filtered",
            "every packet in a direction was dropped, and the port never answered, although the host is up",
            "Check the firewalls on the path.",
            "nft list ruleset; nc -vz HOST PORT from the server's own network",
        ),
        CauseKind::DroppedInPart => of(
            "Attempts dropped in part",
            "every packet of these attempts was dropped in a direction, while the same port answered others",
            "Check the firewalls on the path (nft list ruleset), connection tracking, and the servers' listen queues.",
            "conntrack -S; nstat -az TcpExtListenDrops; ss -ltn",
        ),
        CauseKind::DeadHost => of(
            "Dead host",
            "no packet of the host was captured",
            "Check whether the host is up, and whether a firewall drops every packet to it.",
            "ping HOST; ip neigh",
        ),
        CauseKind::Refused => of(
            "Refused",
            "an RST answered the SYN",
            "Check that a process listens on the port.",
            "ss -ltnp on the server",
        ),
        CauseKind::Rejected => of(
            "Rejected by ICMP",
            "an ICMP error answered the SYN",
            "Check the router or firewall that sent the ICMP errors.",
            "tshark -r CAPTURE -Y 'icmp || icmpv6'",
        ),
        CauseKind::NatNotUndone => of(
            "NAT not undone",
            "the SYN/ACK came under another address than the SYN went to",
            "Check the address translation (NAT) on the way back: the SYN/ACK has an untranslated address.",
            "conntrack -L -p tcp --dport PORT",
        ),
        CauseKind::Scan => {
            of("Scan", "the client tried many servers or ports", NO_REMEDY, "gentle analyze --full CAPTURE")
        }
        CauseKind::Flood => of(
            "SYN flood",
            "one SYN each, from clients that complete no handshake",
            "Use SYN cookies on the servers (net.ipv4.tcp_syncookies=1).",
            "nstat -az TcpExtSyncookiesSent",
        ),
        CauseKind::DnsLoss => of(
            "DNS query or answer lost",
            "a query passed without an answer, or its answer was lost, and the resolver repeated it after its timeout",
            "Fix the path to the DNS server, or run a resolver with a cache nearby. On clients, options timeout:1 attempts:3 in resolv.conf repeats queries sooner.",
            "dig @SERVER NAME +tries=1 (repeatedly); nstat -az UdpInErrors UdpRcvbufErrors on the server",
        ),
        CauseKind::DnsPairLoss => of(
            "DNS: one of two queries lost",
            "the queries for the IPv4 and the IPv6 address were sent together, and only one was answered: connection tracking can drop the other, or a server answers one query of a port",
            "On clients, options single-request-reopen in resolv.conf (glibc) sends the two queries from two ports, and single-request one after the other; or run a resolver with a cache on the client.",
            "conntrack -S (insert_failed); dig @SERVER NAME A; dig @SERVER NAME AAAA",
        ),
        CauseKind::DnsLate => of(
            "DNS answer late",
            "every query was answered, but later than the resolver's timeout",
            "Find the delay: the DNS server waits for other servers, or the path has a long queue. A resolver with a cache nearby hides it.",
            "dig @SERVER NAME (Query time)",
        ),
        CauseKind::DnsUnanswered => of(
            "DNS queries unanswered",
            "no query of the lookup was answered, while the server answered others or the client got answers from others",
            "Remove servers that do not answer from resolv.conf, or check why they do not. On clients, options timeout:1 attempts:3 tries the next server sooner.",
            "dig @SERVER NAME +tries=1",
        ),
    }
}
