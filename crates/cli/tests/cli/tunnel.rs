//! Capture of a tunnel.

use crate::command::capture;
use gentle_capture::{CaptureReader, PcapWriter, RawPacket, Resolution};
use gentle_wire::{EthernetHeader, Ipv4Header, LinkType, protocol};
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

/// Writes a test capture of `gentle-trace` into `folder`, with each of its IPv4 packets encapsulated in another (RFC
/// 2003) and all others left out.
pub(crate) fn tunnelled(name: &str, folder: &Path) -> PathBuf {
    const HEADER: usize = EthernetHeader::UNTAGGED_LEN;
    let path = folder.join("tunnel.pcap");
    let file = BufWriter::new(File::create(&path).unwrap());
    let link = LinkType::ETHERNET;
    let mut writer = PcapWriter::new(file, link, None, Resolution::Nanos).unwrap();
    let mut reader = CaptureReader::open(&capture(name)).unwrap();
    while let Some(packet) = reader.next().unwrap() {
        let (ethernet, inner) = packet.data.split_at(HEADER);
        if ethernet[12..] != EthernetHeader::IPV4.to_be_bytes() {
            continue;
        }
        let [from, to] = ["203.0.113.1", "203.0.113.2"].map(|address| address.parse().unwrap());
        let length = packet.original_len - HEADER as u32;
        let outer = Ipv4Header::new(from, to, protocol::IPV4, length);
        let mut header = vec![0; outer.header_len()];
        outer.emit(&mut header).unwrap();
        let encapsulated = RawPacket {
            original_len: packet.original_len + header.len() as u32,
            data: &[ethernet, &header, inner].concat(),
            ..packet
        };
        writer.packet(&encapsulated).unwrap();
    }
    writer.into_inner().into_inner().unwrap();
    path
}
