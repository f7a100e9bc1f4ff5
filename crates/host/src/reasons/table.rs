//! Reasons that matter for handshakes, with their kinds and words. Names: include/net/dropreason-core.h.

use crate::finding::Finding;
use crate::kind::FindingKind;
use crate::wording::counted;

/// Reasons of a kind, and its words.
struct Entry {
    kind: FindingKind,
    reasons: &'static [&'static str],
    /// Words before the number of packets, with a trailing space, and after it.
    before: &'static str,
    after: &'static str,
    remedy: &'static str,
    check: &'static str,
}

const ENTRIES: &[Entry] = &[
    Entry {
        kind: FindingKind::FirewallDrop,
        reasons: &["NETFILTER_DROP"],
        before: "netfilter, by a firewall rule or by connection tracking, dropped ",
        after: "",
        remedy: "if no finding names connection tracking, find the rule by its counter, and add an exception if it drops SYNs or \
                 SYN/ACKs of wanted connections",
        check: "nft list ruleset",
    },
    Entry {
        kind: FindingKind::SocketFilterDrop,
        reasons: &["SOCKET_FILTER"],
        before: "a filter of a socket (BPF) dropped ",
        after: "",
        remedy: "correct the filter that the application or its service manager attached (SO_ATTACH_FILTER, IPAddressDeny of \
                 systemd)",
        check: "bpftool prog show",
    },
    Entry {
        kind: FindingKind::CgroupDrop,
        reasons: &["BPF_CGROUP_EGRESS"],
        before: "a BPF program of a control group dropped ",
        after: " on departure",
        remedy: "correct the limits of the service (IPAddressDeny of systemd) or the network policy of the container",
        check: "bpftool cgroup tree",
    },
    Entry {
        kind: FindingKind::TcFilterDrop,
        reasons: &["TC_INGRESS", "TC_EGRESS"],
        before: "a filter or BPF program of traffic control dropped ",
        after: "",
        remedy: "find the filter, which can be a policer or a container's network policy, and add an exception",
        check: "tc -s qdisc show",
    },
    Entry {
        kind: FindingKind::XdpDrop,
        reasons: &["XDP"],
        before: "an XDP program dropped ",
        after: "",
        remedy: "correct the XDP program, for example of a load balancer or DDoS protection",
        check: "bpftool net show",
    },
    Entry {
        kind: FindingKind::SecurityModuleDrop,
        reasons: &["SECURITY_HOOK"],
        before: "a security module dropped ",
        after: "",
        remedy: "permit the connection in the policy of SELinux or Smack",
        check: "ausearch -m AVC -ts recent",
    },
    Entry {
        kind: FindingKind::IpsecPolicyDrop,
        reasons: &["XFRM_POLICY"],
        before: "an IPsec policy dropped ",
        after: "",
        remedy: "correct the policy, or establish the security association that it requires",
        check: "ip xfrm policy",
    },
    Entry {
        kind: FindingKind::NeighbourDrop,
        reasons: &["NEIGH_FAILED", "NEIGH_QUEUEFULL", "NEIGH_CREATEFAIL", "NEIGH_DEAD"],
        before: "this machine dropped ",
        after: " because the link-layer address of the next host was unknown (ARP or neighbour discovery)",
        remedy: "find out why the next host does not answer; raise net.ipv4.neigh.default.gc_thresh3 if the table is full",
        check: "ip neigh show nud failed",
    },
    Entry {
        kind: FindingKind::CpuBacklogDrop,
        reasons: &["CPU_BACKLOG"],
        before: "this machine dropped ",
        after: " on arrival because the backlog of a CPU was full",
        remedy: "distribute packets over more CPUs (RSS, RPS), or raise net.core.netdev_max_backlog",
        check: "cat /proc/net/softnet_stat",
    },
    Entry {
        kind: FindingKind::DeviceRingFull,
        reasons: &["FULL_RING"],
        before: "this machine dropped ",
        after: " because the ring of a device was full, as of a virtual machine or VPN that reads too slowly",
        remedy: "give the reader more CPU time, or lengthen the ring (txqueuelen of tun and tap devices)",
        check: "ip -s link show",
    },
    Entry {
        kind: FindingKind::NoMemoryDrop,
        reasons: &["NOMEM", "PROTO_MEM", "PFMEMALLOC"],
        before: "this machine had no memory for ",
        after: "",
        remedy: "free memory, raise vm.min_free_kbytes, or raise net.ipv4.tcp_mem",
        check: "cat /proc/net/sockstat",
    },
    Entry {
        kind: FindingKind::InvalidFlagsDrop,
        reasons: &["TCP_FLAGS"],
        before: "this machine dropped ",
        after: " with invalid TCP flags, such as SYN and FIN",
        remedy: "none if scanners send them; otherwise look for a device that rewrites TCP headers",
        check: "tcpdump -ni any 'tcp[tcpflags] & (tcp-syn|tcp-fin) == (tcp-syn|tcp-fin)'",
    },
    Entry {
        kind: FindingKind::InvalidSourceDrop,
        reasons: &["IP_LOCAL_SOURCE", "IP_INVALID_SOURCE", "IP_LOCALNET"],
        before: "this machine dropped ",
        after: " with an impossible source or destination address",
        remedy: "look for an address that two hosts have, and for spoofed packets; net.ipv4.conf.all.log_martians=1 logs them",
        check: "dmesg | grep martian",
    },
    Entry {
        kind: FindingKind::NoRouteDrop,
        reasons: &["IP_INNOROUTES", "IP_OUTNOROUTES", "IP_INADDRERRORS"],
        before: "this machine had no route for ",
        after: "",
        remedy: "add the route, or turn forwarding on (net.ipv4.ip_forward=1) if this machine is a router",
        check: "ip route show table all",
    },
];

