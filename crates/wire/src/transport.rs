//! From an IP payload to a transport header.

use crate::captured::Captured;
use crate::ip::protocol;
use crate::{Ip, Skip, Transport, dccp, sctp, tcp, udp};

/// The transport header at the front of `payload`.
#[inline]
pub(crate) fn header<'a>(ip: &Ip, payload: Captured<'a>) -> Result<Transport<'a>, Skip> {
    if let Some(fragment) = ip.fragment
        && (fragment.offset != 0 || ip.payload_len < shortest(ip.protocol))
    {
        return Ok(Transport::Fragment(payload.bytes));
    }
    match ip.protocol {
        protocol::TCP => tcp::segment(ip, payload).map(Transport::Tcp),
        protocol::UDP => udp::datagram(ip, payload).map(Transport::Udp),
        protocol::SCTP => sctp::packet(payload).map(Transport::Sctp),
        protocol::DCCP => dccp::header(payload).map(Transport::Dccp),
        _ => Ok(Transport::Other),
    }
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
