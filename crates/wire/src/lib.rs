#![doc = include_str!("../README.md")]

mod address;
mod captured;
mod dccp;
mod emit;
mod ip;
mod link;
mod packet;
mod plain;
pub mod protocol;
mod quic;
mod sctp;
mod tcp;
mod transport;
mod tunnel;
mod udp;

pub use address::Address;
pub use emit::{EmitError, PseudoHeader};
pub use ip::icmp::{Undelivered, Unreachable, undelivered};
pub use ip::{Ipv4Header, Ipv6Extension, Ipv6Header};
pub use link::{EthernetHeader, LinkType, VlanTag};
pub use packet::{Dccp, Fragment, Ip, Packet, Sctp, Skip, Tcp, TcpFlags, Transport, Tunnels, Udp};
pub use plain::{PlainTcp, plain_tcp_v4, plain_tcp_v6};
pub use quic::{QuicInitial, QuicKind, QuicPacket, QuicPackets, QuicSealed, QuicVersion, quic_varint};
pub use sctp::{SctpChunk, SctpChunks};
pub use tcp::{TcpOption, TcpOptions};
pub use tunnel::{Tunnel, tunnelled};

use captured::Captured;
use link::Layer;

/// Dissects a frame: its captured bytes, its length on the wire, and the link type of its capture.
///
/// # Errors
/// The frame contains no IP packet that can be read; [`Skip`] is the reason.
#[inline]
pub fn dissect(link: LinkType, frame: &[u8], original_len: u32, tunnels: Tunnels) -> Result<Packet<'_>, Skip> {
    let at = Captured::new(frame, original_len);
    // Fast path for nearly all frames, which takes half the time of the general one.
    if link == LinkType::ETHERNET
        && tunnels == Tunnels::Outer
        && let Some(at) = link::untagged_ip(at)
    {
        return ip::packet(at);
    }
    dissect_any(link, at, tunnels)
}

#[inline(never)]
fn dissect_any(link: LinkType, mut at: Captured<'_>, tunnels: Tunnels) -> Result<Packet<'_>, Skip> {
    link::strip_layers(Layer::Link(link), &mut at)?;
    match tunnels {
        Tunnels::Outer => ip::packet(at),
        Tunnels::Inner => tunnel::innermost(at),
    }
}

/// Builds the packet of reassembled fragments: `ip` is the header of the first fragment, `head` the first captured
/// bytes after the header, `payload_len` the number of these bytes on the wire.
///
/// # Errors
/// The transport header cannot be read; [`Skip`] is the reason.
pub fn reassembled<'a>(ip: &Ip, head: &'a [u8], payload_len: u32) -> Result<Packet<'a>, Skip> {
    let payload = Captured::new(head, payload_len);
    transport::packet(ip.protocol, None, payload, || Ip { fragment: None, payload_len, ..*ip })
}

/// Whether a packet belongs to the handshake of a TCP connection: a SYN or a SYN/ACK.
#[inline]
pub fn is_handshake(packet: &Packet<'_>) -> bool {
    matches!(packet.transport, Transport::Tcp(tcp) if tcp.flags.any(TcpFlags::SYN))
}
