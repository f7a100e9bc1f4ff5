//! Capture file.

use crate::connection::Host;
use crate::frame;
use crate::network::Packet;
use gentle_capture::{InterfaceDescription, PcapNgWriter, PcapWriter, RawPacket, Resolution};
use gentle_units::Instant;
use gentle_wire::LinkType;
use std::io::{self, Write};

/// Time 0 of the generator: 2026-01-01, since 1970.
const START: Instant = Instant::from_secs(1_767_225_600);

/// Format of the capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "random", derive(clap::ValueEnum))]
pub enum Format {
    /// pcap, nanoseconds
    Pcap,
    /// pcap, microseconds
    PcapUs,
    /// pcapng, nanoseconds
    Pcapng,
}

/// Capture being written.
pub(crate) struct Capture<W> {
    writer: Writer<W>,
    /// Bytes kept of each frame.
    snaplen: usize,
    /// 802.1Q tag on every frame.
    vlan: Option<u16>,
    frame: Vec<u8>,
}

enum Writer<W> {
    Pcap(PcapWriter<W>),
    PcapNg(PcapNgWriter<W>),
}

impl<W: Write> Capture<W> {
    /// Writes the file header to `out`.
    pub(crate) fn new(out: W, format: Format, snaplen: u32, vlan: Option<u16>) -> io::Result<Capture<W>> {
        let pcap =
            |out, resolution| PcapWriter::new(out, LinkType::ETHERNET, Some(snaplen), resolution).map(Writer::Pcap);
        let writer = match format {
            Format::Pcap => pcap(out, Resolution::Nanos)?,
            Format::PcapUs => pcap(out, Resolution::Micros)?,
            Format::Pcapng => {
                let mut writer = PcapNgWriter::new(out)?;
                writer.interface(&InterfaceDescription {
                    snap_length: Some(snaplen),
                    ..InterfaceDescription::new(LinkType::ETHERNET)
                })?;
                Writer::PcapNg(writer)
            }
        };
        Ok(Capture { writer, snaplen: snaplen as usize, vlan, frame: Vec::new() })
    }

    /// Adds the frame of a packet between client and server.
    pub(crate) fn packet(&mut self, at: Instant, packet: &Packet, hosts: [&Host; 2]) -> io::Result<()> {
        let mut frame = std::mem::take(&mut self.frame);
        let whole = frame::write(packet, hosts, self.vlan, self.snaplen, &mut frame);
        let written = self.frame(at, whole, &frame);
        self.frame = frame;
        written
    }

    /// Adds a frame of `whole` bytes, of which `data` is what was captured.
    pub(crate) fn frame(&mut self, at: Instant, whole: u32, data: &[u8]) -> io::Result<()> {
        let packet = RawPacket {
            time: START + at.since_origin(),
            interface: 0,
            link: LinkType::ETHERNET,
            original_len: whole,
            data,
        };
        match &mut self.writer {
            Writer::Pcap(writer) => writer.packet(&packet),
            Writer::PcapNg(writer) => writer.packet(&packet),
        }
    }

    /// Returns the output.
    pub(crate) fn into_inner(self) -> W {
        match self.writer {
            Writer::Pcap(writer) => writer.into_inner(),
            Writer::PcapNg(writer) => writer.into_inner(),
        }
    }
}
