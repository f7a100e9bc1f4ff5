//! Captures of real Linux TCP (`tests/make-captures`) wrapped in tunnels give the same results as without.

use crate::handshakes::{Counts, count};
use crate::tshark::{self, Layer};
use crate::{captures, netns};
use gentle_capture::{CaptureReader, PcapWriter, RawPacket, Resolution};
use gentle_trace::Options;
use gentle_trace::results::{Analysis, TrustWarningKind};
use gentle_units::Instant;
use gentle_wire::{EthernetHeader, Ipv4Header, LinkType, Udp, protocol};
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};

/// Captures to wrap: handshakes with and without losses, copies, failures, data, port reuse, over IPv4 and IPv6.
const CAPTURES: [&str; 12] = [
    "data.span.pcap",
    "half-open.server.pcap",
    "ipv6-data.client.pcap",
    "ipv6-syn.client.pcap",
    "ipv6-synack.server.pcap",
    "plain.client.pcap",
    "refused.client.pcap",
    "reuse.client.pcap",
    "syn-3.router.pcap",
    "synack-2.server.pcap",
    "syn-synack.server.pcap",
    "unanswered.client.pcap",
];

const ETHERNET: usize = EthernetHeader::UNTAGGED_LEN;

#[derive(Debug, Clone, Copy)]
enum Tunnel {
    IpInIp,
    Gre,
    Erspan2,
    Erspan3,
    Vxlan,
    Geneve,
    GtpU,
}

const TUNNELS: [Tunnel; 7] =
    [Tunnel::IpInIp, Tunnel::Gre, Tunnel::Erspan2, Tunnel::Erspan3, Tunnel::Vxlan, Tunnel::Geneve, Tunnel::GtpU];

/// Ethernet frame of a capture.
struct Frame {
    time: Instant,
    original_len: u32,
    bytes: Vec<u8>,
}

impl Frame {
    fn is_ipv6(&self) -> bool {
        self.bytes[12..ETHERNET] == [0x86, 0xdd]
    }

    /// Wraps the frame in a tunnel between two other hosts, as an Ethernet frame again.
    fn inside(&self, tunnel: Tunnel) -> Frame {
        // Some tunnels carry the frame, others the IP packet in it.
        let skipped = match tunnel {
            Tunnel::IpInIp | Tunnel::Gre | Tunnel::GtpU => ETHERNET,
            Tunnel::Erspan2 | Tunnel::Erspan3 | Tunnel::Vxlan | Tunnel::Geneve => 0,
        };
        let carried = self.original_len - skipped as u32;
        let (protocol, header) = match tunnel {
            Tunnel::IpInIp if self.is_ipv6() => (protocol::IPV6, Vec::new()),
            Tunnel::IpInIp => (protocol::IPV4, Vec::new()),
            Tunnel::Gre => (protocol::GRE, vec![0, 0, self.bytes[12], self.bytes[13]]),
            Tunnel::Erspan2 => (
                protocol::GRE,
                // GRE with a sequence number; version 1, session 1.
                vec![0x10, 0, 0x88, 0xbe, 0, 0, 0, 1, 0x10, 0, 0, 1, 0, 0, 0, 0],
            ),
            Tunnel::Erspan3 => (
                protocol::GRE,
                // Version 2, session 1, no subheader, an Ethernet frame.
                [&[0x10, 0, 0x22, 0xeb, 0, 0, 0, 1][..], &[0x20, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]].concat(),
            ),
            Tunnel::Vxlan => udp(4789, &[8, 0, 0, 0, 0, 0, 1, 0], carried),
            Tunnel::Geneve => udp(6081, &[0, 0, 0x65, 0x58, 0, 0, 1, 0], carried),
            Tunnel::GtpU => {
                let [high, low] = (carried as u16).to_be_bytes();
                udp(2152, &[0x30, 255, high, low, 0, 0, 0, 1], carried)
            }
        };
        let ethernet = EthernetHeader {
            dst: [2, 0, 0, 0, 0, 2],
            src: [2, 0, 0, 0, 0, 1],
            tags: &[],
            ether_type: EthernetHeader::IPV4,
        };
        let [src, dst] = [[203, 0, 113, 1], [203, 0, 113, 2]].map(Into::into);
        let ip = Ipv4Header::new(src, dst, protocol, header.len() as u32 + carried);
        let mut bytes = vec![0; ETHERNET + ip.header_len()];
        ethernet.emit(&mut bytes).expect("there is room");
        ip.emit(&mut bytes[ETHERNET..]).expect("there is room");
        bytes.extend(header);
        let added = bytes.len() as u32;
        bytes.extend(&self.bytes[skipped..]);
        Frame { time: self.time, original_len: carried + added, bytes }
    }
}

