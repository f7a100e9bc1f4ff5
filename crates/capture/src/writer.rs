//! Writers of pcap and pcapng files, little-endian on every machine, so that equal packets give equal files.

use crate::RawPacket;
use gentle_wire::LinkType;
use std::io::{self, ErrorKind, Write};

const PCAP_MICROS: u32 = 0xa1b2_c3d4;
const PCAP_NANOS: u32 = 0xa1b2_3c4d;
const PCAP_VERSION: [u16; 2] = [2, 4];

/// Snapshot length of a pcap file that keeps whole packets: libpcap's `MAXIMUM_SNAPLEN`.
const WHOLE_PACKETS: u32 = 262_144;

/// Block types (draft-ietf-opsawg-pcapng, section 11.1).
const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;

const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
const PCAPNG_VERSION: [u16; 2] = [1, 0];
const SECTION_LENGTH_UNKNOWN: u64 = u64::MAX;

/// Option codes (draft-ietf-opsawg-pcapng, sections 3.5 and 4.2).
const END_OF_OPTIONS: u16 = 0;
const COMMENT: u16 = 1;
const IF_NAME: u16 = 2;
const IF_DESCRIPTION: u16 = 3;
const IF_SPEED: u16 = 8;
const IF_TSRESOL: u16 = 9;

/// `if_tsresol`: 10 to the power of -9 seconds.
const NANOSECONDS: u8 = 9;

/// Unit of the timestamps in a pcap file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resolution {
    /// Microseconds, which every reader supports; times are rounded down.
    Micros,
    /// Nanoseconds.
    Nanos,
}

/// Writes a pcap file.
///
/// Each packet is written at once: use a [`BufWriter`](std::io::BufWriter).
#[derive(Debug)]
pub struct PcapWriter<W> {
    to: W,
    link: LinkType,
    resolution: Resolution,
}

impl<W: Write> PcapWriter<W> {
    /// Writes the file header. `snap_length` is the largest number of bytes of a packet that are kept; `None` if
    /// packets are whole.
    ///
    /// # Errors
    /// If writing fails.
    pub fn new(
        mut to: W,
        link: LinkType,
        snap_length: Option<u32>,
        resolution: Resolution,
    ) -> io::Result<PcapWriter<W>> {
        let mut header = [0; 24];
        let magic = match resolution {
            Resolution::Micros => PCAP_MICROS,
            Resolution::Nanos => PCAP_NANOS,
        };
        header[0..4].copy_from_slice(&magic.to_le_bytes());
        header[4..6].copy_from_slice(&PCAP_VERSION[0].to_le_bytes());
        header[6..8].copy_from_slice(&PCAP_VERSION[1].to_le_bytes());
        let snap_length = snap_length.unwrap_or(WHOLE_PACKETS);
        header[16..20].copy_from_slice(&snap_length.to_le_bytes());
        header[20..24].copy_from_slice(&u32::from(link.0).to_le_bytes());
        to.write_all(&header)?;
        Ok(PcapWriter { to, link, resolution })
    }

    /// Writes a packet, without its interface.
    ///
    /// # Errors
    /// If writing fails, or a pcap file cannot hold the packet: another link type, or a time after February 2106.
    pub fn packet(&mut self, packet: &RawPacket<'_>) -> io::Result<()> {
        if packet.link != self.link {
            return Err(other_link(packet.link, self.link));
        }
        let (seconds, nanos) = (packet.time.0 / 1_000_000_000, packet.time.0 % 1_000_000_000);
        let fraction = match self.resolution {
            Resolution::Micros => nanos / 1_000,
            Resolution::Nanos => nanos,
        };
        let Ok(seconds) = u32::try_from(seconds) else {
            return Err(invalid(format!("a pcap file has no room for a time {seconds} s after 1970")));
        };
        let mut header = [0; 16];
        header[0..4].copy_from_slice(&seconds.to_le_bytes());
        header[4..8].copy_from_slice(&(fraction as u32).to_le_bytes());
        header[8..12].copy_from_slice(&length(packet.data)?.to_le_bytes());
        header[12..16].copy_from_slice(&packet.original_len.to_le_bytes());
        self.to.write_all(&header)?;
        self.to.write_all(packet.data)
    }

    /// Returns the underlying writer without flushing it.
    pub fn into_inner(self) -> W {
        self.to
    }
}

/// Description of an interface in a pcapng file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InterfaceDescription<'a> {
    /// Link type of its packets.
    pub link: LinkType,
    /// Largest number of bytes of a packet that are kept; `None` if packets are whole.
    pub snap_length: Option<u32>,
    /// Name such as `eth0` (`if_name`).
    pub name: Option<&'a str>,
    /// Description (`if_description`).
    pub description: Option<&'a str>,
    /// Bits per second (`if_speed`).
    pub speed: Option<u64>,
}

impl InterfaceDescription<'_> {
    /// Describes an interface without a name whose packets are whole.
    pub const fn new(link: LinkType) -> Self {
        InterfaceDescription { link, snap_length: None, name: None, description: None, speed: None }
    }
}

/// Writes a pcapng file of one section, with timestamps in nanoseconds.
///
/// Each packet is written at once: use a [`BufWriter`](std::io::BufWriter).
#[derive(Debug)]
pub struct PcapNgWriter<W> {
    to: W,
    /// Link types of the interfaces described so far.
    links: Vec<LinkType>,
    block: Vec<u8>,
}

