//! Frames out of captures and into one.

use gentle_capture::{CaptureReader, InterfaceDescription, PcapNgWriter, RawPacket};
use gentle_units::Instant;
use gentle_wire::LinkType;
use std::path::Path;

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
    let mut frames = Vec::new();
    let Ok(mut reader) = CaptureReader::open(path) else {
        return frames;
    };
    while let Ok(Some(packet)) = reader.next() {
        frames.push(Frame {
            origin: name.to_owned(),
            link: packet.link,
            bytes: packet.data.to_vec(),
            original_len: packet.original_len,
        });
    }
    frames
}

/// A pcapng file with the frames, one interface for each link type.
pub(crate) fn write(frames: &[Frame]) -> Vec<u8> {
    let mut writer = PcapNgWriter::new(Vec::new()).unwrap();
    let mut links = Vec::new();
    for frame in frames {
        let interface = links.iter().position(|link| *link == frame.link);
        let interface = interface.unwrap_or_else(|| {
            links.push(frame.link);
            let interface = InterfaceDescription::new(frame.link);
            writer.interface(&interface).unwrap() as usize
        });
        let packet = RawPacket {
            time: Instant::from_secs(1),
            interface: interface as u32,
            link: frame.link,
            original_len: frame.original_len,
            data: &frame.bytes,
        };
        writer.packet(&packet).unwrap();
    }
    writer.into_inner()
}
