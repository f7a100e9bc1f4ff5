//! Decompression of captures, which are recognised by their first bytes, on a separate thread.
//!
//! The thread runs ahead of the framing by a few chunks, so that decompression and analysis overlap on two processors.
//! Chunks arrive in the order of the file, so the result does not depend on timing. Several members in one file (gzip
//! members, zstd frames, xz streams, lz4 frames, as `cat a.gz b.gz` makes them) are one stream, as for `zcat`. Where
//! there are no threads (WebAssembly), the framing calls the decoder itself.

mod lz4;

use flate2::bufread::MultiGzDecoder;
use std::fmt;
use std::io::{self, BufReader, ErrorKind, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// Length of the longest magic number, bytes.
pub(crate) const MAGIC: usize = 6;

/// Size of the chunks that the thread sends, decompressed bytes.
const CHUNK: usize = 256 * 1024;

/// Number of chunks queued between the thread and the reader.
const CHUNKS_AHEAD: usize = 4;

/// Memory limit of the xz decompressor, bytes: twice what `xz -9` needs.
#[cfg(feature = "xz")]
const XZ_MEMORY: u64 = 128 * 1024 * 1024;

/// Largest window of a zstd stream, as a power of two: 128 MiB, the default limit of `zstd -d`.
#[cfg(feature = "zstd")]
const ZSTD_WINDOW_LOG: u32 = 27;

/// Compression of a capture file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// Not compressed.
    None,
    /// gzip (RFC 1952).
    Gzip,
    /// Zstandard (RFC 8878).
    Zstd,
    /// xz.
    Xz,
    /// lz4 frames, or the legacy format of `lz4 -l`.
    Lz4,
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Compression::None => "no",
            Compression::Gzip => "gzip",
            Compression::Zstd => "zstd",
            Compression::Xz => "xz",
            Compression::Lz4 => "lz4",
        })
    }
}

impl Compression {
    /// Compression of a file that begins with `head`.
    pub(crate) fn of(head: &[u8]) -> Compression {
        match head {
            [0x1f, 0x8b, ..] => Compression::Gzip,
            // A zstd file may begin with a skippable frame, as files of pzstd do.
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Compression::Zstd,
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Compression::Xz,
            [0x04, 0x22, 0x4d, 0x18, ..] | [0x02, 0x21, 0x4c, 0x18, ..] => Compression::Lz4,
            _ => Compression::None,
        }
    }

    /// Whether the crate was built with the decompressor.
    pub(crate) const fn is_supported(self) -> bool {
        match self {
            Compression::None | Compression::Gzip | Compression::Lz4 => true,
            Compression::Zstd => cfg!(feature = "zstd"),
            Compression::Xz => cfg!(feature = "xz"),
        }
    }
}

/// Number of bytes of the file that the decompressing thread has read.
#[derive(Debug, Clone, Default)]
pub(crate) struct Progress(Arc<AtomicU64>);

