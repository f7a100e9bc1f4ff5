//! Captures read.

mod clock;
mod compression;
mod error;
mod identify;
mod input;
mod merge;
mod pcap;
mod pcapng;
mod reader;
mod zeros;

pub use compression::Compression;
pub use error::{CaptureError, Warning, WarningKind};
pub use merge::Merge;
pub use reader::CaptureReader;

use crate::RawPacket;
use gentle_wire::LinkType;
use std::fmt;
use std::ops::ControlFlow;

/// Takes the packets of a [`Merge`].
pub trait Sink {
    /// The next packet, of the capture with the index `file`. After a break, [`Merge::read`] returns.
    fn packet(&mut self, file: usize, packet: &RawPacket<'_>) -> ControlFlow<()>;
}

/// What packets were captured on, as the capture tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// What its packets begin with.
    pub link: LinkType,
    /// Most bytes of a packet that were kept; `None` where the capture sets no limit.
    pub snap_length: Option<u32>,
    /// Bytes of frame check sequence at the end of each packet, where the capture says.
    pub fcs_length: Option<u8>,
    /// Name such as `eth0`, where the capture has one; at most 255 bytes of it.
    pub name: Option<String>,
    /// Description, where the capture has one; at most 255 bytes of it.
    pub description: Option<String>,
    /// What the capturing program counted on it, as far as it has been read.
    pub statistics: Statistics,
}

/// Counters of a capturing program (pcapng, interface statistics block and the drop counts of packet blocks), since the
/// beginning of the capture.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Statistics {
    /// `isb_ifrecv`: packets received from the interface, those dropped included.
    pub received: Option<u64>,
    /// `isb_ifdrop`: packets that the interface dropped for want of resources.
    pub dropped_by_interface: Option<u64>,
    /// `isb_filteraccept`: packets that the capture filter let through.
    pub accepted: Option<u64>,
    /// `isb_osdrop`: packets that the operating system dropped.
    pub dropped_by_system: Option<u64>,
    /// `isb_usrdeliv`: packets that the operating system delivered.
    pub delivered: Option<u64>,
    /// Packets dropped between packets of the file, by their drop counts.
    pub dropped_between: u64,
}

impl Statistics {
    /// Packets dropped while capturing: by the interface, the system, or the program.
    pub fn dropped(&self) -> u64 {
        let of_interface = self.dropped_by_interface.unwrap_or(0);
        let of_system = self.dropped_by_system.unwrap_or(0);
        of_interface
            .saturating_add(of_system)
            .max(self.dropped_between)
    }

    /// Takes over the counters that `newer` has.
    fn update(&mut self, newer: Statistics) {
        self.received = newer.received.or(self.received);
        self.dropped_by_interface = newer.dropped_by_interface.or(self.dropped_by_interface);
        self.accepted = newer.accepted.or(self.accepted);
        self.dropped_by_system = newer.dropped_by_system.or(self.dropped_by_system);
        self.delivered = newer.delivered.or(self.delivered);
    }
}

/// How a capture is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Format {
    /// Which file format.
    pub kind: FormatKind,
    /// Whether numbers are written most significant byte first. A pcapng file may change this from section to section;
    /// this is its first section.
    pub big_endian: bool,
    /// What the file is compressed with.
    pub compression: Compression,
}

/// The file formats that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FormatKind {
    /// pcap with microseconds (magic number `0xa1b2c3d4`).
    PcapMicros,
    /// pcap with nanoseconds (magic number `0xa1b23c4d`, and what AIX writes).
    PcapNanos,
    /// pcapng (draft-ietf-opsawg-pcapng).
    PcapNg,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.kind {
            FormatKind::PcapMicros => "pcap",
            FormatKind::PcapNanos => "pcap (ns)",
            FormatKind::PcapNg => "pcapng",
        })?;
        if self.compression != Compression::None {
            write!(f, ", {}", self.compression)?;
        }
        Ok(())
    }
}
