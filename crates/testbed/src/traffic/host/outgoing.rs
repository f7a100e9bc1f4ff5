//! Data that an end of a connection has to send.

use std::io::{self, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::LazyLock;

/// Payload, all zeros; large, so that few writes are needed and segments are full. Made when needed: a static array would be a
/// megabyte of the program.
static ZEROS: LazyLock<Vec<u8>> = LazyLock::new(|| vec![0; 1 << 20]);

/// Data not yet written to the socket.
#[derive(Debug, Clone)]
pub(super) enum Outgoing {
    /// This many bytes, then FIN.
    Bytes(u64),
    /// As much as the kernel accepts until this time, then FIN.
    Until(u64),
    /// These bytes, without FIN.
    Request(Vec<u8>),
    /// This many bytes, without FIN.
    Answer(u64),
    /// Nothing; everything has been written.
    Nothing,
}

impl Outgoing {
    /// Writes as much as the kernel accepts.
    pub(super) fn write(&mut self, mut stream: &TcpStream, now_ns: u64) -> io::Result<()> {
        loop {
            let chunk = match self {
                Outgoing::Nothing => return Ok(()),
                Outgoing::Request(bytes) if bytes.is_empty() => {
                    *self = Outgoing::Nothing;
                    return Ok(());
                }
                Outgoing::Answer(0) => {
                    *self = Outgoing::Nothing;
                    return Ok(());
                }
                Outgoing::Bytes(0) => return self.close(stream),
                Outgoing::Until(end) if *end <= now_ns => return self.close(stream),
                Outgoing::Bytes(left) | Outgoing::Answer(left) => {
                    &ZEROS[..usize::try_from(*left).unwrap_or(usize::MAX).min(ZEROS.len())]
                }
                Outgoing::Until(_) => &ZEROS[..],
                Outgoing::Request(bytes) => &bytes[..],
            };
            let written = match stream.write(chunk) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                outcome => outcome?,
            };
            match self {
                Outgoing::Bytes(left) | Outgoing::Answer(left) => *left -= written as u64,
                Outgoing::Request(bytes) => drop(bytes.drain(..written)),
                Outgoing::Until(_) | Outgoing::Nothing => {}
            }
        }
    }

    fn close(&mut self, stream: &TcpStream) -> io::Result<()> {
        *self = Outgoing::Nothing;
        stream.shutdown(Shutdown::Write)
    }
}
