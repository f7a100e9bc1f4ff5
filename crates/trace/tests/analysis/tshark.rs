//! TCP segments as Wireshark's `tshark` shows them.
//!
//! `tshark` takes a second to start, so all captures are concatenated by `mergecap` and read at once; `capinfos` gives
//! the number of packets of each.

use crate::programs;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// TCP header with the addresses around it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) ends: Ends,
    pub(crate) seq: u32,
    pub(crate) ack: u32,
    pub(crate) flags: u16,
}

/// Addresses and ports, sender first.
pub(crate) type Ends = (String, u16, String, u16);

pub(crate) const SYN: u16 = 2;
pub(crate) const RST: u16 = 4;
pub(crate) const ACK: u16 = 16;

/// Choice among the TCP headers of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layer {
    /// TCP of the outermost IP packet, if it carries TCP.
    Outermost,
    /// TCP of the innermost IP packet, without quotes in ICMP.
    Innermost,
}

/// Fields printed for each packet.
const FIELDS: [&str; 10] = [
    "frame.protocols",
    "ip.src",
    "ip.dst",
    "ipv6.src",
    "ipv6.dst",
    "tcp.srcport",
    "tcp.dstport",
    "tcp.seq_raw",
    "tcp.ack_raw",
    "tcp.flags",
];

/// Lines that `tshark` prints for the packets of each of `captures`.
pub(crate) fn lines(captures: &[PathBuf]) -> Vec<Vec<String>> {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let merged = folder.path().join("all.pcapng");
    let mut args: Vec<OsString> = ["-a", "-F", "pcapng", "-w"].map(OsString::from).into();
    args.push(merged.clone().into());
    args.extend(captures.iter().map(OsString::from));
    programs::output("mergecap", &args);
    let counts = counts(captures);
    let mut args: Vec<&OsStr> = ["-n", "-T", "fields", "-E", "occurrence=a"].map(OsStr::new).into();
    for field in &FIELDS {
        args.extend([OsStr::new("-e"), OsStr::new(field)]);
    }
    args.extend([OsStr::new("-r"), merged.as_os_str()]);
    let text = programs::output("tshark", &args);
    let mut all = text.lines().map(String::from);
    let lines: Vec<Vec<String>> = counts.iter().map(|&count| all.by_ref().take(count).collect()).collect();
    let last = lines.last().map_or(0, Vec::len);
    assert_eq!(Some(&last), counts.last(), "a line for each packet");
    assert_eq!(all.next(), None, "no more lines than packets");
    lines
}

/// Number of packets of each capture.
fn counts(captures: &[PathBuf]) -> Vec<usize> {
    let mut args: Vec<&OsStr> = ["-T", "-r", "-M", "-c"].map(OsStr::new).into();
    args.extend(captures.iter().map(|path| path.as_os_str()));
    let text = programs::output("capinfos", &args);
    let table: Vec<(&Path, usize)> = text
        .lines()
        .filter_map(|line| line.split_once('\t'))
        .map(|(path, count)| (Path::new(path), count.parse().expect("a number")))
        .collect();
    let paths: Vec<&Path> = table.iter().map(|(path, _)| *path).collect();
    assert_eq!(paths, captures, "capinfos knows all");
    table.into_iter().map(|(_, count)| count).collect()
}

/// TCP segment of a packet, parsed from its line.
pub(crate) fn segment(line: &str, layer: Layer) -> Option<Segment> {
    let fields: Vec<Vec<&str>> = line.split('\t').map(|field| field.split([',', ':']).collect()).collect();
    // Only the first field is separated by colons; IPv6 addresses contain them, too.
    let protocols = &fields[0];
    let lists: Vec<Vec<&str>> = line.split('\t').map(|field| field.split(',').collect()).collect();
    let is_ip = |at: &usize| matches!(protocols[*at], "ip" | "ipv6");
    let ip = match layer {
        Layer::Outermost => (0..protocols.len()).find(is_ip)?,
        Layer::Innermost => (0..protocols.len()).rfind(is_ip)?,
    };
    if protocols[..ip].iter().any(|p| p.starts_with("icmp")) {
        return None;
    }
    let tcp = (ip + 1..protocols.len()).find(|&at| !protocols[at].starts_with("ipv6."))?;
    if protocols[tcp] != "tcp" {
        return None;
    }
    let before = |at: usize, name: &str| protocols[..at].iter().filter(|&&p| p == name).count();
    let (source, destination) = if protocols[ip] == "ip" { (1, 2) } else { (3, 4) };
    let network = before(ip, protocols[ip]);
    let transport = before(tcp, "tcp");
    let number = |field: usize| {
        let text = lists[field].get(transport)?;
        match text.strip_prefix("0x") {
            Some(digits) => u32::from_str_radix(digits, 16).ok(),
            None => text.parse().ok(),
        }
    };
    Some(Segment {
        ends: (
            lists[source].get(network)?.to_string(),
            number(5)? as u16,
            lists[destination].get(network)?.to_string(),
            number(6)? as u16,
        ),
        seq: number(7)?,
        ack: number(8)?,
        flags: number(9)? as u16,
    })
}