/// Protocol number of UDP, and the UDP and tunnel headers of a datagram to `dst_port` that carries `carried` bytes.
fn udp(dst_port: u16, tunnel_header: &[u8], carried: u32) -> (u8, Vec<u8>) {
    let udp =
        Udp { src_port: 50_000, dst_port, payload_len: tunnel_header.len() as u32 + carried, payload: tunnel_header };
    let mut headers = vec![0; Udp::HEADER_LEN + tunnel_header.len()];
    udp.emit(None, &mut headers).expect("there is room");
    (protocol::UDP, headers)
}

fn frames(path: &Path) -> Vec<Frame> {
    let mut reader = CaptureReader::open(path).expect("it is a capture");
    let mut frames = Vec::new();
    while let Some(packet) = reader.next().expect("it is whole") {
        assert_eq!(packet.link, LinkType::ETHERNET);
        frames.push(Frame { time: packet.time, original_len: packet.original_len, bytes: packet.data.to_vec() });
    }
    frames
}

/// A pcap file with timestamps in nanoseconds.
fn pcap(frames: impl Iterator<Item = Frame>) -> Vec<u8> {
    let mut writer =
        PcapWriter::new(Vec::new(), LinkType::ETHERNET, None, Resolution::Nanos).expect("a list can be written");
    for frame in frames {
        let packet = RawPacket {
            time: frame.time,
            interface: 0,
            link: LinkType::ETHERNET,
            original_len: frame.original_len,
            data: &frame.bytes,
        };
        writer.packet(&packet).expect("a list can be written");
    }
    writer.into_inner()
}

/// Writes every capture in every tunnel to a file. Returns these files, each with the original capture.
fn wrapped(folder: &Path) -> Vec<(PathBuf, PathBuf)> {
    let mut files = Vec::new();
    for capture in CAPTURES {
        let original = netns::folder().join(capture);
        for tunnel in TUNNELS {
            let file = folder.join(format!("{tunnel:?}-{capture}"));
            let inside = frames(&original).into_iter().map(|frame| frame.inside(tunnel));
            fs::write(&file, pcap(inside)).expect("a temporary file");
            files.push((file, original.clone()));
        }
    }
    files
}

#[test]
fn connections_inside_are_those_of_the_capture_that_was_wrapped() {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let mut attempts = 0;
    for (file, original) in wrapped(folder.path()) {
        let name = file.display();
        let analyze = |path: &Path, inner| {
            let options = Options { inner, ..Options::default() };
            captures::analyze_files(&[path], &options)
        };
        let (before, rows_before) = analyze(&original, false);
        let (inside, rows_inside) = analyze(&file, true);
        let found = |of: &Analysis| json!([of.handshakes, of.retransmissions, of.closes]);
        assert_eq!(found(&inside), found(&before), "{name}");
        assert_eq!(rows_inside, rows_before, "{name}");
        attempts += inside.handshakes.attempts;

        // All traffic is in the tunnel, so the analysis looks inside without the option.
        let (by_itself, rows_by_itself) = analyze(&file, false);
        assert_eq!(found(&by_itself), found(&before), "{name}");
        assert_eq!(rows_by_itself, rows_before, "{name}");
        let warnings = by_itself.warnings.iter().map(|warning| warning.kind);
        assert!(warnings.eq([TrustWarningKind::TunnelsRead]), "{name}");
    }
    assert!(attempts >= 7 * 12, "{attempts}");
}

#[test]
fn handshakes_inside_are_those_that_tshark_sees() {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let files = wrapped(folder.path()).into_iter().map(|(file, _)| file);
    let files: Vec<PathBuf> = files.collect();
    let lines = tshark::lines(&files);
    let options = Options { inner: true, ..Options::default() };
    for (path, lines) in files.iter().zip(&lines) {
        let segments = |layer| lines.iter().filter_map(move |line| tshark::segment(line, layer));
        let ours = Counts::of(&captures::analyze_files(&[path], &options).0);
        let theirs = count(segments(Layer::Innermost));
        assert!(theirs.are(ours), "{}: {ours:?} {theirs:?}", path.display());
        assert_eq!(segments(Layer::Outermost).count(), 0, "{}", path.display());
    }
}
