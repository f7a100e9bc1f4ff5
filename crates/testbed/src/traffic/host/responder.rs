//! The accepting end of a connection: reads to the end and closes, or serves a request for data.

use super::outgoing::Outgoing;
use super::socket::receive;
use super::unsent::limit_unsent;
use super::{EventContext, Status};
use std::io;
use std::net::TcpStream;

/// Length of a request, as in the simulator.
const REQUEST: usize = gentle_experiment::REQUEST_BYTES as usize;

/// Request for data, sent by a host that connects in order to receive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Request {
    /// Number of bytes; `None`: as many as can be sent until `until_ns`.
    pub(super) bytes: Option<u64>,
    pub(super) until_ns: u64,
}

impl Request {
    /// Encodes the request.
    pub(super) fn encode(self) -> Vec<u8> {
        let mut text = vec![0; REQUEST];
        text[..8].copy_from_slice(&self.bytes.unwrap_or(u64::MAX).to_be_bytes());
        text[8..16].copy_from_slice(&self.until_ns.to_be_bytes());
        text
    }

    fn decode(text: &[u8]) -> Option<Request> {
        let number = |at: usize| -> Option<u64> {
            let bytes = text.get(at..at + 8)?;
            Some(u64::from_be_bytes(bytes.try_into().ok()?))
        };
        Some(Request { bytes: number(0).filter(|bytes| *bytes != u64::MAX), until_ns: number(8)? })
    }
}

/// Accepting end of a connection.
pub(super) struct Responder {
    stream: TcpStream,
    /// The part of the request received so far; `None`: no request is expected, or it has been parsed.
    request: Option<Vec<u8>>,
    outgoing: Outgoing,
    /// Time at which sending ends, for which the host has to set a timer.
    stop_ns: Option<u64>,
}

impl Responder {
    pub(super) fn new(stream: TcpStream, awaits_request: bool) -> Responder {
        Responder { stream, request: awaits_request.then(Vec::new), outgoing: Outgoing::Nothing, stop_ns: None }
    }

    pub(super) fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Takes the time at which the connection has to be polled; returns it only once.
    pub(super) fn take_stop(&mut self) -> Option<u64> {
        self.stop_ns.take()
    }

    pub(super) fn ready(&mut self, context: &mut EventContext<'_>) -> Status {
        // The other end reports errors, since it has the record of the connection.
        self.proceed(context).unwrap_or(Status::Over)
    }

    fn proceed(&mut self, context: &mut EventContext<'_>) -> io::Result<Status> {
        let request = &mut self.request;
        let closed = receive(&self.stream, context.buffer, |bytes| {
            // Nothing follows a request.
            if let Some(request) = request.as_mut().filter(|so_far| so_far.len() < REQUEST) {
                request.extend_from_slice(bytes);
            }
        })?;
        if closed {
            return Ok(Status::Over);
        }
        if let Some(request) = self.request.take_if(|so_far| so_far.len() >= REQUEST) {
            self.answer(&request)?;
        }
        self.outgoing.write(&self.stream, context.now_ns)?;
        Ok(Status::Open)
    }

    /// Begins to send the requested bytes.
    fn answer(&mut self, request: &[u8]) -> io::Result<()> {
        let Some(asked) = Request::decode(request) else {
            return Ok(());
        };
        self.outgoing = match asked.bytes {
            Some(bytes) => Outgoing::Bytes(bytes),
            None => {
                limit_unsent(&self.stream)?;
                self.stop_ns = Some(asked.until_ns);
                Outgoing::Until(asked.until_ns)
            }
        };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decoding_reverses_encoding() {
        for bytes in [Some(0), Some(1_448), None] {
            let request = Request { bytes, until_ns: 7_000_000_000 };
            let text = request.encode();
            assert_eq!(text.len(), 300);
            assert_eq!(Request::decode(&text), Some(request));
        }
        assert_eq!(Request::decode(&[0; 9]), None);
    }
}
