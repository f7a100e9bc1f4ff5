//! Transport headers in an IP payload.

use crate::captured::Captured;
use crate::protocol;
use crate::{Fragment, Ip, Packet, Skip, Transport, dccp, sctp, tcp, udp};

/// Parses the transport header and builds the packet; `protocol` and `fragment` are from the IP header, which `ip`
/// returns.
///
/// The IP header is a function called last in every arm, so that the packet is written once, in its final place: it is
/// large, and moving it takes longer than dissecting it.
#[inline(always)]
pub(crate) fn packet<'a>(
    protocol: u8,
    fragment: Option<Fragment>,
    payload: Captured<'a>,
    ip: impl FnOnce() -> Ip,
) -> Result<Packet<'a>, Skip> {
    let fragmented = fragment.is_some();
    if let Some(fragment) = fragment
        && (fragment.offset != 0 || payload.wire_len() < shortest(protocol))
    {
        return Ok(Packet { ip: ip(), payload: payload.bytes, transport: Transport::Fragment(payload.bytes) });
    }
    if protocol == protocol::TCP {
        let tcp = tcp::segment(payload.bytes, payload.wire_len(), fragmented)?;
        return Ok(Packet { ip: ip(), payload: payload.bytes, transport: Transport::Tcp(tcp) });
    }
    let transport = match protocol {
        protocol::UDP => Transport::Udp(udp::datagram(payload, fragmented)?),
        protocol::SCTP => Transport::Sctp(sctp::packet(payload)?),
        protocol::DCCP => Transport::Dccp(dccp::header(payload)?),
        _ => Transport::Other,
    };
    Ok(Packet { ip: ip(), payload: payload.bytes, transport })
}

/// Minimum length of a transport header that can be used, bytes; a shorter first fragment is [`Transport::Fragment`].
fn shortest(protocol: u8) -> u32 {
    match protocol {
        protocol::TCP => 14,
        protocol::UDP => 8,
        protocol::DCCP => 16,
        protocol::SCTP => 12,
        _ => 0,
    }
}
