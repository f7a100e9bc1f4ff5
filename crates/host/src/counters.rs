//! Counters of TCP and IP: /proc/net/netstat and /proc/net/snmp.

use crate::missing::{Missing, Source};
use crate::proc_file::ProcFile;
use std::collections::BTreeMap;

/// Values by group (`TcpExt`) and name (`ListenOverflows`).
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Values {
    values: BTreeMap<String, BTreeMap<String, u64>>,
}

impl Values {
    /// Adds the values of a text of pairs of lines: a group with names, and the same group with their values
    /// (`netstat_seq_show` and `snmp_seq_show`, net/ipv4/proc.c). Negative values are limits and are skipped.
    pub(crate) fn add(&mut self, text: &str) {
        let mut lines = text.lines();
        while let (Some(names), Some(values)) = (lines.next(), lines.next()) {
            let (Some((group, names)), Some((again, values))) = (names.split_once(':'), values.split_once(':')) else {
                continue;
            };
            if group != again {
                continue;
            }
            let of_group = self.values.entry(group.to_owned()).or_default();
            for (name, value) in names.split_whitespace().zip(values.split_whitespace()) {
                if let Ok(value) = value.parse() {
                    of_group.insert(name.to_owned(), value);
                }
            }
        }
    }

    pub(crate) fn get(&self, group: &str, name: &str) -> Option<u64> {
        self.values.get(group)?.get(name).copied()
    }

    /// Increase of a counter since an earlier read; 0 if this kernel does not have it.
    pub(crate) fn since(&self, earlier: &Values, group: &str, name: &str) -> u64 {
        match (self.get(group, name), earlier.get(group, name)) {
            (Some(now), Some(before)) => now.saturating_sub(before),
            _ => 0,
        }
    }
}

/// Files with the counters of a network namespace.
#[derive(Debug)]
pub(crate) struct Counters {
    netstat: ProcFile,
    snmp: ProcFile,
    /// net.ipv4.tcp_syncookies; kernels without SYN cookies do not have it.
    syn_cookies: Option<ProcFile>,
}

impl Counters {
    pub(crate) fn open() -> Result<Counters, Missing> {
        // The thread's namespace is also the namespace of its netlink sockets; /proc/self is the first thread's.
        let open = |name| {
            ProcFile::open(format!("/proc/thread-self/net/{name}")).map_err(|error| {
                Missing::new(Source::Counters, "counters of TCP and IP", &error, "mount proc: mount -t proc proc /proc")
            })
        };
        let syn_cookies = ProcFile::open("/proc/sys/net/ipv4/tcp_syncookies").ok();
        Ok(Counters { netstat: open("netstat")?, snmp: open("snmp")?, syn_cookies })
    }

    /// Present values; `None` if they cannot be read at the moment.
    pub(crate) fn read(&self) -> Option<Values> {
        let mut values = Values::default();
        values.add(&self.netstat.read().ok()?);
        values.add(&self.snmp.read().ok()?);
        Some(values)
    }

    /// Whether all SYNs are answered with SYN cookies.
    pub(crate) fn always_cookies(&self) -> bool {
        self.syn_cookies.as_ref().and_then(ProcFile::number) == Some(2)
    }
}

#[cfg(test)]
mod tests {
    use super::Values;
    use proptest::prelude::*;

    /// Lines of /proc/net/netstat and /proc/net/snmp of Linux 6.18, shortened.
    const SAMPLE: &str = "\
TcpExt: SyncookiesSent SyncookiesRecv SyncookiesFailed EmbryonicRsts TW ListenOverflows ListenDrops TCPSynRetrans
TcpExt: 0 0 0 0 2646 25 26 390
IpExt: InNoRoutes InTruncatedPkts InMcastPkts
IpExt: 0 0 7
Ip: Forwarding DefaultTTL InReceives
Ip: 2 64 171303
Tcp: RtoAlgorithm RtoMin RtoMax MaxConn ActiveOpens PassiveOpens AttemptFails
Tcp: 1 200 120000 -1 6393 3050 3178
";

    #[test]
    fn values_have_their_names() {
        let mut values = Values::default();
        values.add(SAMPLE);
        for (group, name, value) in [
            ("TcpExt", "ListenOverflows", Some(25)),
            ("TcpExt", "ListenDrops", Some(26)),
            ("TcpExt", "TCPSynRetrans", Some(390)),
            ("Tcp", "MaxConn", None),
            ("Tcp", "AttemptFails", Some(3178)),
            ("IpExt", "InMcastPkts", Some(7)),
            ("Udp", "InErrors", None),
        ] {
            assert_eq!(values.get(group, name), value, "{group} {name}");
        }
    }

    #[test]
    fn an_increase_needs_both_values() {
        let (mut before, mut now) = (Values::default(), Values::default());
        before.add("TcpExt: A B\nTcpExt: 5 9\n");
        now.add("TcpExt: A B C\nTcpExt: 8 2 4\n");
        assert_eq!(["A", "B", "C", "D"].map(|name| now.since(&before, "TcpExt", name)), [3, 0, 0, 0]);
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in r"(?s)(TcpExt:|Tcp:|[ \n0-9A-Z:-]|.){0,200}") {
            Values::default().add(&text);
        }
    }
}
