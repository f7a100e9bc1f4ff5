//! Results of dissecting a frame.

use crate::Address;

/// Selects the IP packet of a tunnelled frame that is dissected.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Tunnels {
    /// Outermost packet; the payload of a tunnel is not examined.
    #[default]
    Outer,
    /// Innermost packet that can be reached through GRE, IP-in-IP, VXLAN, GENEVE, GTP-U, ERSPAN and the other tunnels
    /// listed in the crate documentation; the outer packet if there is no tunnel.
    Inner,
}

/// An IP packet, or a fragment of one.
#[derive(Debug, Clone, Copy)]
pub struct Packet<'a> {
    /// IP header.
    pub ip: Ip,
    /// Captured bytes after the IP header and its extension headers.
    pub payload: &'a [u8],
    /// Transport header.
    pub transport: Transport<'a>,
}

/// Fields of an IPv4 or IPv6 header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ip {
    /// Source address.
    pub src: Address,
    /// Destination address.
    pub dst: Address,
    /// Time to live, or hop limit.
    pub ttl: u8,
    /// Byte with differentiated services code point and ECN.
    pub tos: u8,
    /// Identification of an IPv4 packet (low 16 bits for an IPv6 fragment); `None` for IPv6 without a fragment header.
    pub id: Option<u16>,
    /// Fragment fields; `None` if the packet is not a fragment.
    pub fragment: Option<Fragment>,
    /// Bytes after the IP header and its extension headers, according to the header (not as captured).
    pub payload_len: u32,
    /// Protocol number of the payload.
    pub protocol: u8,
}

/// Position of a fragment in its packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fragment {
    /// Complete identification, 16 or 32 bits.
    pub id: u32,
    /// Offset of the fragment's payload, bytes.
    pub offset: u32,
    /// Whether more fragments follow.
    pub more: bool,
}

/// Transport header. The first fragment of a packet has it, later ones do not.
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
    /// A fragment without transport header, or a first fragment too short for one: captured payload.
    Fragment(&'a [u8]),
    /// Another protocol.
    Other,
}

/// Flags of a TCP header: the low 12 bits of bytes 13 and 14.
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
    /// AE (RFC 9768, 3.1).
    pub const AE: TcpFlags = TcpFlags(0x100);

    /// Whether any of `flags` is set.
    #[inline]
    pub const fn any(self, flags: TcpFlags) -> bool {
        self.0 & flags.0 != 0
    }

    /// Whether this is a SYN without ACK: a connection attempt.
    #[inline]
    pub const fn is_syn(self) -> bool {
        self.0 & 0x12 == 0x02
    }

    /// Whether both SYN and ACK are set.
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
    /// Payload bytes, from the lengths in the headers; for the first fragment of a packet, the bytes in that fragment.
    pub payload_len: u32,
    /// Captured bytes of the options.
    pub options: &'a [u8],
    /// Captured bytes of the payload.
    pub payload: &'a [u8],
}

/// A UDP datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Udp<'a> {
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// Payload bytes, from the lengths in the headers; for the first fragment of a datagram, the bytes of the whole
    /// datagram.
    pub payload_len: u32,
    /// Captured bytes of the payload.
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
    /// Captured bytes of the chunks.
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

/// Reason why a frame was not dissected completely.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Skip {
    /// The link layer is not supported.
    UnknownLink,
    /// The frame is not IP (ARP, spanning tree, 802.11 management, …).
    NotIp,
    /// The frame is encrypted at the link layer: 802.11, MACsec.
    Encrypted,
    /// The snap length has cut off fields that are needed.
    Truncated,
    /// A header contradicts itself.
    Malformed,
}

impl Skip {
    /// All reasons.
    pub const ALL: [Skip; 5] = [Skip::UnknownLink, Skip::NotIp, Skip::Encrypted, Skip::Truncated, Skip::Malformed];

    /// Name of the reason in results.
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