impl<W: Write> PcapNgWriter<W> {
    /// Writes the section header.
    ///
    /// # Errors
    /// If writing fails.
    pub fn new(to: W) -> io::Result<PcapNgWriter<W>> {
        let mut writer = PcapNgWriter { to, links: Vec::new(), block: Vec::new() };
        writer.begin(SECTION_HEADER);
        writer.block.extend(BYTE_ORDER_MAGIC.to_le_bytes());
        writer.block.extend(PCAPNG_VERSION[0].to_le_bytes());
        writer.block.extend(PCAPNG_VERSION[1].to_le_bytes());
        writer.block.extend(SECTION_LENGTH_UNKNOWN.to_le_bytes());
        writer.end()?;
        Ok(writer)
    }

    /// Describes a further interface, and returns its index for [`RawPacket::interface`].
    ///
    /// # Errors
    /// If writing fails, or the name or description has more than 65,535 bytes.
    pub fn interface(&mut self, interface: &InterfaceDescription<'_>) -> io::Result<u32> {
        self.begin(INTERFACE_DESCRIPTION);
        self.block.extend(interface.link.0.to_le_bytes());
        self.block.extend([0; 2]);
        let snap_length = interface.snap_length.unwrap_or(0);
        self.block.extend(snap_length.to_le_bytes());
        if let Some(name) = interface.name {
            self.option(IF_NAME, name.as_bytes())?;
        }
        if let Some(description) = interface.description {
            self.option(IF_DESCRIPTION, description.as_bytes())?;
        }
        if let Some(speed) = interface.speed {
            self.option(IF_SPEED, &speed.to_le_bytes())?;
        }
        self.option(IF_TSRESOL, &[NANOSECONDS])?;
        self.option(END_OF_OPTIONS, &[])?;
        self.end()?;
        let index = self.links.len() as u32;
        self.links.push(interface.link);
        Ok(index)
    }

    /// Writes a packet of an interface described before.
    ///
    /// # Errors
    /// If writing fails, or the packet's interface was not described or has another link type.
    pub fn packet(&mut self, packet: &RawPacket<'_>) -> io::Result<()> {
        self.begin_packet(packet)?;
        self.end()
    }

    /// Writes a packet with a comment (`opt_comment`).
    ///
    /// # Errors
    /// As [`PcapNgWriter::packet`], or if the comment has more than 65,535 bytes.
    pub fn packet_with_comment(&mut self, packet: &RawPacket<'_>, comment: &str) -> io::Result<()> {
        self.begin_packet(packet)?;
        self.option(COMMENT, comment.as_bytes())?;
        self.option(END_OF_OPTIONS, &[])?;
        self.end()
    }

    /// Returns the underlying writer without flushing it.
    pub fn into_inner(self) -> W {
        self.to
    }

    /// Begins an enhanced packet block, up to its options.
    fn begin_packet(&mut self, packet: &RawPacket<'_>) -> io::Result<()> {
        match self.links.get(packet.interface as usize) {
            Some(&link) if link == packet.link => {}
            Some(&link) => return Err(other_link(packet.link, link)),
            None => {
                return Err(invalid(format!(
                    "a packet of interface {}, where {} are described",
                    packet.interface,
                    self.links.len()
                )));
            }
        }
        let captured = length(packet.data)?;
        self.begin(ENHANCED_PACKET);
        self.block.extend(packet.interface.to_le_bytes());
        self.block.extend(((packet.time.0 >> 32) as u32).to_le_bytes());
        self.block.extend((packet.time.0 as u32).to_le_bytes());
        self.block.extend(captured.to_le_bytes());
        self.block.extend(packet.original_len.to_le_bytes());
        self.padded(packet.data);
        Ok(())
    }

    /// Begins a block; [`PcapNgWriter::end`] fills in its length.
    fn begin(&mut self, kind: u32) {
        self.block.clear();
        self.block.extend(kind.to_le_bytes());
        self.block.extend([0; 4]);
    }

    fn option(&mut self, code: u16, value: &[u8]) -> io::Result<()> {
        let Ok(length) = u16::try_from(value.len()) else {
            return Err(invalid(format!("an option of {} bytes, where pcapng allows 65535", value.len())));
        };
        self.block.extend(code.to_le_bytes());
        self.block.extend(length.to_le_bytes());
        self.padded(value);
        Ok(())
    }

    /// Appends `bytes`, padded with zeros to a multiple of 4.
    fn padded(&mut self, bytes: &[u8]) {
        self.block.extend_from_slice(bytes);
        self.block.resize(self.block.len().next_multiple_of(4), 0);
    }

    /// Ends the block and writes it.
    fn end(&mut self) -> io::Result<()> {
        let total = self.block.len() + size_of::<u32>();
        let Ok(total) = u32::try_from(total) else {
            return Err(invalid(format!("a block of {total} bytes")));
        };
        self.block[4..8].copy_from_slice(&total.to_le_bytes());
        self.block.extend(total.to_le_bytes());
        self.to.write_all(&self.block)
    }
}

fn length(data: &[u8]) -> io::Result<u32> {
    u32::try_from(data.len()).map_err(|_| invalid(format!("a packet of {} bytes", data.len())))
}

fn other_link(found: LinkType, expected: LinkType) -> io::Error {
    invalid(format!("a packet of link type {}, where the capture has link type {}", found.0, expected.0))
}

fn invalid(what: String) -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, what)
}
