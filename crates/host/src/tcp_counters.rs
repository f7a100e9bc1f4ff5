//! Counters that are findings by themselves: one entry per kind.
//!
//! `TCPChallengeACK` is not among them: except for `TCPSYNChallenge`, its ACKs answer RSTs and ACKs of open connections.
//! `TCPTimeouts` counts retransmissions of data. `ListenOverflows` and its relatives have a place, see listeners.rs.

use crate::counters::Values;
use crate::finding::Finding;
use crate::kind::FindingKind;
use crate::wording::counted;

/// Counters of a kind, and its words.
struct Entry {
    kind: FindingKind,
    /// Group and name; the counters are added.
    counters: &'static [(&'static str, &'static str)],
    /// Words before the number, with a trailing space.
    before: &'static str,
    noun: &'static str,
    /// Words after the number and noun, in the same form for 1 and more.
    after: &'static str,
    remedy: &'static str,
}

const TCP_EXT: &str = "TcpExt";

const ENTRIES: &[Entry] = &[
    Entry {
        kind: FindingKind::SynCookiesSent,
        counters: &[(TCP_EXT, "SyncookiesSent")],
        before: "this host answered ",
        noun: "SYN",
        after: " with SYN cookies; it does not retransmit such a SYN/ACK if it is lost",
        remedy: "raise net.ipv4.tcp_max_syn_backlog and the backlog that the server passes to listen(2); if clients do not \
                 complete these handshakes, it is a SYN flood",
    },
    Entry {
        kind: FindingKind::SynCookiesRejected,
        counters: &[(TCP_EXT, "SyncookiesFailed")],
        before: "this host rejected ",
        noun: "ACK",
        after: " with an invalid or expired SYN cookie",
        remedy: "none if scanners send these ACKs; otherwise find out whether a load balancer sends the SYN and the ACK of a \
                 connection to different servers",
    },
    Entry {
        kind: FindingKind::DeferAcceptDrop,
        counters: &[(TCP_EXT, "TCPDeferAcceptDrop")],
        before: "servers with TCP_DEFER_ACCEPT ignored ",
        noun: "ACK",
        after: " without data; their connections are open for the client only",
        remedy: "remove TCP_DEFER_ACCEPT (nginx: \"deferred\") from servers whose clients wait for the server to speak first",
    },
    Entry {
        kind: FindingKind::FastOpenQueueFull,
        counters: &[(TCP_EXT, "TCPFastOpenListenOverflow")],
        before: "",
        noun: "SYN",
        after: " with data lost Fast Open because the server's queue for it was full",
        remedy: "raise the queue length that the server passes to TCP_FASTOPEN",
    },
    Entry {
        kind: FindingKind::FastOpenServerFail,
        counters: &[(TCP_EXT, "TCPFastOpenPassiveFail")],
        before: "this host rejected the Fast Open cookie of ",
        noun: "SYN",
        after: "",
        remedy: "configure the same net.ipv4.tcp_fastopen_key on all servers behind an address",
    },
    Entry {
        kind: FindingKind::FastOpenClientFail,
        counters: &[(TCP_EXT, "TCPFastOpenActiveFail")],
        before: "the server did not acknowledge the data in ",
        noun: "SYN",
        after: " of this host",
        remedy: "turn Fast Open off if a device on the path drops SYNs with data: sysctl net.ipv4.tcp_fastopen=0",
    },
    Entry {
        kind: FindingKind::FastOpenBlackhole,
        counters: &[(TCP_EXT, "TCPFastOpenBlackhole")],
        before: "this host disabled Fast Open ",
        noun: "time",
        after: " because a path seems to drop its packets",
        remedy: "turn Fast Open off: sysctl net.ipv4.tcp_fastopen=0",
    },
    Entry {
        kind: FindingKind::SynRetransmitted,
        counters: &[(TCP_EXT, "TCPSynRetrans")],
        before: "this host retransmitted ",
        noun: "handshake packet",
        after: " (SYN or SYN/ACK)",
        remedy: "remove the cause, which another finding or the handshakes show",
    },
    Entry {
        kind: FindingKind::AttemptFailed,
        counters: &[("Tcp", "AttemptFails")],
        before: "",
        noun: "handshake",
        after: " failed, by refusal, reset or timeout",
        remedy: "remove the cause, which another finding or the handshakes show",
    },
    Entry {
        kind: FindingKind::HandshakeReset,
        counters: &[(TCP_EXT, "EmbryonicRsts")],
        before: "",
        noun: "handshake",
        after: " ended with a RST after the SYN/ACK of this host",
        remedy: "none if scanners cause them; otherwise look for a device that sends RSTs, or answers that return by another \
                 path",
    },
    Entry {
        kind: FindingKind::SynAckLimited,
        counters: &[(TCP_EXT, "TCPACKSkippedSynRecv")],
        before: "this host did not answer ",
        noun: "repeated SYN",
        after: ", because it had answered the same client shortly before",
        remedy: "look for lost SYN/ACKs and for clients with a very short RTO; net.ipv4.tcp_invalid_ratelimit is the interval",
    },
    Entry {
        kind: FindingKind::ConnectionExists,
        counters: &[(TCP_EXT, "TCPSYNChallenge")],
        before: "",
        noun: "SYN",
        after: " belonged to a connection that is open on this host, as after a restart of the client or the reuse of its port",
        remedy: "widen the clients' port range (net.ipv4.ip_local_port_range, or that of a NAT), and close idle connections \
                 on both sides (TCP_USER_TIMEOUT, keepalive)",
    },
    Entry {
        kind: FindingKind::ChallengeAckLimited,
        counters: &[(TCP_EXT, "TCPACKSkippedChallenge")],
        before: "this host did not send ",
        noun: "challenge ACK",
        after: " because of their rate limit",
        remedy: "remove the reason for challenge ACKs, such as reused ports; net.ipv4.tcp_invalid_ratelimit is the interval",
    },
    Entry {
        kind: FindingKind::TimeWaitRejected,
        counters: &[(TCP_EXT, "PAWSTimewait"), (TCP_EXT, "TCPACKSkippedTimeWait")],
        before: "this host rejected or ignored ",
        noun: "segment",
        after: " for ports in TIME-WAIT, such as SYNs from a port that a client or NAT reused too soon",
        remedy: "widen the clients' port range (net.ipv4.ip_local_port_range, or that of a NAT), or keep connections open \
                 longer",
    },
    Entry {
        kind: FindingKind::TimeWaitTableFull,
        counters: &[(TCP_EXT, "TCPTimeWaitOverflow")],
        before: "",
        noun: "connection",
        after: " closed without TIME-WAIT because its table was full or memory was short",
        remedy: "raise net.ipv4.tcp_max_tw_buckets",
    },
    Entry {
        kind: FindingKind::TimestampRejected,
        counters: &[(TCP_EXT, "PAWSActive"), (TCP_EXT, "TSEcrRejected")],
        before: "",
        noun: "handshake packet",
        after: " (SYN/ACK or ACK) echoed a timestamp that this host had not sent",
        remedy: "look for a device on the path that rewrites TCP timestamps, or turn them off: sysctl net.ipv4.tcp_timestamps=0",
    },
    Entry {
        kind: FindingKind::OldTimestamp,
        counters: &[(TCP_EXT, "PAWSEstab")],
        before: "this host rejected ",
        noun: "segment",
        after: " with an old timestamp (PAWS); kernels without the counter PAWSTimewait include SYNs from reused ports",
        remedy: "look for packets that overtake each other, and for several clients behind one NAT that use the same port",
    },
    Entry {
        kind: FindingKind::AuthenticationFailed,
        counters: &[
            (TCP_EXT, "TCPMD5NotFound"),
            (TCP_EXT, "TCPMD5Unexpected"),
            (TCP_EXT, "TCPMD5Failure"),
            (TCP_EXT, "TCPAORequired"),
            (TCP_EXT, "TCPAOBad"),
            (TCP_EXT, "TCPAOKeyNotFound"),
        ],
        before: "this host dropped ",
        noun: "segment",
        after: " with a missing, wrong or unexpected signature (TCP MD5 or TCP-AO)",
        remedy: "configure the same key on both hosts, for example of a BGP session",
    },
    Entry {
        kind: FindingKind::SocketBacklogDrop,
        counters: &[(TCP_EXT, "TCPBacklogDrop")],
        before: "this host dropped ",
        noun: "segment",
        after: " because the backlog of a busy socket was full",
        remedy: "raise the receive buffer (net.ipv4.tcp_rmem), or give the application more CPU time",
    },
    Entry {
        kind: FindingKind::MinTtlDrop,
        counters: &[(TCP_EXT, "TCPMinTTLDrop")],
        before: "this host dropped ",
        noun: "segment",
        after: " whose TTL was below the minimum of their socket (IP_MINTTL)",
        remedy: "correct the number of hops in the application, for example \"ttl-security\" of BGP",
    },
    Entry {
        kind: FindingKind::ReversePathFilter,
        counters: &[(TCP_EXT, "IPReversePathFilter")],
        before: "the reverse path filter dropped ",
        noun: "packet",
        after: "",
        remedy: "add the missing route back to the sources, or use loose mode on the device where they arrive: sysctl \
                 net.ipv4.conf.DEVICE.rp_filter=2",
    },
    Entry {
        kind: FindingKind::ChecksumError,
        counters: &[("Tcp", "InCsumErrors")],
        before: "this host dropped ",
        noun: "segment",
        after: " with a wrong TCP checksum",
        remedy: "replace the cable or network device that damages packets, or turn its checksum offload off: ethtool -K \
                 DEVICE rx off",
    },
    Entry {
        kind: FindingKind::MemoryPressure,
        counters: &[(TCP_EXT, "TCPMemoryPressures")],
        before: "TCP came under memory pressure ",
        noun: "time",
        after: "",
        remedy: "raise net.ipv4.tcp_mem, or lower the number or the buffers of connections",
    },
    Entry {
        kind: FindingKind::HostQueueDelay,
        counters: &[(TCP_EXT, "TCPSpuriousRtxHostQueues")],
        before: "",
        noun: "retransmission",
        after: " came while the previous copy still waited in a queue of this host",
        remedy: "shorten the queue of the outgoing device, for example with fq_codel (gentle qdisc), and its ring (ethtool -G)",
    },
];

