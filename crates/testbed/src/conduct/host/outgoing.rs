//! What an end point has to send.

use std::io::{self, Write};
use std::net::{Shutdown, TcpStream};

/// Payload is zeros; written with few calls, so that segments are full.
static ZEROS: [u8; 1 << 20] = [0; 1 << 20];

/// Payload on its way to the kernel.
#[derive(Debug, Clone)]
pub(super) enum Outgoing {
    /// So many more bytes, then the end.
    Bytes(u64),
    /// As much as the kernel takes until this time, then the end.
    Until(u64),
    /// These bytes, and nothing after them for now.
    Request(Vec<u8>),
    /// Everything has been handed over.
    Nothing,
}

impl Outgoing {
    /// Hands over as much as the kernel takes.
    pub(super) fn write(&mut self, mut stream: &TcpStream, now_ns: u64) -> io::Result<()> {
        loop {
            let chunk = match self {
                Outgoing::Nothing => return Ok(()),
                Outgoing::Request(bytes) if bytes.is_empty() => {
                    *self = Outgoing::Nothing;
                    return Ok(());
                }
                Outgoing::Bytes(0) => return self.close(stream),
                Outgoing::Until(end) if *end <= now_ns => return self.close(stream),
                Outgoing::Bytes(left) => {
                    &ZEROS[..usize::try_from(*left)
                        .unwrap_or(usize::MAX)
                        .min(ZEROS.len())]
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
                Outgoing::Bytes(left) => *left -= written as u64,
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
