//! From an IP payload to a transport header.

use crate::captured::Captured;
use crate::ip::protocol;
use crate::{Fragment, Ip, Packet, Skip, Transport, dccp, sctp, tcp, udp};

/// The packet whose IP header `ip` gives, from what of that header the transport header depends on.
///
/// The IP header comes as a function and is asked for last in every arm, so that a packet is written once and where it is
/// to be: it is large, and moving it about takes longer than all of its dissection.
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
        return Ok(Packet {
            ip: ip(),
            payload: payload.bytes,
            transport: Transport::Fragment(payload.bytes),
        });
    }
    if protocol == protocol::TCP {
        let tcp = tcp::segment(payload.bytes, payload.wire_len(), fragmented)?;
        return Ok(Packet {
            ip: ip(),
            payload: payload.bytes,
            transport: Transport::Tcp(tcp),
        });
    }
    let transport = match protocol {
        protocol::UDP => Transport::Udp(udp::datagram(payload, fragmented)?),
        protocol::SCTP => Transport::Sctp(sctp::packet(payload)?),
        protocol::DCCP => Transport::Dccp(dccp::header(payload)?),
        _ => Transport::Other,
    };
    Ok(Packet {
        ip: ip(),
        payload: payload.bytes,
        transport,
    })
}

/// The bytes of a transport header below which nothing is made of it.
fn shortest(protocol: u8) -> u32 {
    match protocol {
        protocol::TCP => 14,
        protocol::UDP => 8,
        protocol::DCCP => 16,
        protocol::SCTP => 12,
        _ => 0,
    }
}