/// Findings of the reasons that matter here, from increases by the name of the reason.
pub(super) fn findings<'a>(increases: impl Iterator<Item = (&'a str, u64)>) -> Vec<Finding> {
    let mut counts: Vec<(u64, Vec<&str>)> = vec![(0, Vec::new()); ENTRIES.len()];
    for (name, count) in increases {
        if let Some(position) = ENTRIES.iter().position(|entry| entry.reasons.contains(&name)) {
            counts[position].0 += count;
            counts[position].1.push(name);
        }
    }
    let found = ENTRIES.iter().zip(counts).filter(|(_, (count, _))| *count > 0);
    found.map(|(entry, (count, names))| entry.finding(count, &names)).collect()
}

impl Entry {
    fn finding(&self, count: u64, names: &[&str]) -> Finding {
        Finding {
            kind: self.kind,
            place: String::new(),
            count,
            cumulative: 0,
            sentence: format!(
                "{}{}{} (of any protocol, in all network namespaces of this machine; kernel: {})",
                self.before,
                counted(count, "packet"),
                self.after,
                names.join(", ")
            ),
            remedy: self.remedy.to_owned(),
            check: self.check.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ENTRIES, findings};
    use crate::kind::FindingKind;
    use std::collections::BTreeSet;

    #[test]
    fn each_kind_of_the_machine_has_one_entry() {
        let kinds: Vec<FindingKind> = ENTRIES.iter().map(|entry| entry.kind).collect();
        let of_machine: Vec<FindingKind> =
            FindingKind::ALL.iter().copied().filter(|kind| kind.is_of_machine()).collect();
        assert_eq!(kinds, of_machine);
        let reasons: Vec<&str> = ENTRIES.iter().flat_map(|entry| entry.reasons).copied().collect();
        assert_eq!(reasons.iter().collect::<BTreeSet<_>>().len(), reasons.len());
    }

    #[test]
    fn reasons_of_a_kind_are_added() {
        let increases = [("TC_EGRESS", 2), ("NO_SOCKET", 5), ("NETFILTER_DROP", 1), ("TC_INGRESS", 3)];
        let found = findings(increases.into_iter());
        let counts: Vec<(FindingKind, u64)> = found.iter().map(|finding| (finding.kind, finding.count)).collect();
        assert_eq!(counts, [(FindingKind::FirewallDrop, 1), (FindingKind::TcFilterDrop, 5)]);
        assert!(
            found[0].sentence.starts_with("netfilter, by a firewall rule or by connection tracking, dropped 1 packet")
        );
        assert!(found[1].sentence.ends_with("kernel: TC_EGRESS, TC_INGRESS)"), "{}", found[1].sentence);
    }
}
