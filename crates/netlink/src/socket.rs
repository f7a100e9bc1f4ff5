//! Netlink socket: requests and answers.

use crate::attribute;
use netlink_packet_core::{NLM_F_DUMP, NLM_F_DUMP_INTR, NLM_F_REQUEST, NetlinkBuffer};
use netlink_sys::protocols::{NETLINK_ROUTE, NETLINK_SOCK_DIAG};
use netlink_sys::{Socket, SocketAddr};
use std::io;
use thiserror::Error;

const HEADER: usize = 16;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;

/// Flag of an error message that has a text of the kernel attached (`NLM_F_ACK_TLVS`).
const ACK_TLVS: u16 = 0x200;
/// Type of the text, `NLMSGERR_ATTR_MSG`.
const ERROR_TEXT: u16 = 1;

/// Maximum number of attempts to read a dump that changes while it is read.
const ATTEMPTS: usize = 5;

/// Part of the kernel that answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// Devices and queue disciplines, rtnetlink(7).
    Route,
    /// Sockets, sock_diag(7).
    SockDiag,
}

/// Error of a request.
#[derive(Debug, Error)]
pub enum RequestError {
    /// The socket failed.
    #[error("netlink: {0}")]
    Socket(#[from] io::Error),
    /// The kernel rejected the request.
    #[error("{}", .text.clone().unwrap_or_else(|| .cause.to_string()))]
    Refused {
        /// Error code of the kernel.
        cause: io::Error,
        /// Message of the kernel, which newer kernels send with many errors.
        text: Option<String>,
    },
    /// The answer is truncated or malformed.
    #[error("netlink: the kernel sent a malformed answer ({0})")]
    Malformed(&'static str),
}

impl From<RequestError> for io::Error {
    fn from(error: RequestError) -> io::Error {
        match error {
            RequestError::Socket(cause) | RequestError::Refused { cause, .. } => cause,
            RequestError::Malformed(_) => io::Error::new(io::ErrorKind::InvalidData, error.to_string()),
        }
    }
}

/// Result of a dump.
#[derive(Debug)]
pub struct Dump<T> {
    /// Value that the answers were folded into.
    pub value: T,
    /// Whether objects changed during the last attempt, so that some may be missing.
    pub interrupted: bool,
}

/// Netlink socket of the network namespace of the thread that opened it.
#[derive(Debug)]
pub struct NetlinkSocket {
    socket: Socket,
    sequence: u32,
}

/// Progress of an answer with a datagram.
#[derive(Debug, Default, PartialEq, Eq)]
struct Progress {
    /// Whether the answer is complete.
    last: bool,
    /// Whether objects changed during the dump.
    interrupted: bool,
}

impl NetlinkSocket {
    /// Opens a socket.
    ///
    /// # Errors
    /// The kernel lacks the protocol, or the process may not have another file.
    pub fn open(protocol: Protocol) -> Result<NetlinkSocket, RequestError> {
        let mut socket = Socket::new(match protocol {
            Protocol::Route => NETLINK_ROUTE,
            Protocol::SockDiag => NETLINK_SOCK_DIAG,
        })?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        socket.set_ext_ack(true)?;
        Ok(NetlinkSocket { socket, sequence: 0 })
    }

    /// Sends a request with `NLM_F_REQUEST` and these flags, and passes the payloads of its answers to `each`, up to the
    /// acknowledgement (`NLM_F_ACK`) or the end of a dump (`NLM_F_DUMP`). Returns whether objects changed meanwhile.
    ///
    /// # Errors
    /// The socket failed, the kernel rejected the request, or its answer is malformed.
    pub fn request(
        &mut self,
        message_type: u16,
        flags: u16,
        payload: &[u8],
        mut each: impl FnMut(&[u8]),
    ) -> Result<bool, RequestError> {
        self.send(message_type, flags, payload)?;
        let mut interrupted = false;
        loop {
            let (bytes, _) = self.socket.recv_from_full()?;
            let progress = parse(&bytes, self.sequence, &mut each)?;
            interrupted |= progress.interrupted;
            if progress.last {
                return Ok(interrupted);
            }
        }
    }

    /// Folds all answers to a request for a dump, up to five times if it changes while it is read. `start` makes the value
    /// with which each attempt starts.
    ///
    /// # Errors
    /// As [`request`](Self::request).
    pub fn dump<T>(
        &mut self,
        message_type: u16,
        payload: &[u8],
        start: impl Fn() -> T,
        mut add: impl FnMut(&mut T, &[u8]),
    ) -> Result<Dump<T>, RequestError> {
        let mut attempt = 1;
        loop {
            let mut value = start();
            let interrupted = self.request(message_type, NLM_F_DUMP, payload, |message| add(&mut value, message))?;
            if !interrupted || attempt == ATTEMPTS {
                return Ok(Dump { value, interrupted });
            }
            attempt += 1;
        }
    }

    fn send(&mut self, message_type: u16, flags: u16, payload: &[u8]) -> Result<(), RequestError> {
        self.sequence = self.sequence.wrapping_add(1);
        let mut bytes = vec![0; HEADER];
        bytes.extend(payload);
        let length = u32::try_from(bytes.len()).map_err(|_| RequestError::Malformed("a message of 4 GB"))?;
        let mut header = NetlinkBuffer::new(&mut bytes);
        header.set_length(length);
        header.set_message_type(message_type);
        header.set_flags(flags | NLM_F_REQUEST);
        header.set_sequence_number(self.sequence);
        header.set_port_number(0);
        self.socket.send(&bytes, 0)?;
        Ok(())
    }
}

/// Passes the payload of each message with this sequence number to `each`.
fn parse(bytes: &[u8], sequence: u32, mut each: impl FnMut(&[u8])) -> Result<Progress, RequestError> {
    let mut rest = bytes;
    let mut progress = Progress::default();
    while rest.len() >= HEADER {
        let message = NetlinkBuffer::new_checked(rest).map_err(|_| RequestError::Malformed("a message's length"))?;
        let length = (message.length() as usize).next_multiple_of(4);
        if message.sequence_number() == sequence {
            progress.interrupted |= message.flags() & NLM_F_DUMP_INTR != 0;
            match message.message_type() {
                NLMSG_ERROR => {
                    outcome(message.payload(), message.flags())?;
                    progress.last = true;
                }
                NLMSG_DONE => progress.last = true,
                _ => each(message.payload()),
            }
        }
        rest = rest.get(length..).unwrap_or_default();
    }
    Ok(progress)
}

/// Parses an error message; code 0 means success.
fn outcome(payload: &[u8], flags: u16) -> Result<(), RequestError> {
    let code = payload.first_chunk().ok_or(RequestError::Malformed("an error without code"))?;
    let code = i32::from_ne_bytes(*code);
    if code == 0 {
        return Ok(());
    }
    // The request follows the code; after a failure all of it, followed by the text.
    let text = || {
        let request = payload.get(4..)?;
        let length = u32::from_ne_bytes(*request.first_chunk()?) as usize;
        attribute::find(request.get(length.checked_next_multiple_of(4)?..)?, ERROR_TEXT).map(attribute::text)
    };
    let text = if flags & ACK_TLVS == 0 { None } else { text() };
    Err(RequestError::Refused { cause: io::Error::from_raw_os_error(code.saturating_neg()), text })
}

#[cfg(test)]
mod tests {
    use super::{ACK_TLVS, HEADER, NLMSG_DONE, NLMSG_ERROR, Progress, RequestError, outcome, parse};
    use netlink_packet_core::NetlinkBuffer;
    use proptest::prelude::*;
    use std::io::ErrorKind;

    fn message(kind: u16, sequence: u32, payload: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; HEADER];
        bytes.extend(payload);
        let length = bytes.len() as u32;
        let mut header = NetlinkBuffer::new(&mut bytes);
        header.set_length(length);
        header.set_message_type(kind);
        header.set_sequence_number(sequence);
        bytes
    }

    #[test]
    fn answers_to_other_requests_are_skipped() {
        let bytes = [message(20, 1, b"old!"), message(20, 2, b"this"), message(NLMSG_DONE, 2, &[0; 4])].concat();
        let mut found = Vec::new();
        let progress = parse(&bytes, 2, |payload| found.push(payload.to_owned())).expect("messages");
        assert_eq!((found, progress), (vec![b"this".to_vec()], Progress { last: true, interrupted: false }));
    }

    #[test]
    fn an_error_ends_the_answer() {
        let bytes = message(NLMSG_ERROR, 2, &(-2_i32).to_ne_bytes());
        let error = parse(&bytes, 2, |_| ()).expect_err("an error");
        assert!(matches!(&error, RequestError::Refused { cause, text: None } if cause.kind() == ErrorKind::NotFound));
        let acknowledged = parse(&message(NLMSG_ERROR, 2, &[0; 4]), 2, |_| ()).expect("no error");
        assert!(acknowledged.last);
    }

    #[test]
    fn an_error_has_the_text_of_the_kernel() {
        let request = message(36, 2, b"that");
        let text = [&13_u16.to_ne_bytes()[..], &1_u16.to_ne_bytes(), b"Too long\0", &[0; 3]].concat();
        let payload = [&(-22_i32).to_ne_bytes()[..], &request, &text].concat();
        assert_eq!(outcome(&payload, ACK_TLVS).expect_err("an error").to_string(), "Too long");
        let without = outcome(&payload, 0).expect_err("an error").to_string();
        assert!(without.starts_with("Invalid argument"), "{without}");
    }

    proptest! {
        #[test]
        fn any_datagram_is_parsed(bytes: Vec<u8>, sequence: u32) {
            let _ = parse(&bytes, sequence, |_| ());
        }

        #[test]
        fn any_message_is_parsed(kind in 0_u16..40, payload: Vec<u8>) {
            let _ = parse(&message(kind, 1, &payload), 1, |_| ());
        }

        #[test]
        fn any_error_is_parsed(payload: Vec<u8>) {
            let _ = outcome(&payload, ACK_TLVS);
        }
    }
}
