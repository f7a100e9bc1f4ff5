//! Packets, bytes, SYNs and retransmissions of every connection equal `tcptrace`'s, except for known differences.

use crate::{captures, tcptrace};
use gentle_testkit::zeek;
use gentle_trace::Options;
use gentle_trace::results::Analysis;
use gentle_trace::row::Row;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::thread;

/// Direction between two ends, sender first.
type Way = [(IpAddr, u16); 2];

/// Segments sent in one direction, over all connections between two ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Sent {
    packets: i64,
    bytes: i64,
    again: i64,
    syns: i64,
}

impl Sent {
    fn add(&mut self, other: Sent) {
        self.packets += other.packets;
        self.bytes += other.bytes;
        self.again += other.again;
        self.syns += other.syns;
    }

    /// Difference to `other`.
    fn minus(self, other: Sent) -> Sent {
        Sent {
            packets: self.packets - other.packets,
            bytes: self.bytes - other.bytes,
            again: self.again - other.again,
            syns: self.syns - other.syns,
        }
    }
}

fn theirs(path: &Path) -> BTreeMap<Way, Sent> {
    let mut all: BTreeMap<Way, Sent> = BTreeMap::new();
    for [(a, from_a), (b, from_b)] in tcptrace::connections(path) {
        for (way, side) in [([a, b], from_a), ([b, a], from_b)] {
            all.entry(way).or_default().add(Sent {
                packets: side.packets as i64,
                bytes: side.bytes as i64,
                again: side.again as i64,
                syns: side.syns as i64,
            });
        }
    }
    all
}

fn ours(rows: &[Row], theirs: &BTreeMap<Way, Sent>) -> BTreeMap<Way, Sent> {
    let mut all: BTreeMap<Way, Sent> = BTreeMap::new();
    for row in rows {
        let client = (row.client.into(), row.client_port);
        let server = (row.server.into(), row.server_port);
        let client_syns = i64::from(row.syn_seen) + i64::from(row.syn_retransmissions);
        // A row does not show whether a SYN/ACK was seen in a failed attempt, so it is not compared.
        let server_syns = match row.established {
            true => 1 + i64::from(row.synack_retransmissions),
            false => theirs.get(&[server, client]).map_or(0, |sent| sent.syns),
        };
        for (way, side, syns) in
            [([client, server], row.from_client, client_syns), ([server, client], row.from_server, server_syns)]
        {
            all.entry(way).or_default().add(Sent {
                packets: side.segments as i64,
                bytes: side.bytes as i64,
                again: side.retransmissions as i64,
                syns,
            });
        }
    }
    all
}

/// Reason why counts differ, and how.
#[derive(Debug, Clone, Copy)]
enum Reason {
    /// `tcptrace` skips frames: it has fewer connections, with fewer packets.
    Skips(&'static str),
    /// Frames are duplicated: `tcptrace` counts copies as packets and retransmissions, gentle counts them separately.
    Copies,
    /// `tcptrace` counts keep-alives as retransmissions, gentle counts them separately.
    Probes,
    /// The length in the IP header is 0, because the network card was to segment the data: gentle uses the length of
    /// the frame, `tcptrace` skips the packet.
    Offloaded,
    /// Known differences: client and server port, and the number of packets, bytes, retransmissions and SYNs.
    Known(&'static str, &'static [(u16, u16, [i64; 4])]),
}

impl Reason {
    fn in_words(self) -> &'static str {
        match self {
            Reason::Skips(why) | Reason::Known(why, _) => why,
            Reason::Copies => "frames came twice",
            Reason::Probes => "some are keep-alives",
            Reason::Offloaded => "the length in the IP header is 0",
        }
    }
}

const LINK: Reason = Reason::Skips("it does not know the link type");
const HEADERS: Reason = Reason::Skips("of what stands before IP it knows one VLAN tag at most");

