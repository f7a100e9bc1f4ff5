//! A stream that can be stopped: standard input and pipes, where the next byte may be long in coming.

use std::io::{self, ErrorKind, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

/// Bytes asked of the stream at once: more than a pipe holds.
const CHUNK: usize = 256 * 1024;
/// Chunks read ahead.
const AHEAD: usize = 4;
/// How long to wait for more before looking whether to stop. A stream that still flows is stopped by those who read it,
/// between two packets.
const PATIENCE: Duration = Duration::from_millis(200);

/// Ends when the stream does, or when it is to stop and nothing more has come for a moment.
pub(crate) struct Stream {
    chunks: Receiver<io::Result<Vec<u8>>>,
    chunk: Vec<u8>,
    /// Bytes of the chunk that have been read.
    used: usize,
    stop: Arc<AtomicBool>,
}

impl Stream {
    pub(crate) fn new(from: impl Read + Send + 'static, stop: &Arc<AtomicBool>) -> Stream {
        let (sender, chunks) = sync_channel(AHEAD);
        // Not joined: it may wait for a byte that never comes.
        thread::spawn(move || pump(from, &sender));
        Stream {
            chunks,
            chunk: Vec::new(),
            used: 0,
            stop: Arc::clone(stop),
        }
    }

    /// The next chunk, or `None` at the end.
    fn next(&self) -> io::Result<Option<Vec<u8>>> {
        loop {
            match self.chunks.recv_timeout(PATIENCE) {
                Ok(chunk) => return chunk.map(Some),
                Err(RecvTimeoutError::Timeout) if !self.stop.load(Ordering::Relaxed) => {}
                Err(_) => return Ok(None),
            }
        }
    }
}

impl Read for Stream {
    fn read(&mut self, space: &mut [u8]) -> io::Result<usize> {
        if self.used == self.chunk.len() {
            let Some(chunk) = self.next()? else {
                return Ok(0);
            };
            self.chunk = chunk;
            self.used = 0;
        }
        let n = space.len().min(self.chunk.len() - self.used);
        space[..n].copy_from_slice(&self.chunk[self.used..self.used + n]);
        self.used += n;
        Ok(n)
    }
}

fn pump(mut from: impl Read, to: &SyncSender<io::Result<Vec<u8>>>) {
    loop {
        let mut chunk = vec![0; CHUNK];
        let read = match from.read(&mut chunk) {
            Ok(0) => return,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Ok(n) => {
                chunk.truncate(n);
                Ok(chunk)
            }
            Err(error) => Err(error),
        };
        let failed = read.is_err();
        if to.send(read).is_err() || failed {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives some bytes, then waits for ever.
    struct Stuck(Option<Vec<u8>>);

    impl Read for Stuck {
        fn read(&mut self, space: &mut [u8]) -> io::Result<usize> {
            let Some(bytes) = self.0.take() else {
                loop {
                    thread::park();
                }
            };
            space[..bytes.len()].copy_from_slice(&bytes);
            Ok(bytes.len())
        }
    }

    #[test]
    fn everything_arrives_in_order() {
        let bytes: Vec<u8> = (0..3 * CHUNK as u32 + 7).map(|i| (i % 251) as u8).collect();
        let mut stream = Stream::new(io::Cursor::new(bytes.clone()), &Arc::default());
        let mut read = Vec::new();
        stream.read_to_end(&mut read).unwrap();
        assert!(read == bytes);
    }

    #[test]
    fn a_stream_that_is_stuck_ends_when_asked_and_gives_what_had_come() {
        let stop = Arc::new(AtomicBool::new(true));
        let mut stream = Stream::new(Stuck(Some(vec![1, 2, 3])), &stop);
        let mut read = Vec::new();
        stream.read_to_end(&mut read).unwrap();
        assert_eq!(read, [1, 2, 3]);
    }
}
