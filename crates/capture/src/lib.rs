#![doc = include_str!("../README.md")]

#[cfg(feature = "read")]
mod read;
mod writer;

#[cfg(feature = "read")]
pub use read::{
    CaptureError, CaptureReader, Compression, Format, FormatKind, Interface, Merge, Sink,
    Statistics, Warning, WarningKind,
};
pub use writer::{InterfaceDescription, PcapNgWriter, PcapWriter, Resolution};

use gentle_units::Nanos;
use gentle_wire::LinkType;

/// One packet of a capture, borrowed from the reader's buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawPacket<'a> {
    /// When it was captured, since the Unix epoch; what lies before the epoch is at zero. A pcapng simple packet has no
    /// time of its own and gets that of the packet before it, which `WarningKind::NoTime` says.
    pub time: Nanos,
    /// Index of its interface in the capture.
    pub interface: u32,
    /// What the bytes begin with.
    pub link: LinkType,
    /// Bytes the packet had on the wire.
    pub original_len: u32,
    /// The bytes captured: all, or the first ones, as many as the snap length let through.
    pub data: &'a [u8],
}
