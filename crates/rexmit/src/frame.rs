//! Input of the core: captured frames.

use gentle_wire::{Address, LinkType};
use std::net::{IpAddr, SocketAddr};

/// Direction of a frame, seen from the interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// The frame arrives.
    In,
    /// The frame leaves.
    Out,
}

/// Captured frame with its metadata from the kernel.
#[derive(Debug, Clone, Copy)]
pub struct Frame<'a> {
    /// The captured bytes, from the link header on.
    pub bytes: &'a [u8],
    /// Length of the frame before it was truncated by the capture, bytes.
    pub original_len: u32,
    /// Link type of the frame.
    pub link: LinkType,
    /// VLAN tag that the kernel has stripped from the frame, or that the device will insert.
    pub vlan: Option<Vlan>,
    /// Whether the checksum is left to the device and not yet in the frame (`TP_STATUS_CSUMNOTREADY`, packet(7)).
    pub partial_checksum: bool,
    /// Whether the time of the frame is the kernel's timestamp and not the time at which it was read; handshake times
    /// are measured only between such frames.
    pub exact_time: bool,
}

/// VLAN tag of IEEE 802.1Q or 802.1ad.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Vlan {
    /// Tag protocol identifier, such as 0x8100 or 0x88a8.
    pub tpid: u16,
    /// Tag control information: priority, drop eligibility and VLAN identifier.
    pub tci: u16,
}

/// Two endpoints of a handshake, in the direction of the watched packet: from client to server for a SYN, from server
/// to client for a SYN/ACK.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Connection {
    /// Sender of the watched packet.
    pub src: (Address, u16),
    /// Receiver of the watched packet.
    pub dst: (Address, u16),
}

impl Connection {
    /// Connection in the opposite direction.
    pub(crate) fn reversed(self) -> Connection {
        Connection { src: self.dst, dst: self.src }
    }
}

/// Sender and receiver as socket addresses.
impl From<Connection> for (SocketAddr, SocketAddr) {
    fn from(connection: Connection) -> (SocketAddr, SocketAddr) {
        let end = |(address, port): (Address, u16)| SocketAddr::new(IpAddr::from(address), port);
        (end(connection.src), end(connection.dst))
    }
}

/// Kind of a packet that is watched for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A SYN, answered by a SYN/ACK.
    Syn,
    /// A SYN/ACK, answered by an ACK.
    SynAck,
}

impl Kind {
    /// Name used in logs.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Syn => "syn",
            Kind::SynAck => "synack",
        }
    }
}