/// Counters that increased between two reads. `always_cookies` is whether net.ipv4.tcp_syncookies is 2.
pub(crate) fn findings(before: &Values, now: &Values, always_cookies: bool) -> Vec<Finding> {
    ENTRIES.iter().filter_map(|entry| entry.finding(before, now, always_cookies)).collect()
}

/// Command that shows counters of a group.
pub(crate) fn check(counters: &[(&str, &str)]) -> String {
    let names: String = counters.iter().map(|(group, name)| format!(" {group}{name}")).collect();
    format!("nstat -asz{names}")
}

impl Entry {
    fn finding(&self, before: &Values, now: &Values, always_cookies: bool) -> Option<Finding> {
        let count: u64 = self.counters.iter().map(|(group, name)| now.since(before, group, name)).sum();
        if count == 0 {
            return None;
        }
        let mut sentence = format!("{}{}{}", self.before, counted(count, self.noun), self.after);
        if self.kind == FindingKind::SynCookiesSent {
            // The kernel counts `TCPReqQFullDoCookies` in both cases (`tcp_syn_flood_action`, net/ipv4/tcp_input.c).
            sentence.push_str(match always_cookies {
                true => " (net.ipv4.tcp_syncookies=2 answers every SYN this way)",
                false => " (the queue of half-open connections was full)",
            });
        }
        Some(Finding {
            kind: self.kind,
            place: String::new(),
            count,
            cumulative: 0,
            sentence,
            remedy: self.remedy.to_owned(),
            check: check(self.counters),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{ENTRIES, findings};
    use crate::counters::Values;
    use crate::kind::FindingKind;
    use std::collections::BTreeSet;

    fn values(text: &str) -> Values {
        let mut values = Values::default();
        values.add(text);
        values
    }

    #[test]
    fn each_kind_has_one_entry_and_increases_alone() {
        let kinds: BTreeSet<FindingKind> = ENTRIES.iter().map(|entry| entry.kind).collect();
        assert_eq!(kinds.len(), ENTRIES.len());
        for entry in ENTRIES {
            for (group, name) in entry.counters {
                let before = values(&format!("{group}: {name}\n{group}: 5\n"));
                let now = values(&format!("{group}: {name}\n{group}: 7\n"));
                let found = findings(&before, &now, false);
                assert_eq!(
                    found.iter().map(|finding| (finding.kind, finding.count)).collect::<Vec<_>>(),
                    [(entry.kind, 2)]
                );
                assert!(found[0].sentence.contains("2 ") && found[0].check.contains(name), "{found:?}");
                assert!(findings(&now, &before, false).is_empty());
            }
        }
    }

    #[test]
    fn syn_cookies_have_their_reason() {
        let cookies = |count| values(&format!("TcpExt: SyncookiesSent\nTcpExt: {count}\n"));
        let sentence = |always| findings(&cookies(1), &cookies(4), always).remove(0).sentence;
        assert!(sentence(false).ends_with("(the queue of half-open connections was full)"));
        assert!(sentence(true).contains("tcp_syncookies=2"));
    }
}