const REASONS: [(&str, Reason); 29] = [
    (
        "zeek/ftp/bigtransfer.pcap",
        Reason::Known(
            "of 5.4 GB a few segments are there: which are old and which new cannot be told",
            &[(37_150, 59_764, [0, -2_256, 2, 0])],
        ),
    ),
    ("zeek/http-qinq-0.pcap", HEADERS),
    ("zeek/http/261/variant-01-chunk_2pow64_overflow.pcap", LINK),
    ("zeek/http/261/variant-03-cl_negative.pcap", LINK),
    ("zeek/http/261/variant-09-te_obs_fold.pcap", LINK),
    ("zeek/http/261/variant-10-multi_value_te.pcap", LINK),
    ("zeek/http/basic-auth-with-colon.pcap", LINK),
    ("zeek/http/ctu-62604-80.pcap", Reason::Copies),
    ("zeek/http/m57-long-49600-80.pcap", Reason::Copies),
    ("zeek/http/vnd.ms-cab-compressed-multi-conn.pcap", Reason::Copies),
    (
        "zeek/ipv6-http-atomic-frag.pcap",
        Reason::Known(
            "tcptrace takes extension headers of IPv6 for data, and where they are fragment headers for ports",
            &[
                (27_393, 80, [0, -8, -4, 0]),
                (36_951, 80, [0, -8, -4, 0]),
                (45_805, 80, [0, -8, -2, 0]),
                (59_694, 80, [5, 15, 0, 1]),
                (65_094, 12_812, [-1, -27, 0, 0]),
            ],
        ),
    ),
    ("zeek/krb/kerberos_tso.pcapng", Reason::Offloaded),
    ("zeek/ldap/gap-data-missing.pcapng", Reason::Skips("it gives up: the interfaces have different snap lengths")),
    ("zeek/ldap/missing_ldap_logs.pcapng", Reason::Offloaded),
    ("zeek/mpls-in-vlan.pcap", HEADERS),
    ("zeek/mysql/mysql8-navicat-login-failed.pcap", Reason::Copies),
    ("zeek/pbb.pcap", HEADERS),
    ("zeek/pppoe-over-qinq.pcap", HEADERS),
    ("zeek/quic/383379789-decrypt-crash.pcap", Reason::Skips("it takes the only segment for damaged")),
    ("zeek/smb/smb_v2_only_non_zero_reserved1.pcap", Reason::Probes),
    ("zeek/tcp-syslog.pcap", LINK),
    ("zeek/tcp/ctu-64702-888.pcap", Reason::Copies),
    (
        "zeek/tcp/reassembly.pcap",
        Reason::Known(
            "three segments fill holes late: retransmissions of what was lost before; tcptrace calls them out of order",
            &[(2_564, 80, [0, 0, 3, 0])],
        ),
    ),
    (
        "zeek/tcp/retransmit-timeout.pcapng",
        Reason::Known(
            "tcptrace takes what comes after 300 s of silence for a new connection: what is sent again there is new to it",
            &[(51_889, 80, [0, -18, 1, 0])],
        ),
    ),
    ("zeek/tcp/ssh-dups.pcap", Reason::Copies),
    ("zeek/tcp/timeout-with-pings.pcap", LINK),
    ("zeek/telnet-auth-missing-name.pcap", LINK),
    (
        "zeek/vlan-collisions.pcap",
        Reason::Known(
            "frames came three times, 50 ms apart, and of the copies tcptrace skips half",
            &[(59_856, 80, [-7, 0, -3, -1]), (80, 59_856, [-7, 0, -6, -1])],
        ),
    ),
    ("zeek/vlan-qinqinq.pcap", HEADERS),
];

fn differences(ours: &BTreeMap<Way, Sent>, theirs: &BTreeMap<Way, Sent>) -> BTreeMap<Way, Sent> {
    let ways: BTreeSet<&Way> = ours.keys().chain(theirs.keys()).collect();
    let sent = |by: &BTreeMap<Way, Sent>, way| by.get(way).copied().unwrap_or_default();
    ways.into_iter()
        .map(|way| (*way, sent(ours, way).minus(sent(theirs, way))))
        .filter(|(_, difference)| *difference != Sent::default())
        .collect()
}

/// Whether the reason accounts for the differences: our counts minus `tcptrace`'s.
fn explained(reason: Reason, analysis: &Analysis, differences: &BTreeMap<Way, Sent>) -> bool {
    let mut each = differences.values();
    let mut total = Sent::default();
    differences.values().for_each(|sent| total.add(*sent));
    match reason {
        Reason::Skips(_) => each.all(|sent| sent.packets > 0 && sent.bytes >= 0),
        Reason::Copies => {
            let copies = analysis.handshakes.capture_duplicates;
            total.packets == -((copies.syn + copies.synack + copies.other) as i64)
                && (-((copies.syn + copies.synack) as i64)..=0).contains(&total.syns)
                && each.all(|sent| sent.bytes == 0 && (sent.packets..=sent.syns).contains(&sent.again))
        }
        Reason::Probes => {
            total.again == -(analysis.retransmissions.probes as i64)
                && each.all(|sent| (sent.packets, sent.bytes, sent.syns) == (0, 0, 0))
        }
        Reason::Offloaded => {
            each.all(|sent| sent.packets > 0 && sent.bytes >= sent.packets && (sent.again, sent.syns) == (0, 0))
        }
        Reason::Known(_, known) => known.iter().copied().eq(differences.iter().map(|(way, sent)| {
            let counts = [sent.packets, sent.bytes, sent.again, sent.syns];
            (way[0].1, way[1].1, counts)
        })),
    }
}

/// Compares a capture. Returns the number of directions of connections, and of those that are equal.
fn compare(path: &Path) -> [usize; 2] {
    let name = zeek::name(path);
    let (analysis, rows) = captures::analyze_files(&[path], &Options::default());
    let theirs = theirs(path);
    let ours = ours(&rows, &theirs);
    let differences = differences(&ours, &theirs);
    match REASONS.iter().find(|(capture, _)| *capture == name) {
        None => assert!(differences.is_empty(), "{name}: {differences:#?}"),
        Some((_, reason)) => assert!(
            !differences.is_empty() && explained(*reason, &analysis, &differences),
            "{name}: {} explains other differences: {differences:#?}",
            reason.in_words()
        ),
    }
    [ours.len(), ours.len().saturating_sub(differences.len())]
}

#[test]
fn as_tcptrace_counts_them() {
    let captures = zeek::all();
    let compare_all = |paths: &[PathBuf]| {
        paths.iter().map(|path| compare(path)).fold([0, 0], |sum, next| [sum[0] + next[0], sum[1] + next[1]])
    };
    let [compared, same] = thread::scope(|scope| {
        let halves: Vec<_> =
            captures.chunks(captures.len().div_ceil(2)).map(|paths| scope.spawn(move || compare_all(paths))).collect();
        let halves = halves.into_iter().map(|half| half.join().expect("the counts agree"));
        halves.fold([0, 0], |sum, next| [sum[0] + next[0], sum[1] + next[1]])
    });
    println!("{same} of {compared} directions of connections are the same");
    assert!(same > 800, "there is something to compare: {same} of {compared}");
}
