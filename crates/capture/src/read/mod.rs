//! Reading of captures.

mod clock;
mod compression;
mod error;
mod identify;
mod input;
mod merge;
mod pcap;
mod pcapng;
mod reader;

pub use compression::Compression;
pub use error::{CaptureError, Warning, WarningKind};
pub use merge::Merge;
pub use reader::CaptureReader;

use crate::{QueueSide, RawPacket};
use gentle_wire::LinkType;
use std::fmt;
use std::ops::ControlFlow;

/// Receiver of the packets of a [`Merge`].
pub trait Sink {
    /// Called for each packet, which is of the capture with the index `file`. [`Merge::read`] returns after a break.
    fn packet(&mut self, file: usize, packet: &RawPacket<'_>) -> ControlFlow<()>;
}

/// Description of the interface that packets were captured on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// Link type of its packets.
    pub link: LinkType,
    /// Largest number of bytes of a packet that were kept; `None` without a limit.
    pub snap_length: Option<u32>,
    /// Length of the frame check sequence at the end of each packet, bytes, if given.
    pub fcs_length: Option<u8>,
    /// Name such as `eth0`, if given; its first 255 bytes.
    pub name: Option<String>,
    /// Description, if given; its first 255 bytes.
    pub description: Option<String>,
    /// Counters of the capturing program, as far as the capture has been read.
    pub statistics: Statistics,
}

/// Counters of a capturing program (pcapng, interface statistics block and the drop counts of packet blocks), since the
/// beginning of the capture.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Statistics {
    /// `isb_ifrecv`: packets received from the interface, those dropped included.
    pub received: Option<u64>,
    /// `isb_ifdrop`: packets that the interface dropped for lack of resources.
    pub dropped_by_interface: Option<u64>,
    /// `isb_filteraccept`: packets that the capture filter let through.
    pub accepted: Option<u64>,
    /// `isb_osdrop`: packets that the operating system dropped.
    pub dropped_by_system: Option<u64>,
    /// `isb_usrdeliv`: packets that the operating system delivered.
    pub delivered: Option<u64>,
    /// Sum of the drop counts of packet blocks: packets dropped between packets of the file.
    pub dropped_between: u64,
}

impl Interface {
    /// Place at a queue, if this is an interface of a simulated one.
    pub fn queue_side(&self) -> Option<QueueSide> {
        QueueSide::of_description(self.description.as_deref()?)
    }
}

impl Statistics {
    /// Packets dropped while capturing, by the interface, the system or the program.
    pub fn dropped(&self) -> u64 {
        let of_interface = self.dropped_by_interface.unwrap_or(0);
        let of_system = self.dropped_by_system.unwrap_or(0);
        of_interface.saturating_add(of_system).max(self.dropped_between)
    }

    /// Replaces the counters that `newer` has.
    fn update(&mut self, newer: Statistics) {
        self.received = newer.received.or(self.received);
        self.dropped_by_interface = newer.dropped_by_interface.or(self.dropped_by_interface);
        self.accepted = newer.accepted.or(self.accepted);
        self.dropped_by_system = newer.dropped_by_system.or(self.dropped_by_system);
        self.delivered = newer.delivered.or(self.delivered);
    }
}

/// Format of a capture file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Format {
    /// File format.
    pub kind: FormatKind,
    /// Whether numbers are big-endian; of a pcapng file, whose sections may differ, in its first section.
    pub big_endian: bool,
    /// Compression of the file.
    pub compression: Compression,
}

impl Format {
    /// Whether a file of the format can have several interfaces, each with a description.
    pub fn has_interfaces(self) -> bool {
        self.kind == FormatKind::PcapNg
    }
}

/// Supported file formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FormatKind {
    /// pcap with microseconds (magic number `0xa1b2c3d4`).
    PcapMicros,
    /// pcap with nanoseconds (magic number `0xa1b23c4d`, and files of AIX).
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
