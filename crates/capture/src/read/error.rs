//! What can be wrong with a capture, in sentences.

use crate::read::Compression;
use std::{fmt, io};
use thiserror::Error;

/// Why a capture cannot be read, or not further.
#[derive(Debug, Error)]
pub enum CaptureError {
    /// The operating system said no.
    #[error("{file}: {source}")]
    Io {
        /// The file, `-` for standard input.
        file: String,
        /// What it said.
        source: io::Error,
    },
    /// Not a capture, or one of a kind that is not read.
    #[error("{file}: not a pcap or pcapng capture: {found}")]
    NotACapture {
        /// The file.
        file: String,
        /// What it is instead, as far as its first bytes tell, and what to do about it.
        found: String,
    },
    /// Damaged, and the reader is [strict](crate::read::CaptureReader::strict).
    #[error("{0}")]
    Damaged(Box<Warning>),
}

/// What was amiss in a capture that was read nevertheless.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// The file, `-` for standard input.
    pub file: String,
    /// Kind of defect.
    pub kind: WarningKind,
    /// Where: bytes before the record or block concerned, the first one if [`Warning::count`] is more than one. In a
    /// compressed file this counts decompressed bytes.
    pub offset: u64,
    /// What the file is compressed with.
    pub compression: Compression,
    /// What should have been there.
    pub expected: String,
    /// What was there.
    pub found: String,
    /// How many times.
    pub count: u64,
}

/// Kinds of defects in a capture; a reader has at most one [`Warning`] of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WarningKind {
    /// The file ends in the middle of something. Nothing was read beyond.
    CutShort,
    /// What is there cannot be, so that the next packet cannot be found either. Nothing was read beyond.
    Corrupt,
    /// Zeros stand where a packet should be: the capturing machine crashed, or its disk was full. What follows them was
    /// read, as far as it can be told where a packet begins.
    Zeros,
    /// The compressed stream is cut short or corrupt. What could be decompressed was read.
    Compression,
    /// A block of pcapng belongs to an interface that its section does not describe. It was left out.
    UnknownInterface,
    /// The content of a block of pcapng contradicts the block's size. It was left out.
    BadBlock,
    /// The options of an interface of pcapng are malformed. Those before the malformed one were used.
    BadOptions,
    /// Simple packets of pcapng have no time; they were given the time of the packet before.
    NoTime,
}

impl WarningKind {
    /// Whether reading ended there.
    pub fn ends_the_file(self) -> bool {
        matches!(
            self,
            WarningKind::CutShort | WarningKind::Corrupt | WarningKind::Compression
        )
    }

    /// Whether a [strict](crate::read::CaptureReader::strict) reader refuses it: all but what is allowed and merely poor.
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

/// Damage on its way up to the reader, which knows the file's name.
#[derive(Debug)]
pub(crate) enum Fault {
    /// Reading failed.
    Io(io::Error),
    /// The file is amiss, so that nothing more can be read.
    Damage(Damage),
}

/// A [`Warning`] before the reader has put the file's name to it.
#[derive(Debug)]
pub(crate) struct Damage {
    pub(crate) kind: WarningKind,
    pub(crate) offset: u64,
    pub(crate) expected: String,
    pub(crate) found: String,
}

impl Damage {
    /// The file ends where `expected` should have been, `left` bytes into it.
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
