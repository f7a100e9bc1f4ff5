//! Netlink socket: a request for a dump, and its answers.

use netlink_packet_core::{NLM_F_DUMP, NLM_F_DUMP_INTR, NLM_F_REQUEST, NetlinkBuffer};
use netlink_sys::{Socket, SocketAddr};
use std::io;
use thiserror::Error;

const HEADER: usize = 16;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;

/// Maximum number of attempts to read a dump that changes while it is read. The last one counts.
const ATTEMPTS: usize = 3;

/// Error of a dump.
#[derive(Debug, Error)]
pub(crate) enum NetlinkError {
    /// The socket failed, or the kernel rejected the request.
    #[error("{0}")]
    Failed(#[from] io::Error),
    /// The answer is truncated.
    #[error("the kernel sent a malformed answer")]
    Malformed,
}

impl From<NetlinkError> for io::Error {
    fn from(error: NetlinkError) -> io::Error {
        match error {
            NetlinkError::Failed(error) => error,
            NetlinkError::Malformed => io::Error::new(io::ErrorKind::InvalidData, error.to_string()),
        }
    }
}

/// Netlink socket of the network namespace of the thread that opened it.
#[derive(Debug)]
pub(crate) struct Netlink {
    socket: Socket,
    sequence: u32,
}

/// Parts of a datagram that matter here.
#[derive(Debug, Default, PartialEq, Eq)]
struct Progress {
    /// Whether the dump is complete.
    last: bool,
    /// Whether objects changed during the dump.
    interrupted: bool,
    /// Error code of the kernel.
    error: Option<i32>,
}

impl Netlink {
    pub(crate) fn open(protocol: isize) -> Result<Netlink, NetlinkError> {
        let mut socket = Socket::new(protocol)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        Ok(Netlink { socket, sequence: 0 })
    }

    /// Folds all answers to a request. `start` makes the value with which each attempt starts.
    pub(crate) fn dump<T>(
        &mut self,
        message_type: u16,
        payload: &[u8],
        start: impl Fn() -> T,
        mut add: impl FnMut(&mut T, &[u8]),
    ) -> Result<T, NetlinkError> {
        let mut attempt = 1;
        loop {
            self.send(message_type, payload)?;
            let mut value = start();
            let mut interrupted = false;
            loop {
                let (bytes, _) = self.socket.recv_from_full()?;
                let progress = parse(&bytes, self.sequence, |message| add(&mut value, message))?;
                if let Some(code) = progress.error.filter(|code| *code != 0) {
                    return Err(io::Error::from_raw_os_error(code.saturating_neg()).into());
                }
                interrupted |= progress.interrupted;
                if progress.last {
                    break;
                }
            }
            if !interrupted || attempt == ATTEMPTS {
                return Ok(value);
            }
            attempt += 1;
        }
    }

    fn send(&mut self, message_type: u16, payload: &[u8]) -> Result<(), NetlinkError> {
        self.sequence = self.sequence.wrapping_add(1);
        let mut bytes = vec![0; HEADER];
        bytes.extend(payload);
        let length = u32::try_from(bytes.len()).map_err(|_| NetlinkError::Malformed)?;
        let mut header = NetlinkBuffer::new(&mut bytes);
        header.set_length(length);
        header.set_message_type(message_type);
        header.set_flags(NLM_F_DUMP | NLM_F_REQUEST);
        header.set_sequence_number(self.sequence);
        header.set_port_number(0);
        self.socket.send(&bytes, 0)?;
        Ok(())
    }
}

/// Passes the payload of each message with this sequence number to `add`.
fn parse(bytes: &[u8], sequence: u32, mut add: impl FnMut(&[u8])) -> Result<Progress, NetlinkError> {
    let mut rest = bytes;
    let mut progress = Progress::default();
    while rest.len() >= HEADER {
        let message = NetlinkBuffer::new_checked(rest).map_err(|_| NetlinkError::Malformed)?;
        let length = (message.length() as usize).next_multiple_of(4);
        if message.sequence_number() == sequence {
            progress.interrupted |= message.flags() & NLM_F_DUMP_INTR != 0;
            match message.message_type() {
                NLMSG_ERROR => {
                    let code = message.payload().first_chunk().ok_or(NetlinkError::Malformed)?;
                    progress.error = Some(i32::from_ne_bytes(*code));
                    progress.last = true;
                }
                NLMSG_DONE => progress.last = true,
                _ => add(message.payload()),
            }
        }
        rest = rest.get(length..).unwrap_or_default();
    }
    Ok(progress)
}

#[cfg(test)]
mod tests {
    use super::{HEADER, NLMSG_DONE, NLMSG_ERROR, Progress, parse};
    use netlink_packet_core::NetlinkBuffer;
    use proptest::prelude::*;

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
        assert_eq!((found, progress.last), (vec![b"this".to_vec()], true));
    }

    #[test]
    fn an_error_ends_the_dump() {
        let bytes = message(NLMSG_ERROR, 2, &(-2_i32).to_ne_bytes());
        let progress = parse(&bytes, 2, |_| ()).expect("messages");
        assert_eq!(progress, Progress { last: true, interrupted: false, error: Some(-2) });
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
    }
}
