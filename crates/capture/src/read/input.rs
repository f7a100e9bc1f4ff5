//! A stream of bytes as a window that moves over it.

use crate::read::compression::Decompressor;
use std::io::{self, ErrorKind, Read};

/// Bytes asked of the system at once, and the size of the window as long as no record is larger.
///
/// Reads of 64 KiB to 1 MiB from the page cache cost the same processor time (605 MB, 1 MiB of second-level cache), so
/// this is what keeps the window within that cache beside the analysis's own data.
const WINDOW: usize = 256 * 1024;

/// Where the bytes come from.
pub(crate) enum Origin {
    /// As they lie in the file.
    Plain(Box<dyn Read + Send>),
    /// From a thread that decompresses the file.
    Compressed(Decompressor),
}

/// Why a read gave nothing.
#[derive(Debug)]
pub(crate) enum ReadFault {
    /// Reading failed.
    Io(io::Error),
    /// The compressed stream is broken: how, and after how many bytes of the file.
    Broken(String),
}

/// The window: contiguous bytes of the stream, the first of which is the next to be framed.
pub(crate) struct Input {
    origin: Origin,
    /// Bytes `start..end` are the window.
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Where in the stream `buffer[0]` is.
    base: u64,
    ended: bool,
    broken: Option<String>,
}

impl Input {
    /// A stream of which the first bytes, at most a window of them, have been read already.
    pub(crate) fn new(head: &[u8], origin: Origin) -> Input {
        let mut buffer = vec![0; WINDOW];
        let end = head.len().min(WINDOW);
        buffer[..end].copy_from_slice(&head[..end]);
        Input {
            origin,
            buffer,
            start: 0,
            end,
            base: 0,
            ended: false,
            broken: None,
        }
    }

    /// Where in the stream the window begins.
    pub(crate) fn offset(&self) -> u64 {
        self.base + self.start as u64
    }

    /// The window.
    #[inline]
    pub(crate) fn window(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// How the compressed stream is broken, once everything before the break has been seen.
    pub(crate) fn broken(&self) -> Option<&str> {
        self.broken.as_deref()
    }

    /// Makes the window at least `wanted` bytes long, if the stream has as many; `false` if it has not.
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
                // Grows with what has arrived, not with what a length field promises.
                let larger = wanted.min(self.buffer.len() * 2);
                self.buffer.resize(larger, 0);
            }
            self.read()?;
        }
        Ok(self.end >= wanted)
    }

    /// Reads once, behind the window.
    fn read(&mut self) -> Result<(), io::Error> {
        let space = &mut self.buffer[self.end..];
        let result = match &mut self.origin {
            Origin::Plain(from) => from.read(space).map_err(ReadFault::Io),
            Origin::Compressed(from) => from.read(space),
        };
        match result {
            Ok(0) => self.ended = true,
            Ok(n) => self.end += n,
            Err(ReadFault::Io(error)) if error.kind() == ErrorKind::Interrupted => {}
            Err(ReadFault::Io(error)) => return Err(error),
            Err(ReadFault::Broken(how)) => {
                self.ended = true;
                self.broken = Some(how);
            }
        }
        Ok(())
    }

    /// Moves on by `n` bytes that are in the window, and says where in [`Input::bytes`] they are.
    #[inline]
    pub(crate) fn take(&mut self, n: usize) -> usize {
        let at = self.start;
        self.start += n;
        debug_assert!(self.start <= self.end);
        at
    }

    /// Bytes that have been taken, valid until the window moves.
    #[inline]
    pub(crate) fn bytes(&self, at: usize, len: usize) -> &[u8] {
        &self.buffer[at..at + len]
    }

    /// Moves on by `n` bytes, in the window or beyond, without keeping them; how many of them there were.
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
