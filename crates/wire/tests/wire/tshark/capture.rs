//! Frames out of captures and into one.

use gentle_wire::LinkType;
use pcap_file::DataLink;
use pcap_file::pcap::PcapReader;
use pcap_file::pcapng::blocks::Block;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::blocks::interface_description::InterfaceDescriptionBlock;
use pcap_file::pcapng::{PcapNgReader, PcapNgWriter};
use std::borrow::Cow;
use std::fs;
use std::path::Path;
use std::time::Duration;

pub(crate) struct Frame {
    /// The capture or the sample it comes from.
    pub(crate) origin: String,
    pub(crate) link: LinkType,
    pub(crate) bytes: Vec<u8>,
    pub(crate) original_len: u32,
}

impl Frame {
    /// Whether there were more bytes on the wire than captured.
    pub(crate) fn is_cut(&self) -> bool {
        self.bytes.len() < self.original_len as usize
    }
}

/// The frames of the capture `name` up to the first damage.
pub(crate) fn read(path: &Path, name: &str) -> Vec<Frame> {
    let file = fs::read(path).unwrap();
    let mut frames = Vec::new();
    let mut add = |link: DataLink, bytes: &[u8], original_len| {
        frames.push(Frame {
            origin: name.to_owned(),
            link: LinkType(u32::from(link) as u16),
            bytes: bytes.to_vec(),
            original_len,
        });
    };
    if let Ok(mut reader) = PcapReader::new(&file[..]) {
        let link = reader.header().datalink;
        while let Some(Ok(packet)) = reader.next_packet() {
            add(link, packet.data(), packet.orig_len());
        }
    } else if let Ok(mut reader) = PcapNgReader::new(&file[..]) {
        while let Some(Ok((block, state))) = reader.next_block() {
            if let Block::EnhancedPacket(packet) = block {
                let interface = &state.interfaces()[packet.interface_id as usize];
                add(interface.linktype, &packet.data, packet.original_len);
            }
        }
    }
    frames
}

/// A pcapng file with the frames, one interface for each link type.
pub(crate) fn write(frames: &[Frame]) -> Vec<u8> {
    let mut writer = PcapNgWriter::new(Vec::new()).unwrap();
    let mut links = Vec::new();
    for frame in frames {
        let interface_id = links.iter().position(|link| *link == frame.link);
        let interface_id = interface_id.unwrap_or_else(|| {
            links.push(frame.link);
            let interface = InterfaceDescriptionBlock {
                linktype: DataLink::from(u32::from(frame.link.0)),
                snaplen: 0,
                options: Vec::new(),
            };
            writer.write_pcapng_block(interface).unwrap();
            links.len() - 1
        });
        let packet = EnhancedPacketBlock {
            interface_id: interface_id as u32,
            timestamp: Duration::from_secs(1),
            original_len: frame.original_len,
            data: Cow::Borrowed(&frame.bytes),
            options: Vec::new(),
        };
        writer.write_pcapng_block(packet).unwrap();
    }
    writer.into_inner()
}
