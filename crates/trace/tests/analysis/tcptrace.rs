//! Connections as `tcptrace` shows them.

use crate::programs;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::net::{IpAddr, Ipv6Addr};
use std::path::Path;

/// Counts of the segments that one endpoint of a connection sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Side {
    pub(crate) packets: u64,
    /// Payload bytes, each counted once.
    pub(crate) bytes: u64,
    pub(crate) syns: u64,
    /// Packets with sequence numbers seen before, including zero-window probes.
    pub(crate) again: u64,
    /// Packets with sequence numbers that had been skipped.
    pub(crate) late: u64,
}

/// Endpoints of a connection with the counts of each.
pub(crate) type Connection = [((IpAddr, u16), Side); 2];

/// Connections of a capture; empty if `tcptrace` cannot read it.
pub(crate) fn connections(path: &Path) -> Vec<Connection> {
    let args = ["-n", "-l", "--csv"].map(OsStr::new).into_iter();
    let text = programs::output("tcptrace", args.chain([path.as_os_str()]));
    let mut lines = text
        .lines()
        .filter(|line| line.contains(',') && !line.starts_with('#'))
        .map(|line| line.split(',').map(str::trim).collect::<Vec<&str>>());
    let names = lines.next().unwrap_or_default();
    lines.map(|values| connection(&names.iter().copied().zip(values).collect())).collect()
}

fn connection(fields: &HashMap<&str, &str>) -> Connection {
    let number = |name: String| -> u64 {
        let text = fields[name.as_str()];
        text.parse().unwrap_or_else(|error| panic!("{name} {text}: {error}"))
    };
    [("a", "a2b"), ("b", "b2a")].map(|(end, way)| {
        let of = |name: &str| number(format!("{name}_{way}"));
        let port = number(format!("port_{end}")) as u16;
        let (syns, _fins) = fields[format!("SYN/FIN_pkts_sent_{way}").as_str()].split_once('/').expect("two counts");
        let side = Side {
            packets: of("total_packets"),
            bytes: of("unique_bytes_sent"),
            syns: syns.parse().expect("a count"),
            again: of("rexmt_data_pkts") + of("zwnd_probe_pkts"),
            late: of("outoforder_pkts"),
        };
        ((address(fields[format!("host_{end}").as_str()]), port), side)
    })
}

fn address(text: &str) -> IpAddr {
    match text {
        // tcptrace's notation of ::1.
        ":0001" => Ipv6Addr::LOCALHOST.into(),
        _ => text.parse().expect("an address"),
    }
}
