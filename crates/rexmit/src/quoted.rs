//! Packet quoted by an ICMP error.

use crate::frame::Connection;
use gentle_wire::Address;

/// Protocol numbers of ICMP, ICMPv6 and TCP.
pub(crate) const ICMP: u8 = 1;
pub(crate) const ICMPV6: u8 = 58;
const TCP: u8 = 6;

/// Connection and sequence number of the TCP segment quoted by an ICMP error; `message` starts with the ICMP type. The
/// first eight bytes of the TCP header suffice (RFC 792). `None` for any other message.
pub(crate) fn segment(protocol: u8, message: &[u8]) -> Option<(Connection, u32)> {
    let error = match protocol {
        // RFC 792: destination unreachable, time exceeded, parameter problem.
        ICMP => matches!(message.first()?, 3 | 11 | 12),
        // RFC 4443, 2.1: error types are 0 to 127; four of them are in use.
        ICMPV6 => matches!(message.first()?, 1..=4),
        _ => false,
    };
    let packet = message.get(8..).filter(|_| error)?;
    let (src, dst, tcp) = match packet.first()? >> 4 {
        4 if packet.get(9) == Some(&TCP) => (
            Address::v4(bytes(packet, 12)?),
            Address::v4(bytes(packet, 16)?),
            packet.get(usize::from(packet[0] & 0xf) * 4..)?,
        ),
        6 if packet.get(6) == Some(&TCP) => {
            (Address(bytes(packet, 8)?), Address(bytes(packet, 24)?), packet.get(40..)?)
        }
        _ => return None,
    };
    let port = |at| bytes(tcp, at).map(u16::from_be_bytes);
    let connection = Connection { src: (src, port(0)?), dst: (dst, port(2)?) };
    Some((connection, u32::from_be_bytes(bytes(tcp, 4)?)))
}

fn bytes<const N: usize>(from: &[u8], at: usize) -> Option<[u8; N]> {
    from.get(at..)?.first_chunk().copied()
}
