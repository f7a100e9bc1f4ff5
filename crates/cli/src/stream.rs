//! Interruptible streams: standard input and pipes, where a read may block for long.

use std::io::{self, ErrorKind, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

/// Bytes per read call: more than a pipe holds.
const CHUNK: usize = 256 * 1024;
/// Chunks read ahead.
const AHEAD: usize = 4;
/// Interval at which a blocked reader checks the stop flag. A stream that keeps flowing is stopped by its consumer,
/// between two packets.
const PATIENCE: Duration = Duration::from_millis(200);

/// Stream that also ends when the stop flag is set and nothing has arrived for a moment.
pub(crate) struct Stream {
    chunks: Receiver<io::Result<Vec<u8>>>,
    chunk: Vec<u8>,
    /// Bytes of the chunk already consumed.
    used: usize,
    stop: Arc<AtomicBool>,
}

impl Stream {
    pub(crate) fn new(from: impl Read + Send + 'static, stop: &Arc<AtomicBool>) -> Stream {
        let (sender, chunks) = sync_channel(AHEAD);
        // Not joined: the thread may wait for a byte that never comes.
        thread::spawn(move || pump(from, &sender));
        Stream { chunks, chunk: Vec::new(), used: 0, stop: Arc::clone(stop) }
    }

    /// Next chunk; `None` at the end.
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

    /// Reader that returns some bytes, then blocks forever.
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
