//! Writer of capture files.

use crate::options::Format;
use anyhow::{Context, Result};
use gentle_units::Nanos;
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapTsResolution, PcapWriter};
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption, InterfaceTsResolution,
};
use pcap_file::{DataLink, Endianness};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::time::Duration;

/// Time 0 of the generator: 2026-01-01, since 1970.
const START: Duration = Duration::from_secs(1_767_225_600);

const BUFFER: usize = 1 << 20;

type Output = BufWriter<Box<dyn Write>>;

/// Capture being written.
pub(crate) struct Capture {
    writer: Writer,
    /// Bytes kept of each frame.
    pub(crate) snaplen: usize,
}

enum Writer {
    Pcap(PcapWriter<Output>),
    PcapNg(Box<PcapNgWriter<Output>>),
}

impl Capture {
    /// Creates a capture file; `-` is standard output.
    pub(crate) fn create(path: &Path, format: Format, snaplen: u32) -> Result<Capture> {
        let output: Box<dyn Write> = if path.as_os_str() == "-" {
            Box::new(io::stdout())
        } else {
            Box::new(
                File::create(path).with_context(|| format!("cannot write {}", path.display()))?,
            )
        };
        let output = BufWriter::with_capacity(BUFFER, output);
        let pcap = |output, ts_resolution| {
            let header = PcapHeader {
                snaplen,
                datalink: DataLink::ETHERNET,
                ts_resolution,
                endianness: Endianness::native(),
                ..PcapHeader::default()
            };
            PcapWriter::with_header(output, header).map(Writer::Pcap)
        };
        let writer = match format {
            Format::Pcap => pcap(output, PcapTsResolution::NanoSecond)?,
            Format::PcapUs => pcap(output, PcapTsResolution::MicroSecond)?,
            Format::Pcapng => {
                let mut writer = PcapNgWriter::new(output)?;
                let mut interface = InterfaceDescriptionBlock::new(DataLink::ETHERNET, snaplen);
                let resolution = InterfaceDescriptionOption::IfTsResol(InterfaceTsResolution::NANO);
                interface.options.push(resolution);
                writer.write_pcapng_block(interface)?;
                Writer::PcapNg(Box::new(writer))
            }
        };
        Ok(Capture {
            writer,
            snaplen: snaplen as usize,
        })
    }

    /// Writes a frame of `wire_bytes`, of which `data` was captured.
    pub(crate) fn write(&mut self, at: Nanos, wire_bytes: u32, data: &[u8]) -> Result<()> {
        let timestamp = START + Duration::from_nanos(at.0);
        match &mut self.writer {
            Writer::Pcap(writer) => {
                writer.write_packet(&PcapPacket::new(timestamp, wire_bytes, data)?)?;
            }
            Writer::PcapNg(writer) => {
                writer.write_pcapng_block(EnhancedPacketBlock {
                    interface_id: 0,
                    timestamp,
                    original_len: wire_bytes,
                    data: data.into(),
                    options: Vec::new(),
                })?;
            }
        }
        Ok(())
    }

    /// Flushes the output.
    pub(crate) fn finish(self) -> Result<()> {
        match self.writer {
            Writer::Pcap(writer) => writer.into_inner().flush()?,
            Writer::PcapNg(writer) => writer.into_inner().flush()?,
        }
        Ok(())
    }
}
