//! The capture file.

use super::options::Format;
use anyhow::{Context, Result};
use gentle_capture::{InterfaceDescription, PcapNgWriter, PcapWriter, RawPacket, Resolution};
use gentle_units::Instant;
use gentle_wire::LinkType;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Time 0 of the generator: 2026-01-01, since 1970.
const START: Instant = Instant::from_secs(1_767_225_600);

const BUFFER: usize = 1 << 20;

type Output = BufWriter<Box<dyn Write>>;

/// A capture being written.
pub struct Capture {
    writer: Writer,
    /// Bytes kept of each frame.
    pub snaplen: usize,
}

enum Writer {
    Pcap(PcapWriter<Output>),
    PcapNg(PcapNgWriter<Output>),
}

impl Capture {
    /// Creates the file; `-` is standard output.
    ///
    /// # Errors
    /// If it cannot be created or written.
    pub fn create(path: &Path, format: Format, snaplen: u32) -> Result<Capture> {
        let output: Box<dyn Write> = if path.as_os_str() == "-" {
            Box::new(io::stdout())
        } else {
            Box::new(File::create(path).with_context(|| format!("cannot write {}", path.display()))?)
        };
        let output = BufWriter::with_capacity(BUFFER, output);
        let pcap = |output, resolution| {
            PcapWriter::new(output, LinkType::ETHERNET, Some(snaplen), resolution).map(Writer::Pcap)
        };
        let writer = match format {
            Format::Pcap => pcap(output, Resolution::Nanos)?,
            Format::PcapUs => pcap(output, Resolution::Micros)?,
            Format::Pcapng => {
                let mut writer = PcapNgWriter::new(output)?;
                writer.interface(&InterfaceDescription {
                    snap_length: Some(snaplen),
                    ..InterfaceDescription::new(LinkType::ETHERNET)
                })?;
                Writer::PcapNg(writer)
            }
        };
        Ok(Capture { writer, snaplen: snaplen as usize })
    }

    /// Adds a frame of `wire_bytes`, of which `data` is what was captured.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&mut self, at: Instant, wire_bytes: u32, data: &[u8]) -> Result<()> {
        let packet = RawPacket {
            time: START + at.since_origin(),
            interface: 0,
            link: LinkType::ETHERNET,
            original_len: wire_bytes,
            data,
        };
        match &mut self.writer {
            Writer::Pcap(writer) => writer.packet(&packet)?,
            Writer::PcapNg(writer) => writer.packet(&packet)?,
        }
        Ok(())
    }

    /// Writes what is still in memory.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn finish(self) -> Result<()> {
        match self.writer {
            Writer::Pcap(writer) => writer.into_inner().flush()?,
            Writer::PcapNg(writer) => writer.into_inner().flush()?,
        }
        Ok(())
    }
}
