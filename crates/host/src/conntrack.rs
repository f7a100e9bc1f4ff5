//! Connection tracking: the size of its table, and the packets it dropped.

use crate::finding::Finding;
use crate::kind::FindingKind;
use crate::missing::{Missing, Source};
use crate::proc_file::ProcFile;
use crate::wording::counted;
use std::io;

/// Counters of connection tracking, of all CPUs together.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Statistics {
    drop: u64,
    early_drop: u64,
    insert_failed: u64,
}

impl Statistics {
    /// Parses /proc/net/stat/nf_conntrack: a line of names, and a line of hexadecimal numbers per CPU
    /// (`ct_cpu_seq_show`, net/netfilter/nf_conntrack_standalone.c).
    fn parse(text: &str) -> Statistics {
        let mut lines = text.lines();
        let names: Vec<&str> = lines.next().unwrap_or_default().split_whitespace().collect();
        let mut statistics = Statistics::default();
        for line in lines {
            for (name, value) in names.iter().zip(line.split_whitespace()) {
                let sum = match *name {
                    "drop" => &mut statistics.drop,
                    "early_drop" => &mut statistics.early_drop,
                    "insert_failed" => &mut statistics.insert_failed,
                    _ => continue,
                };
                *sum = sum.saturating_add(u64::from_str_radix(value, 16).unwrap_or(0));
            }
        }
        statistics
    }
}

/// Connection tracking of a network namespace.
#[derive(Debug)]
pub(crate) struct Conntrack {
    count: ProcFile,
    max: ProcFile,
    statistics: Option<ProcFile>,
    before: Option<Statistics>,
}

impl Conntrack {
    pub(crate) fn open() -> Result<Conntrack, Missing> {
        let open = || {
            Ok(Conntrack {
                count: ProcFile::open("/proc/sys/net/netfilter/nf_conntrack_count")?,
                max: ProcFile::open("/proc/sys/net/netfilter/nf_conntrack_max")?,
                // Kernels without CONFIG_NF_CONNTRACK_PROCFS do not have it.
                statistics: ProcFile::open("/proc/thread-self/net/stat/nf_conntrack").ok(),
                before: None,
            })
        };
        open().map_err(|error: io::Error| {
            let remedy =
                "none if this host has no stateful firewall or NAT; otherwise load its module: modprobe nf_conntrack";
            Missing::new(Source::Conntrack, "the table of connection tracking", &error, remedy)
        })
    }

    pub(crate) fn read(&mut self) -> Vec<Finding> {
        let mut list = Vec::new();
        if let (Some(count), Some(max)) = (self.count.number(), self.max.number()) {
            list.extend(full(count, max));
        }
        let Some(text) = self.statistics.as_ref().and_then(|file| file.read().ok()) else { return list };
        let now = Statistics::parse(&text);
        if let Some(before) = self.before.replace(now) {
            list.extend(increases(before, now));
        }
        list
    }
}

fn full(count: u64, max: u64) -> Option<Finding> {
    // 0 is no limit (`__nf_conntrack_alloc`, net/netfilter/nf_conntrack_core.c).
    (max > 0 && count >= max).then(|| Finding {
        kind: FindingKind::ConntrackFull,
        place: String::new(),
        count: 1,
        cumulative: 0,
        sentence: format!(
            "the table of connection tracking is full: it has {count} connections, and its limit is {max}"
        ),
        remedy: REMEDY_FULL.to_owned(),
        check: "sysctl net.netfilter.nf_conntrack_count net.netfilter.nf_conntrack_max".to_owned(),
    })
}

const REMEDY_FULL: &str = "raise net.netfilter.nf_conntrack_max, shorten net.netfilter.nf_conntrack_tcp_timeout_established, or \
                           exclude connections from tracking (notrack)";

fn increases(before: Statistics, now: Statistics) -> Vec<Finding> {
    let finding = |kind, before: u64, now: u64, sentence: &dyn Fn(u64) -> String, remedy: &str| {
        let count = now.saturating_sub(before);
        (count > 0).then(|| Finding {
            kind,
            place: String::new(),
            count,
            cumulative: 0,
            sentence: sentence(count),
            remedy: remedy.to_owned(),
            check: "conntrack -S".to_owned(),
        })
    };
    let drop = |count| {
        let packets = counted(count, "packet");
        format!("connection tracking dropped {packets} because its table was full or it had no memory")
    };
    let early_drop =
        |count| format!("connection tracking evicted {} to make room for new ones", counted(count, "connection"));
    let insert_failed = |count| {
        let packets = counted(count, "packet");
        format!("connection tracking dropped {packets} because another connection had the same addresses and ports")
    };
    let clash = "widen the port range of NAT rules, or use random ports: masquerade random,fully-random";
    [
        finding(FindingKind::ConntrackDrop, before.drop, now.drop, &drop, REMEDY_FULL),
        finding(FindingKind::ConntrackEviction, before.early_drop, now.early_drop, &early_drop, REMEDY_FULL),
        finding(FindingKind::ConntrackClash, before.insert_failed, now.insert_failed, &insert_failed, clash),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[cfg(test)]
mod tests {
    use super::{Statistics, full, increases};
    use crate::kind::FindingKind;
    use proptest::prelude::*;

    /// /proc/net/stat/nf_conntrack of Linux 6.18 with two CPUs; numbers changed.
    const SAMPLE: &str = "\
entries  clashres found new invalid ignore delete chainlength insert insert_failed drop early_drop icmp_error  expect_new expect_create expect_delete search_restart
0000010a 00000000 00000005 00000000 00000002 00000000 00000000 00000000 00000000 00000003 0000000f 00000010 00000000  00000000 00000000 00000000 00000000
0000010a 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000001 000000a0 00000000 00000000  00000000 00000000 00000000 00000000
";

    #[test]
    fn all_cpus_are_added() {
        assert_eq!(Statistics::parse(SAMPLE), Statistics { drop: 0xaf, early_drop: 0x10, insert_failed: 4 });
    }

    #[test]
    fn increases_are_findings() {
        let found = increases(Statistics { drop: 170, ..Statistics::default() }, Statistics::parse(SAMPLE));
        let kinds: Vec<(FindingKind, u64)> = found.iter().map(|finding| (finding.kind, finding.count)).collect();
        assert_eq!(
            kinds,
            [(FindingKind::ConntrackDrop, 5), (FindingKind::ConntrackEviction, 16), (FindingKind::ConntrackClash, 4)]
        );
    }

    #[test]
    fn a_table_is_full_at_its_limit() {
        assert!(full(99, 100).is_none() && full(5, 0).is_none());
        let finding = full(100, 100).expect("a finding");
        assert!(finding.sentence.contains("100 connections") && finding.kind.is_limit());
    }

    proptest! {
        #[test]
        fn any_text_is_parsed(text in r"(?s)(drop|early_drop|[ \n0-9a-f]|.){0,100}") {
            Statistics::parse(&text);
        }
    }
}
