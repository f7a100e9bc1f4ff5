//! Kinds of findings, and the place in the kernel that counts each.

use schemars::JsonSchema;
use serde::Serialize;

macro_rules! kinds {
    ($($(#[$about:meta])* $kind:ident $name:literal,)*) => {
        /// Kind of a finding. Its documentation has the counter, and the kernel's function that increases it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum FindingKind {
            $($(#[$about])* $kind,)*
        }

        impl FindingKind {
            /// All kinds.
            pub const ALL: &[FindingKind] = &[$(FindingKind::$kind,)*];

            /// Name, as in JSON; for labels of metrics.
            pub fn name(self) -> &'static str {
                match self {
                    $(FindingKind::$kind => $name,)*
                }
            }
        }
    };
}

kinds! {
    /// Connections that waited for accept(2) exceeded the backlog of listen(2): SYNs, and ACKs that complete a handshake,
    /// were dropped. `ListenOverflows`: `tcp_conn_request`, net/ipv4/tcp_input.c; `tcp_v4_syn_recv_sock`,
    /// net/ipv4/tcp_ipv4.c.
    ListenQueueOverflow "listen_queue_overflow",
    /// Limit: the accept queue holds more than its backlog now, so the next SYN is dropped. `idiag_rqueue` and
    /// `idiag_wqueue`: `tcp_diag_get_info`, net/ipv4/tcp_diag.c; `sk_acceptq_is_full`, include/net/sock.h.
    ListenQueueFull "listen_queue_full",
    /// SYNs dropped because the queue of half-open connections was full, without SYN cookies. `TCPReqQFullDrop`:
    /// `tcp_syn_flood_action`, net/ipv4/tcp_input.c.
    SynQueueDrop "syn_queue_drop",
    /// SYNs answered with SYN cookies, because the queue of half-open connections was full or net.ipv4.tcp_syncookies
    /// is 2: such a SYN/ACK is not retransmitted. `SyncookiesSent`: `cookie_init_sequence`, include/net/tcp.h.
    SynCookiesSent "syn_cookies_sent",
    /// ACKs whose SYN cookie was invalid or older than two minutes. `SyncookiesFailed`: `cookie_tcp_check`,
    /// net/ipv4/syncookies.c.
    SynCookiesRejected "syn_cookies_rejected",
    /// Other drops at listening sockets: no memory, no route for the answer, rejection by a security module, or a client
    /// that is not known while the queue of half-open connections is three quarters full and SYN cookies are off.
    /// `ListenDrops` less `ListenOverflows` and `TCPReqQFullDrop`: `tcp_listendrop`, include/net/tcp.h.
    ListenDrop "listen_drop",
    /// ACKs without data that a server with `TCP_DEFER_ACCEPT` ignored. `TCPDeferAcceptDrop`: `tcp_check_req`,
    /// net/ipv4/tcp_minisocks.c.
    DeferAcceptDrop "defer_accept_drop",
    /// SYNs that lost TCP Fast Open because its queue at the server was full. `TCPFastOpenListenOverflow`:
    /// `tcp_fastopen_queue_check`, net/ipv4/tcp_fastopen.c.
    FastOpenQueueFull "fast_open_queue_full",
    /// SYNs whose Fast Open cookie the server rejected. `TCPFastOpenPassiveFail`: `tcp_try_fastopen`,
    /// net/ipv4/tcp_fastopen.c.
    FastOpenServerFail "fast_open_server_fail",
    /// Fast Open connections of this host whose SYN data was not acknowledged. `TCPFastOpenActiveFail`:
    /// `tcp_rcv_fastopen_synack`, net/ipv4/tcp_input.c.
    FastOpenClientFail "fast_open_client_fail",
    /// Fast Open disabled by this host because a path seems to drop its packets. `TCPFastOpenBlackhole`:
    /// `tcp_fastopen_active_disable`, net/ipv4/tcp_fastopen.c.
    FastOpenBlackhole "fast_open_blackhole",
    /// Effect: SYNs and SYN/ACKs that this host retransmitted. `TCPSynRetrans`: `__tcp_retransmit_skb` and
    /// `tcp_rtx_synack`, net/ipv4/tcp_output.c.
    SynRetransmitted "syn_retransmitted",
    /// Effect: handshakes of this host, as client or server, that ended without a connection; refused ones are among
    /// them. `AttemptFails`: `tcp_done`, net/ipv4/tcp.c; `tcp_check_req`, net/ipv4/tcp_minisocks.c.
    AttemptFailed "attempt_failed",
    /// Handshakes that the client, or a device between, reset after the SYN/ACK. `EmbryonicRsts`: `tcp_check_req`,
    /// net/ipv4/tcp_minisocks.c.
    HandshakeReset "handshake_reset",
    /// Retransmitted SYNs that this host did not answer, because it had answered within 500 ms
    /// (net.ipv4.tcp_invalid_ratelimit). `TCPACKSkippedSynRecv`: `tcp_check_req`, net/ipv4/tcp_minisocks.c.
    SynAckLimited "syn_ack_limited",
    /// SYNs for a connection that this host believes to be open: answered with a challenge ACK (RFC 5961, 4.2).
    /// `TCPSYNChallenge`: `tcp_validate_incoming`, net/ipv4/tcp_input.c.
    ConnectionExists "connection_exists",
    /// Challenge ACKs that were not sent because of their rate limit. `TCPACKSkippedChallenge`:
    /// `tcp_send_challenge_ack`, net/ipv4/tcp_input.c.
    ChallengeAckLimited "challenge_ack_limited",
    /// Segments for ports in TIME-WAIT, among them SYNs, that were rejected by their timestamp or ignored by the rate
    /// limit. `PAWSTimewait` and `TCPACKSkippedTimeWait`: `tcp_timewait_state_process`, net/ipv4/tcp_minisocks.c.
    TimeWaitRejected "time_wait_rejected",
    /// Connections closed without TIME-WAIT because its table was full. `TCPTimeWaitOverflow`: `tcp_time_wait`,
    /// net/ipv4/tcp_minisocks.c.
    TimeWaitTableFull "time_wait_table_full",
    /// SYN/ACKs, and ACKs that complete a handshake, whose timestamp echo this host never sent. `PAWSActive`:
    /// `tcp_rcv_synsent_state_process`, net/ipv4/tcp_input.c. `TSEcrRejected`: `tcp_check_req`,
    /// net/ipv4/tcp_minisocks.c.
    TimestampRejected "timestamp_rejected",
    /// Segments whose timestamp was older than the connection's latest; on kernels without `PAWSTimewait` also SYNs for
    /// ports in TIME-WAIT. `PAWSEstab`: `tcp_validate_incoming`, net/ipv4/tcp_input.c; `tcp_check_req`,
    /// net/ipv4/tcp_minisocks.c.
    OldTimestamp "old_timestamp",
    /// Segments without the required MD5 or TCP-AO signature, or with a wrong or unexpected one. `TCPMD5NotFound`,
    /// `TCPMD5Unexpected`, `TCPMD5Failure`, `TCPAORequired`, `TCPAOBad`, `TCPAOKeyNotFound`: `tcp_inbound_hash`,
    /// net/ipv4/tcp.c, and `tcp_inbound_ao_hash`, net/ipv4/tcp_ao.c.
    AuthenticationFailed "authentication_failed",
    /// Segments dropped because the backlog of a socket in use was full. `TCPBacklogDrop`: `tcp_add_backlog`,
    /// net/ipv4/tcp_ipv4.c.
    SocketBacklogDrop "socket_backlog_drop",
    /// Segments whose TTL was below the socket's `IP_MINTTL`. `TCPMinTTLDrop`: `tcp_v4_rcv`, net/ipv4/tcp_ipv4.c.
    MinTtlDrop "min_ttl_drop",
    /// Packets dropped by the reverse path filter. `IPReversePathFilter`: `ip_rcv_finish_core`, net/ipv4/ip_input.c.
    ReversePathFilter "reverse_path_filter",
    /// Segments with a wrong checksum. `InCsumErrors` of TCP: `tcp_v4_rcv`, net/ipv4/tcp_ipv4.c.
    ChecksumError "checksum_error",
    /// Times at which TCP came under memory pressure. `TCPMemoryPressures`: `tcp_enter_memory_pressure`,
    /// net/ipv4/tcp.c.
    MemoryPressure "memory_pressure",
    /// Retransmissions that found the previous copy still in a queue of this host. `TCPSpuriousRtxHostQueues`:
    /// `skb_still_in_host_queue`, net/ipv4/tcp_output.c.
    HostQueueDelay "host_queue_delay",
    /// Limit: connection tracking has as many connections as it may. `nf_conntrack_count` and `nf_conntrack_max`:
    /// net/netfilter/nf_conntrack_standalone.c.
    ConntrackFull "conntrack_full",
    /// Packets that connection tracking dropped because its table was full or its entry could not be made. `drop`:
    /// `nf_conntrack_in`, net/netfilter/nf_conntrack_core.c.
    ConntrackDrop "conntrack_drop",
    /// Entries that connection tracking evicted to make room for new connections. `early_drop`: `early_drop`,
    /// net/netfilter/nf_conntrack_core.c.
    ConntrackEviction "conntrack_eviction",
    /// Packets dropped because another connection had the same addresses and ports. `insert_failed`:
    /// `__nf_conntrack_confirm`, net/netfilter/nf_conntrack_core.c.
    ConntrackClash "conntrack_clash",
    /// Packets of any protocol that a queue discipline dropped. `gnet_stats_queue.drops`: `tc_fill_qdisc`,
    /// net/sched/sch_api.c.
    QdiscDrop "qdisc_drop",
    /// Packets that filters of the qdisc `ingress` or `clsact` dropped. `gnet_stats_queue.drops`: `sch_handle_ingress`,
    /// net/core/dev.c.
    IngressDrop "ingress_drop",
    /// Packets dropped by a firewall rule or by connection tracking. `NETFILTER_DROP`: `nf_hook_slow`,
    /// net/netfilter/core.c.
    FirewallDrop "firewall_drop",
    /// `SOCKET_FILTER`: `sk_filter_trim_cap`, net/core/filter.c.
    SocketFilterDrop "socket_filter_drop",
    /// `BPF_CGROUP_EGRESS`: `ip_finish_output`, net/ipv4/ip_output.c.
    CgroupDrop "cgroup_drop",
    /// `TC_INGRESS` and `TC_EGRESS`: `sch_handle_ingress` and `sch_handle_egress`, net/core/dev.c.
    TcFilterDrop "tc_filter_drop",
    /// `XDP`: `do_xdp_generic`, net/core/dev.c, and drivers.
    XdpDrop "xdp_drop",
    /// `SECURITY_HOOK`: hooks of security modules, include/net/dropreason-core.h.
    SecurityModuleDrop "security_module_drop",
    /// `XFRM_POLICY`: `tcp_v4_rcv`, net/ipv4/tcp_ipv4.c.
    IpsecPolicyDrop "ipsec_policy_drop",
    /// `NEIGH_FAILED`, `NEIGH_QUEUEFULL`, `NEIGH_CREATEFAIL` and `NEIGH_DEAD`: `__neigh_event_send`,
    /// net/core/neighbour.c; `ip_finish_output2`, net/ipv4/ip_output.c.
    NeighbourDrop "neighbour_drop",
    /// `CPU_BACKLOG`: `enqueue_to_backlog`, net/core/dev.c.
    CpuBacklogDrop "cpu_backlog_drop",
    /// `FULL_RING`: `tun_net_xmit`, drivers/net/tun.c, and other drivers.
    DeviceRingFull "device_ring_full",
    /// `NOMEM`, `PROTO_MEM` and `PFMEMALLOC`: no memory for a packet, include/net/dropreason-core.h.
    NoMemoryDrop "no_memory_drop",
    /// `TCP_FLAGS`: `tcp_rcv_state_process`, net/ipv4/tcp_input.c.
    InvalidFlagsDrop "invalid_flags_drop",
    /// `IP_LOCAL_SOURCE`, `IP_INVALID_SOURCE` and `IP_LOCALNET`: `ip_route_input_slow`, net/ipv4/route.c.
    InvalidSourceDrop "invalid_source_drop",
    /// `IP_INNOROUTES`, `IP_OUTNOROUTES` and `IP_INADDRERRORS`: `ip_error`, net/ipv4/route.c; `ip6_pkt_drop`,
    /// net/ipv6/route.c.
    NoRouteDrop "no_route_drop",
}

impl FindingKind {
    /// Whether the finding is a limit that is reached now, instead of events since the previous read.
    pub fn is_limit(self) -> bool {
        matches!(self, FindingKind::ListenQueueFull | FindingKind::ConntrackFull)
    }

    /// Whether the finding is an effect, whose cause can be on another host.
    pub fn is_effect(self) -> bool {
        matches!(self, FindingKind::SynRetransmitted | FindingKind::AttemptFailed)
    }

    /// Whether the kernel counts the events of all network namespaces together.
    pub fn is_of_machine(self) -> bool {
        self >= FindingKind::FirewallDrop
    }
}

impl std::fmt::Display for FindingKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::FindingKind;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique_and_equal_in_json() {
        let names: BTreeSet<&str> = FindingKind::ALL.iter().map(|kind| kind.name()).collect();
        assert_eq!(names.len(), FindingKind::ALL.len());
        for kind in FindingKind::ALL {
            assert_eq!(serde_json::to_value(kind).expect("JSON"), kind.name());
        }
    }
}
