//! Errors and warnings about captures, in sentences.

use crate::read::Compression;
use std::{fmt, io};
use thiserror::Error;

/// Reason why a capture cannot be read, or not further.
#[derive(Debug, Error)]
pub enum CaptureError {
    /// The operating system returned an error.
    #[error("{file}: {source}")]
    Io {
        /// File name, `-` for standard input.
        file: String,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The file is not a capture, or of a format that is not supported.
    #[error("{file}: not a pcap or pcapng capture: {found}")]
    NotACapture {
        /// File name.
        file: String,
        /// Description of the file by its first bytes, and the remedy.
        found: String,
    },
    /// The file is damaged, and the reader is [strict](crate::read::CaptureReader::strict).
    #[error("{0}")]
    Damaged(Box<Warning>),
}

/// Defect of a capture that was read nevertheless.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// File name, `-` for standard input.
    pub file: String,
    /// Kind of defect.
    pub kind: WarningKind,
    /// Offset of the record or block concerned, bytes; of the first one if [`Warning::count`] is more than one. In a
    /// compressed file, decompressed bytes count.
    pub offset: u64,
    /// Compression of the file.
    pub compression: Compression,
    /// Description of the correct content.
    pub expected: String,
    /// Description of the actual content.
    pub found: String,
    /// Number of occurrences.
    pub count: u64,
}

/// Kinds of defects in a capture; a reader has at most one [`Warning`] of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WarningKind {
    /// The file ends within a header, record or block. Reading ended there.
    CutShort,
    /// A record or block is invalid, and the next packet cannot be found. Reading ended there.
    Corrupt,
    /// Zeros in place of a packet: the capturing machine crashed, or its disk was full. Packets after the zeros were
    /// read if their beginning was found.
    Zeros,
    /// The compressed stream is cut short or corrupt. The packets before the damage were read.
    Compression,
    /// A pcapng block belongs to an interface that its section does not describe. The block was ignored.
    UnknownInterface,
    /// The content of a pcapng block contradicts the size of the block. The block was ignored.
    BadBlock,
    /// The options of a pcapng interface are malformed. The options before the malformed one were used.
    BadOptions,
    /// The time of a pcap packet has a fraction of a second or more. The packet got the time of the packet before it.
    BadTime,
    /// pcapng simple packets have no time; each got the time of the packet before it.
    NoTime,
}

impl WarningKind {
    /// Whether reading ended at the defect.
    pub fn ends_reading(self) -> bool {
        matches!(self, WarningKind::CutShort | WarningKind::Corrupt | WarningKind::Compression)
    }

    /// Whether the defect is an error for a [strict](crate::read::CaptureReader::strict) reader: all but
    /// [`WarningKind::NoTime`], which the format permits.
    pub fn is_damage(self) -> bool {
        self != WarningKind::NoTime
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: at byte {}", self.file, self.offset)?;
        if self.compression != Compression::None {
            write!(f, " of what {} decompresses to", self.compression)?;
        }
        write!(f, ": expected {}, found {}", self.expected, self.found)?;
        if self.count > 1 {
            write!(f, " ({} times; this is the first)", self.count)?;
        }
        Ok(())
    }
}

/// Error or damage before the reader adds the file name.
#[derive(Debug)]
pub(crate) enum Fault {
    /// Reading failed.
    Io(io::Error),
    /// The file is damaged.
    Damage(Damage),
}

/// A [`Warning`] without file name, compression and count, which the reader adds.
#[derive(Debug)]
pub(crate) struct Damage {
    pub(crate) kind: WarningKind,
    pub(crate) offset: u64,
    pub(crate) expected: String,
    pub(crate) found: String,
}

impl Damage {
    /// The file ends after the first `left` bytes of `expected`.
    pub(crate) fn cut_short(offset: u64, expected: String, left: usize) -> Box<Fault> {
        Box::new(Fault::Damage(Damage {
            kind: WarningKind::CutShort,
            offset,
            expected,
            found: format!("the end of the file after {left} bytes"),
        }))
    }
}

impl From<io::Error> for Box<Fault> {
    fn from(error: io::Error) -> Box<Fault> {
        Box::new(Fault::Io(error))
    }
}
