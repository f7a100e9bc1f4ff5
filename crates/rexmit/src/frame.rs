//! What comes in: a frame as it was captured.

use gentle_wire::{Address, LinkType};
use std::net::{IpAddr, SocketAddr};

/// Which way a frame goes, seen from the interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// It arrives.
    In,
    /// It leaves.
    Out,
}

/// A frame and what the kernel knows of it.
#[derive(Debug, Clone, Copy)]
pub struct Frame<'a> {
    /// The captured bytes, from the link header on.
    pub bytes: &'a [u8],
    /// How many bytes it had before it was captured.
    pub original_len: u32,
    /// What its first bytes are.
    pub link: LinkType,
    /// The tag that the kernel has taken off the frame, or that the device is to put in.
    pub vlan: Option<Vlan>,
    /// Its checksum is left to the device and not there yet (`TP_STATUS_CSUMNOTREADY`, packet(7)).
    pub partial_checksum: bool,
    /// The time that comes with it is the kernel's, of when it passed, not that of when it was read: only such frames
    /// say how long a handshake took.
    pub exact_time: bool,
}

/// A tag of IEEE 802.1Q or 802.1ad.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Vlan {
    /// Tag protocol identifier: 0x8100, 0x88a8.
    pub tpid: u16,
    /// Priority, drop eligibility and VLAN number.
    pub tci: u16,
}

/// The two ends of a handshake, in the direction of the packet that is watched: from the client's to the server's for a
/// SYN, from the server's to the client's for a SYN/ACK.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Connection {
    /// Its sender.
    pub src: (Address, u16),
    /// Its receiver.
    pub dst: (Address, u16),
}

impl Connection {
    /// The other direction.
    pub(crate) fn reversed(self) -> Connection {
        Connection {
            src: self.dst,
            dst: self.src,
        }
    }
}

/// Sender and receiver, for people and logs.
impl From<Connection> for (SocketAddr, SocketAddr) {
    fn from(connection: Connection) -> (SocketAddr, SocketAddr) {
        let end = |(address, port): (Address, u16)| SocketAddr::new(IpAddr::from(address), port);
        (end(connection.src), end(connection.dst))
    }
}

/// What is watched for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A SYN, answered by a SYN/ACK.
    Syn,
    /// A SYN/ACK, answered by an ACK.
    SynAck,
}

impl Kind {
    /// As it is written in logs.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Syn => "syn",
            Kind::SynAck => "synack",
        }
    }
}
