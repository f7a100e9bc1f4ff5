#![doc = include_str!("../README.md")]

mod queue_side;
#[cfg(feature = "read")]
mod read;
mod writer;

pub use queue_side::QueueSide;
#[cfg(feature = "read")]
pub use read::{
    CaptureError, CaptureReader, Compression, Format, FormatKind, Interface, Merge, Sink, Statistics, Warning,
    WarningKind,
};
pub use writer::{InterfaceDescription, PcapNgWriter, PcapWriter, Resolution};

use gentle_units::Instant;
use gentle_wire::LinkType;

/// One packet of a capture, borrowed from the reader's buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawPacket<'a> {
    /// Time of capture, since 1970 (UTC); earlier times are zero. A pcapng simple packet has no time and gets that of
    /// the packet before it, with the warning `WarningKind::NoTime`.
    pub time: Instant,
    /// Index of the interface in the capture.
    pub interface: u32,
    /// Link type of the bytes.
    pub link: LinkType,
    /// Length of the packet on the wire, bytes.
    pub original_len: u32,
    /// Captured bytes: the whole packet, or its beginning as far as the snap length allows.
    pub data: &'a [u8],
}
