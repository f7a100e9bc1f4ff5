//! What a frame turned out to be.

use crate::Address;

/// Which IP packet of a tunnelled frame is wanted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Tunnels {
    /// The outermost one: tunnels are other traffic.
    #[default]
    Outer,
    /// The innermost one that can be reached through GRE, IP-in-IP, VXLAN, GENEVE, GTP-U, ERSPAN and the other tunnels that
    /// the crate's front page lists; the outer one where there is no tunnel.
    Inner,
}

/// An IP packet, or a fragment of one.
#[derive(Debug, Clone, Copy)]
pub struct Packet<'a> {
    /// Its IP header.
    pub ip: Ip,
    /// The captured bytes behind the IP header and its extension headers.
    pub payload: &'a [u8],
    /// What it carries.
    pub transport: Transport<'a>,
}

/// What is needed of an IPv4 or IPv6 header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ip {
    /// Source address.
    pub src: Address,
    /// Destination address.
    pub dst: Address,
    /// Time to live, or hop limit.
    pub ttl: u8,
    /// Differentiated services and ECN byte.
    pub tos: u8,
    /// Identification of an IPv4 packet (of an IPv6 fragment: the low 16 bits); `None` for IPv6 without a fragment
    /// header.
    pub id: Option<u16>,
    /// Set when the packet is a fragment.
    pub fragment: Option<Fragment>,
    /// Bytes after the IP header and its extension headers, as the header says (not as captured).
    pub payload_len: u32,
    /// Protocol number of the payload.
    pub protocol: u8,
}

/// Which part of a packet a fragment is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fragment {
    /// The whole identification, 16 or 32 bits.
    pub id: u32,
    /// Offset of its payload, bytes.
    pub offset: u32,
    /// More fragments follow.
    pub more: bool,
}

/// The transport header. The first fragment of a packet has it, the later ones do not.
#[derive(Debug, Clone, Copy)]
pub enum Transport<'a> {
    /// TCP (RFC 9293).
    Tcp(Tcp<'a>),
    /// UDP (RFC 768).
    Udp(Udp<'a>),
    /// SCTP (RFC 9260).
    Sctp(Sctp<'a>),
    /// DCCP (RFC 4340).
    Dccp(Dccp),
    /// A fragment without transport header, or a first fragment too short for one: its captured payload.
    Fragment(&'a [u8]),
    /// Another protocol.
    Other,
}

/// Flags of a TCP header, the low 12 bits of its 13th and 14th byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TcpFlags(pub u16);

impl TcpFlags {
    /// FIN.
    pub const FIN: TcpFlags = TcpFlags(0x01);
    /// SYN.
    pub const SYN: TcpFlags = TcpFlags(0x02);
    /// RST.
    pub const RST: TcpFlags = TcpFlags(0x04);
    /// PSH.
    pub const PSH: TcpFlags = TcpFlags(0x08);
    /// ACK.
    pub const ACK: TcpFlags = TcpFlags(0x10);
    /// ECE (RFC 3168, 6.1).
    pub const ECE: TcpFlags = TcpFlags(0x40);
    /// CWR (RFC 3168, 6.1).
    pub const CWR: TcpFlags = TcpFlags(0x80);

    /// Whether any of `flags` is set.
    #[inline]
    pub const fn any(self, flags: TcpFlags) -> bool {
        self.0 & flags.0 != 0
    }

    /// A SYN without ACK: a connection attempt.
    #[inline]
    pub const fn is_syn(self) -> bool {
        self.0 & 0x12 == 0x02
    }

    /// SYN and ACK.
    #[inline]
    pub const fn is_synack(self) -> bool {
        self.0 & 0x12 == 0x12
    }
}

impl std::ops::BitOr for TcpFlags {
    type Output = TcpFlags;

    #[inline]
    fn bitor(self, other: TcpFlags) -> TcpFlags {
        TcpFlags(self.0 | other.0)
    }
}

impl std::ops::BitOrAssign for TcpFlags {
    #[inline]
    fn bitor_assign(&mut self, other: TcpFlags) {
        self.0 |= other.0;
    }
}

/// A TCP segment. At least the bytes up to the flags were captured; fields beyond the captured bytes are zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tcp<'a> {
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgement number, whether or not ACK is set.
    pub ack: u32,
    /// Flags.
    pub flags: TcpFlags,
    /// Window as in the header, unscaled.
    pub window: u16,
    /// Payload bytes, from the lengths in the headers; of the first fragment of a packet those in it.
    pub payload_len: u32,
    /// The captured bytes of the options.
    pub options: &'a [u8],
    /// The captured bytes of the payload.
    pub payload: &'a [u8],
}

/// A UDP datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Udp<'a> {
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// Payload bytes, from the lengths in the headers; of the first fragment of a datagram those of the whole.
    pub payload_len: u32,
    /// The captured bytes of the payload.
    pub payload: &'a [u8],
}

/// An SCTP packet.
#[derive(Debug, Clone, Copy)]
pub struct Sctp<'a> {
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// Verification tag.
    pub tag: u32,
    /// The captured bytes of the chunks.
    pub chunks: &'a [u8],
}

/// A DCCP packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dccp {
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// Packet type (RFC 4340, 5.1): 0 Request, 1 Response, 2 Data, 3 Ack, …
    pub packet_type: u8,
    /// Sequence number, 48 or 24 bits.
    pub seq: u64,
}

/// Why a frame is not looked at further.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Skip {
    /// A link layer that is not known here.
    UnknownLink,
    /// Not IP (ARP, spanning tree, 802.11 management, …).
    NotIp,
    /// A frame that is encrypted at the link layer: 802.11, MACsec.
    Encrypted,
    /// Cut by the snap length before the fields that are needed.
    Truncated,
    /// A header contradicts itself.
    Malformed,
}

impl Skip {
    /// All reasons.
    pub const ALL: [Skip; 5] = [
        Skip::UnknownLink,
        Skip::NotIp,
        Skip::Encrypted,
        Skip::Truncated,
        Skip::Malformed,
    ];

    /// Its name, as in results.
    pub const fn name(self) -> &'static str {
        match self {
            Skip::UnknownLink => "unknown-link",
            Skip::NotIp => "not-ip",
            Skip::Encrypted => "encrypted",
            Skip::Truncated => "truncated",
            Skip::Malformed => "malformed",
        }
    }
}