impl Progress {
    pub(crate) fn bytes(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Reason why a read failed.
#[derive(Debug)]
pub(crate) enum ReadFault {
    /// Reading failed.
    Io(io::Error),
    /// The compressed stream is damaged; the text says how, and after how many bytes of the file.
    Damaged(String),
}

/// The file that a decompressor reads. Counts the bytes read, and marks errors of reading so that they are not taken
/// for errors of decompression.
pub(crate) struct CompressedFile {
    from: Box<dyn Read + Send>,
    progress: Progress,
}

impl CompressedFile {
    pub(crate) fn new(from: Box<dyn Read + Send>, progress: Progress) -> CompressedFile {
        CompressedFile { from, progress }
    }
}

/// Error of reading the file, not of decompressing it.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct FileError(io::Error);

impl Read for CompressedFile {
    fn read(&mut self, space: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.from.read(space) {
                Ok(n) => {
                    self.progress.0.fetch_add(n as u64, Ordering::Relaxed);
                    return Ok(n);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(io::Error::other(FileError(error))),
            }
        }
    }
}

/// Message from the decompressing thread to the reader.
enum Message {
    /// Decompressed bytes.
    Chunk(Vec<u8>),
    /// End of the stream; no message follows.
    Last(Result<(), ReadFault>),
}

/// The reader's end of the decompressing thread.
pub(crate) struct Decompressor {
    messages: Receiver<Message>,
    /// Chunks returned to the thread for reuse.
    emptied: SyncSender<Vec<u8>>,
    chunk: Vec<u8>,
    /// Number of bytes of the chunk that have been read.
    used: usize,
}

impl Decompressor {
    /// Starts the decompressing thread.
    pub(crate) fn start(decoder: Decoder) -> Result<Decompressor, io::Error> {
        let (sender, messages) = sync_channel(CHUNKS_AHEAD);
        let (emptied, returned) = sync_channel(CHUNKS_AHEAD + 2);
        // Not joined: when the reader is dropped, the thread fails to send its next message and ends.
        thread::Builder::new()
            .name(format!("{} reader", decoder.compression))
            .spawn(move || decompress(decoder, &sender, &returned))?;
        Ok(Decompressor { messages, emptied, chunk: Vec::new(), used: 0 })
    }

    /// Reads as [`Read::read`] does.
    pub(crate) fn read(&mut self, space: &mut [u8]) -> Result<usize, ReadFault> {
        if self.used == self.chunk.len() {
            let next = match self.messages.recv() {
                Ok(Message::Chunk(chunk)) => chunk,
                Ok(Message::Last(how)) => return how.map(|()| 0),
                Err(_) => return Err(ReadFault::Damaged("no answer of the decompressor".into())),
            };
            let old = std::mem::replace(&mut self.chunk, next);
            self.used = 0;
            // Fails if the thread has ended, which then needs no chunk.
            let _ = self.emptied.try_send(old);
        }
        let n = space.len().min(self.chunk.len() - self.used);
        space[..n].copy_from_slice(&self.chunk[self.used..self.used + n]);
        self.used += n;
        Ok(n)
    }
}

/// Decompresses the file and sends its chunks, until its end, an error, or until the reader is dropped.
fn decompress(mut decoder: Decoder, sender: &SyncSender<Message>, returned: &Receiver<Vec<u8>>) {
    loop {
        let mut chunk = returned.try_recv().unwrap_or_default();
        chunk.resize(CHUNK, 0);
        let (filled, end) = fill(&mut decoder, &mut chunk);
        chunk.truncate(filled);
        if filled > 0 && sender.send(Message::Chunk(chunk)).is_err() {
            return;
        }
        if let Some(end) = end {
            // The reader may have been dropped.
            let _ = sender.send(Message::Last(end));
            return;
        }
    }
}

/// Fills a chunk as far as the stream goes. Returns the number of bytes, and the result of the stream if it has ended.
fn fill(from: &mut Decoder, chunk: &mut [u8]) -> (usize, Option<Result<(), ReadFault>>) {
    let mut filled = 0;
    while filled < chunk.len() {
        match from.read(&mut chunk[filled..]) {
            Ok(0) => return (filled, Some(Ok(()))),
            Ok(n) => filled += n,
            Err(fault) => return (filled, Some(Err(fault))),
        }
    }
    (filled, None)
}

/// Decompresses a file on the thread that reads from it.
pub(crate) struct Decoder {
    compression: Compression,
    from: Box<dyn Read + Send>,
    progress: Progress,
}

impl Decoder {
    /// Decoder of a file whose compression [is supported](Compression::is_supported).
    pub(crate) fn new(compression: Compression, file: CompressedFile) -> Result<Decoder, io::Error> {
        let progress = file.progress.clone();
        let file = BufReader::with_capacity(64 * 1024, file);
        let from: Box<dyn Read + Send> = match compression {
            Compression::Gzip => Box::new(MultiGzDecoder::new(file)),
            #[cfg(feature = "zstd")]
            Compression::Zstd => {
                let mut decoder = zstd::stream::read::Decoder::with_buffer(file)?;
                decoder.window_log_max(ZSTD_WINDOW_LOG)?;
                Box::new(decoder)
            }
            #[cfg(feature = "xz")]
            Compression::Xz => {
                let stream = liblzma::stream::Stream::new_stream_decoder(XZ_MEMORY, liblzma::stream::CONCATENATED)?;
                Box::new(liblzma::bufread::XzDecoder::new_stream(file, stream))
            }
            Compression::Lz4 => Box::new(lz4::Frames::new(file)),
            _ => Box::new(file),
        };
        Ok(Decoder { compression, from, progress })
    }

    /// Reads as [`Read::read`] does, but is not interrupted.
    pub(crate) fn read(&mut self, space: &mut [u8]) -> Result<usize, ReadFault> {
        loop {
            match self.from.read(space) {
                Ok(n) => return Ok(n),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(self.fault(error)),
            }
        }
    }

    fn fault(&self, error: io::Error) -> ReadFault {
        match error.downcast::<FileError>() {
            Ok(FileError(error)) => ReadFault::Io(error),
            Err(error) => ReadFault::Damaged(describe(self.compression, &error, self.progress.bytes())),
        }
    }
}

/// Description of an error of decompression, for [`ReadFault::Damaged`].
fn describe(compression: Compression, error: &io::Error, read: u64) -> String {
    if error.kind() == ErrorKind::UnexpectedEof {
        format!("the end of the {compression} file after {read} bytes of it")
    } else {
        format!("{compression} data that cannot be decompressed ({error}), within the first {read} bytes of the file")
    }
}
