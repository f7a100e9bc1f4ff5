//! Fields of a frame as tshark and as this crate read them, in one type.

use super::capture::{self, Frame};
use gentle_wire::{Packet, Skip, Transport, Tunnels, dissect};
use std::io::Write;
use std::net::IpAddr;
use std::process::Command;

/// An IP packet and the transport header in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reading {
    pub(crate) src: IpAddr,
    pub(crate) dst: IpAddr,
    pub(crate) ttl: u64,
    pub(crate) transport: Option<Header>,
}

/// A transport header by its name and the fields that are compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) name: &'static str,
    pub(crate) fields: Vec<u64>,
}

/// Protocols with their fields that are compared.
const IP: (&str, &[&str]) = ("ip", &["ip.src", "ip.dst", "ip.ttl"]);
const IPV6: (&str, &[&str]) = ("ipv6", &["ipv6.src", "ipv6.dst", "ipv6.hlim"]);
const TRANSPORTS: [(&str, &[&str]); 4] = [
    (
        "tcp",
        &["tcp.srcport", "tcp.dstport", "tcp.seq_raw", "tcp.ack_raw", "tcp.flags", "tcp.window_size_value", "tcp.len"],
    ),
    ("udp", &["udp.srcport", "udp.dstport", "udp.length"]),
    ("sctp", &["sctp.srcport", "sctp.dstport", "sctp.verification_tag"]),
    ("dccp", &["dccp.srcport", "dccp.dstport", "dccp.type", "dccp.seq_raw"]),
];

/// Output of tshark for a frame: the protocols in it, and every field as often as it occurs.
pub(crate) struct Row {
    pub(crate) protocols: Vec<String>,
    values: Vec<Vec<String>>,
}

fn fields() -> impl Iterator<Item = &'static str> {
    [IP, IPV6].into_iter().chain(TRANSPORTS).flat_map(|(_, fields)| fields.iter().copied())
}

/// Runs tshark over frames.
pub(crate) fn tshark(frames: &[Frame]) -> Vec<Row> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&capture::write(frames)).unwrap();
    let mut command = Command::new("tshark");
    command.arg("-n").arg("-r").arg(file.path());
    for preference in [
        "tcp.relative_sequence_numbers:FALSE",
        "tcp.desegment_tcp_streams:FALSE",
        "ip.defragment:FALSE",
        "ipv6.defragment:FALSE",
    ] {
        command.args(["-o", preference]);
    }
    command.args(["-T", "fields", "-E", "occurrence=a", "-e", "frame.protocols"]);
    for field in fields() {
        command.args(["-e", field]);
    }
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => panic!("tshark cannot be run ({error}): run `scripts/bootstrap test`"),
    };
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "tshark: {message}");
    let rows: Vec<Row> = String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| {
            let mut columns = line.split('\t');
            let list = |column: &str, separator| {
                column.split(separator).filter(|v: &&str| !v.is_empty()).map(str::to_owned).collect()
            };
            Row {
                protocols: list(columns.next().unwrap(), ':'),
                values: columns.map(|column| list(column, ',')).collect(),
            }
        })
        .collect();
    assert_eq!(rows.len(), frames.len(), "tshark: {message}");
    rows
}

impl Row {
    fn value(&self, field: &str, occurrence: usize) -> Option<&str> {
        let column = fields().position(|f| f == field).unwrap();
        self.values[column].get(occurrence).map(String::as_str)
    }

    fn number(&self, field: &str, occurrence: usize) -> Option<u64> {
        let value = self.value(field, occurrence)?;
        let number = match value.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16),
            None => value.parse(),
        };
        Some(number.unwrap())
    }

    /// The first IP packet of the frame, or the last of those in each other: packets quoted by ICMP do not count.
    pub(crate) fn reading(&self, tunnels: Tunnels) -> Option<Reading> {
        let mut reading = None;
        let mut seen: Vec<&str> = Vec::new();
        for protocol in &self.protocols {
            let occurrence = seen.iter().filter(|s| *s == protocol).count();
            seen.push(protocol);
            if protocol == "icmp" || protocol == "icmpv6" {
                break;
            }
            if let Some((_, [src, dst, ttl])) = match_ip(protocol) {
                if reading.is_some() && tunnels == Tunnels::Outer {
                    break;
                }
                reading = Some(Reading {
                    src: self.value(src, occurrence)?.parse().unwrap(),
                    dst: self.value(dst, occurrence)?.parse().unwrap(),
                    ttl: self.number(ttl, occurrence)?,
                    transport: None,
                });
            }
            let transport = TRANSPORTS.into_iter().find(|(name, _)| name == protocol);
            if let (Some((name, fields)), Some(reading)) = (transport, &mut reading)
                && reading.transport.is_none()
            {
                let fields = fields.iter().map(|field| self.number(field, occurrence));
                reading.transport = fields.collect::<Option<_>>().map(|fields| Header { name, fields });
            }
        }
        reading
    }
}

fn match_ip(protocol: &str) -> Option<(&'static str, [&'static str; 3])> {
    let (name, fields) = [IP, IPV6].into_iter().find(|(name, _)| *name == protocol)?;
    Some((name, fields.try_into().unwrap()))
}

/// Reading of a frame by this crate.
pub(crate) fn ours(frame: &Frame, tunnels: Tunnels) -> Result<Reading, Skip> {
    dissect(frame.link, &frame.bytes, frame.original_len, tunnels).map(|packet| reading(&packet))
}

fn reading(packet: &Packet<'_>) -> Reading {
    let header = |name, fields: &[u64]| Some(Header { name, fields: fields.to_vec() });
    let transport = match packet.transport {
        Transport::Tcp(tcp) => header(
            "tcp",
            &[
                tcp.src_port.into(),
                tcp.dst_port.into(),
                tcp.seq.into(),
                tcp.ack.into(),
                tcp.flags.0.into(),
                tcp.window.into(),
                tcp.payload_len.into(),
            ],
        ),
        Transport::Udp(udp) => {
            header("udp", &[udp.src_port.into(), udp.dst_port.into(), u64::from(udp.payload_len) + 8])
        }
        Transport::Sctp(sctp) => header("sctp", &[sctp.src_port.into(), sctp.dst_port.into(), sctp.tag.into()]),
        Transport::Dccp(dccp) => {
            header("dccp", &[dccp.src_port.into(), dccp.dst_port.into(), dccp.packet_type.into(), dccp.seq])
        }
        Transport::Fragment(_) | Transport::Other => None,
    };
    Reading { src: packet.ip.src.into(), dst: packet.ip.dst.into(), ttl: packet.ip.ttl.into(), transport }
}
