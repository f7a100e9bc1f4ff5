//! A stream of bytes, read through a window of contiguous bytes that moves over it.

use crate::RawPacket;
use crate::read::compression::{CompressedFile, Compression, Decoder, Decompressor, MAGIC, Progress, ReadFault};
use gentle_units::Instant;
use gentle_wire::LinkType;
use std::io::{self, Cursor, ErrorKind, Read};

/// Bytes requested from the system at once, and the size of the window as long as no record is larger.
///
/// Reads of 64 KiB to 1 MiB from the page cache cost the same processor time (605 MB, 1 MiB of second-level cache).
/// This size keeps the window within that cache, together with the data of the analysis.
const WINDOW: usize = 256 * 1024;

/// Source of the bytes.
pub(crate) enum Origin {
    /// The file itself.
    Plain(Box<dyn Read + Send>),
    /// A thread that decompresses the file.
    Compressed(Decompressor),
    /// A decoder, where there are no threads.
    Decoded(Decoder),
}

/// A stream whose compression is known.
pub(crate) struct Opened {
    pub(crate) input: Input,
    pub(crate) compression: Compression,
    /// Progress of the decompressor; `None` without compression.
    pub(crate) progress: Option<Progress>,
}

/// A packet found in the window.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Record {
    pub(crate) time: Instant,
    pub(crate) interface: u32,
    pub(crate) link: LinkType,
    pub(crate) original_len: u32,
    /// Position of the bytes, for [`Input::bytes`].
    pub(crate) at: usize,
    pub(crate) len: usize,
}

impl Record {
    /// No packet.
    pub(crate) const NONE: Record =
        Record { time: Instant::ZERO, interface: 0, link: LinkType(0), original_len: 0, at: 0, len: 0 };

    /// The packet, borrowed from the window.
    #[inline]
    pub(crate) fn packet<'a>(&self, input: &'a Input) -> RawPacket<'a> {
        RawPacket {
            time: self.time,
            interface: self.interface,
            link: self.link,
            original_len: self.original_len,
            data: input.bytes(self.at, self.len),
        }
    }
}

/// Window over the stream. Its first byte is the next to be framed.
pub(crate) struct Input {
    origin: Origin,
    /// Bytes `start..end` are the window.
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Offset of `buffer[0]` in the stream.
    base: u64,
    ended: bool,
    damage: Option<String>,
}

impl Input {
    /// Reads the first bytes of a stream, and starts a decompressor if they identify a compressed file. Without a
    /// decompressor for it the input is the compressed file.
    pub(crate) fn open(mut from: Box<dyn Read + Send>) -> Result<Opened, io::Error> {
        let mut head = Vec::with_capacity(MAGIC);
        from.by_ref().take(MAGIC as u64).read_to_end(&mut head)?;
        let compression = Compression::of(&head);
        if compression == Compression::None || !compression.is_supported() {
            return Ok(Opened { input: Input::new(&head, Origin::Plain(from)), compression, progress: None });
        }
        let progress = Progress::default();
        let file = CompressedFile::new(Box::new(Cursor::new(head).chain(from)), progress.clone());
        let decoder = Decoder::new(compression, file)?;
        let origin = match cfg!(target_family = "wasm") {
            true => Origin::Decoded(decoder),
            false => Origin::Compressed(Decompressor::start(decoder)?),
        };
        Ok(Opened { input: Input::new(&[], origin), compression, progress: Some(progress) })
    }

    /// Creates the window of a stream whose first bytes `head`, at most a window, have been read already.
    fn new(head: &[u8], origin: Origin) -> Input {
        let mut buffer = vec![0; WINDOW];
        let end = head.len().min(WINDOW);
        buffer[..end].copy_from_slice(&head[..end]);
        Input { origin, buffer, start: 0, end, base: 0, ended: false, damage: None }
    }

    /// Offset of the window in the stream, bytes.
    pub(crate) fn offset(&self) -> u64 {
        self.base + self.start as u64
    }

    /// The window.
    #[inline]
    pub(crate) fn window(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Damage of the compressed stream, once everything before it has been read.
    pub(crate) fn damage(&self) -> Option<&str> {
        self.damage.as_deref()
    }

    /// Extends the window to at least `wanted` bytes; returns `false` if the stream ends before.
    #[inline]
    pub(crate) fn want(&mut self, wanted: usize) -> Result<bool, io::Error> {
        if self.end - self.start >= wanted {
            return Ok(true);
        }
        self.fill(wanted)
    }

    #[cold]
    #[inline(never)]
    fn fill(&mut self, wanted: usize) -> Result<bool, io::Error> {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.base += self.start as u64;
            self.end -= self.start;
            self.start = 0;
        }
        while self.end < wanted && !self.ended {
            if self.end == self.buffer.len() {
                // Grows with the data received, not to the value of a length field.
                let larger = wanted.min(self.buffer.len() * 2);
                self.buffer.resize(larger, 0);
            }
            self.read()?;
        }
        Ok(self.end >= wanted)
    }

    /// Reads once, to the end of the window.
    fn read(&mut self) -> Result<(), io::Error> {
        let space = &mut self.buffer[self.end..];
        let result = match &mut self.origin {
            Origin::Plain(from) => from.read(space).map_err(ReadFault::Io),
            Origin::Compressed(from) => from.read(space),
            Origin::Decoded(from) => from.read(space),
        };
        match result {
            Ok(0) => self.ended = true,
            Ok(n) => self.end += n,
            Err(ReadFault::Io(error)) if error.kind() == ErrorKind::Interrupted => {}
            Err(ReadFault::Io(error)) => return Err(error),
            Err(ReadFault::Damaged(how)) => {
                self.ended = true;
                self.damage = Some(how);
            }
        }
        Ok(())
    }

    /// Consumes `n` bytes of the window; returns their position for [`Input::bytes`].
    #[inline]
    pub(crate) fn take(&mut self, n: usize) -> usize {
        let at = self.start;
        self.start += n;
        debug_assert!(self.start <= self.end);
        at
    }

    /// Bytes consumed by [`Input::take`], valid until the window is extended.
    #[inline]
    pub(crate) fn bytes(&self, at: usize, len: usize) -> &[u8] {
        &self.buffer[at..at + len]
    }

    /// Consumes `n` bytes, in the window or beyond, without keeping them. Returns how many of them the stream had.
    pub(crate) fn skip(&mut self, n: u64) -> Result<u64, io::Error> {
        let mut left = n;
        loop {
            let here = left.min((self.end - self.start) as u64);
            self.start += here as usize;
            left -= here;
            if left == 0 || !self.want(1)? {
                return Ok(n - left);
            }
        }
    }
}
