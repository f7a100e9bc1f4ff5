//! ICMP (RFC 792) and ICMPv6 (RFC 4443) messages "destination unreachable" that quote a TCP segment.

use super::extension;
use crate::captured::{Captured, be16};
use crate::emit::{Checksum, EmitError, PseudoHeader, room};
use crate::{Address, Packet, Transport, protocol};

/// Type "destination unreachable" of ICMP, and of ICMPv6.
const UNREACHABLE_V4: u8 = 3;
const UNREACHABLE_V6: u8 = 1;
/// ICMP code for a packet too long for the next link (RFC 1191). The destination is reachable; the sender only has to
/// send smaller packets.
const FRAGMENTATION_NEEDED: u8 = 4;

/// TCP segment quoted by an ICMP or ICMPv6 message "destination unreachable": no route, host, port or protocol, or
/// prohibited by a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Undelivered {
    /// Source address of the segment, which is the destination of the message unless addresses are translated in
    /// between.
    pub src: Address,
    /// Destination address of the segment.
    pub dst: Address,
    /// Source port of the segment.
    pub src_port: u16,
    /// Destination port of the segment.
    pub dst_port: u16,
    /// Sequence number of the segment.
    pub seq: u32,
}

/// TCP segment that `packet` reports as undeliverable; `None` if the packet is no such message.
///
/// A message quotes at least the first 8 bytes after the IP header (RFC 792): ports and sequence number, but not always
/// the flags.
pub fn undelivered(packet: &Packet<'_>) -> Option<Undelivered> {
    if !matches!(packet.transport, Transport::Other) {
        return None;
    }
    let mut at = Captured::new(packet.payload, packet.ip.payload_len);
    // Type, code, checksum, and four bytes that are not needed.
    let header = at.take::<8>().ok()?;
    match (packet.ip.protocol, header[0], header[1]) {
        (protocol::ICMP, UNREACHABLE_V4, code) if code != FRAGMENTATION_NEEDED => quoted_v4(at),
        (protocol::ICMPV6, UNREACHABLE_V6, _) => quoted_v6(at),
        _ => None,
    }
}

fn quoted_v4(mut at: Captured<'_>) -> Option<Undelivered> {
    let h = at.peek::<20>().ok()?;
    let header_len = usize::from(h[0] & 0x0f) * 4;
    // A later fragment has no ports.
    let is_first = be16(h[6], h[7]) & 0x1fff == 0;
    if h[0] >> 4 != 4 || header_len < 20 || h[9] != protocol::TCP || !is_first {
        return None;
    }
    let addresses = [[h[12], h[13], h[14], h[15]], [h[16], h[17], h[18], h[19]]].map(Address::v4);
    at.skip(header_len).ok()?;
    quoted_tcp(addresses, at)
}

fn quoted_v6(mut at: Captured<'_>) -> Option<Undelivered> {
    let h = at.take::<40>().ok()?;
    if h[0] >> 4 != 6 {
        return None;
    }
    let mut addresses = [Address([0; 16]); 2];
    addresses[0].0.copy_from_slice(&h[8..24]);
    addresses[1].0.copy_from_slice(&h[24..40]);
    let mut protocol = h[6];
    // Terminates, because each iteration removes 8 bytes or more.
    while protocol != protocol::TCP {
        protocol = match protocol {
            extension::HOP_BY_HOP | extension::ROUTING | extension::DESTINATION => {
                extension::in_octuples(&mut at).ok()?
            }
            _ => return None,
        };
    }
    quoted_tcp(addresses, at)
}

fn quoted_tcp([src, dst]: [Address; 2], at: Captured<'_>) -> Option<Undelivered> {
    let h = at.peek::<8>().ok()?;
    Some(Undelivered {
        src,
        dst,
        src_port: be16(h[0], h[1]),
        dst_port: be16(h[2], h[3]),
        seq: u32::from_be_bytes([h[4], h[5], h[6], h[7]]),
    })
}

/// Length of a message before the quoted packet, bytes.
const HEADER: usize = 8;

/// An ICMP or ICMPv6 message "destination unreachable" to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unreachable<'a> {
    /// Code, which gives the reason. ICMP (RFC 792) and ICMPv6 (RFC 4443, 3.1) number the reasons differently.
    pub code: u8,
    /// Beginning of the packet that was not delivered, from its IP header on.
    pub quoted: &'a [u8],
}

impl Unreachable<'_> {
    /// Bytes of the message.
    #[inline]
    pub const fn message_len(&self) -> usize {
        HEADER + self.quoted.len()
    }

    /// Writes an ICMP message, the payload of an IPv4 packet, and returns its length.
    ///
    /// # Errors
    /// If `out` is too short.
    pub fn emit_v4(&self, out: &mut [u8]) -> Result<usize, EmitError> {
        self.emit(UNREACHABLE_V4, out, |message| Checksum::default().add(message).finish())
    }

    /// Writes an ICMPv6 message, the payload of an IPv6 packet, and returns its length.
    ///
    /// # Errors
    /// If `out` is too short.
    pub fn emit_v6(&self, pseudo_header: &PseudoHeader, out: &mut [u8]) -> Result<usize, EmitError> {
        self.emit(UNREACHABLE_V6, out, |message| {
            pseudo_header.checksum(protocol::ICMPV6, message.len() as u32, message, &[])
        })
    }

    fn emit(&self, kind: u8, out: &mut [u8], checksum: impl FnOnce(&[u8]) -> u16) -> Result<usize, EmitError> {
        let message = room(out, self.message_len())?;
        message[..HEADER].copy_from_slice(&[kind, self.code, 0, 0, 0, 0, 0, 0]);
        message[HEADER..].copy_from_slice(self.quoted);
        let checksum = checksum(message);
        message[2..4].copy_from_slice(&checksum.to_be_bytes());
        Ok(message.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LinkType, Tunnels, dissect};
    use gentle_testkit::frames::SEGMENT;

    /// ICMP message that quotes the first `quoted` bytes of the segment.
    fn icmp(kind: u8, code: u8, quoted: usize) -> Vec<u8> {
        let mut packet = vec![0x45, 0, 0, 28 + quoted as u8, 0, 0, 0, 0, 64, 1, 0, 0];
        packet.extend([203, 0, 113, 1, 192, 0, 2, 1]);
        packet.extend([kind, code, 0, 0, 0, 0, 0, 0]);
        packet.extend(&SEGMENT[..quoted]);
        packet
    }

    /// ICMPv6 message that quotes a packet, with a destination options header before its TCP header if `options`.
    fn icmp_v6(kind: u8, options: bool) -> Vec<u8> {
        let mut quoted = vec![0x60, 0, 0, 0, 0, 20, if options { 60 } else { 6 }, 64];
        quoted.extend([[0x20; 16], [0x30; 16]].concat());
        if options {
            quoted.extend([6, 0, 1, 4, 0, 0, 0, 0]);
        }
        quoted.extend(&SEGMENT[20..28]);
        let mut packet = vec![0x60, 0, 0, 0, 0, 8 + quoted.len() as u8, 58, 64];
        packet.extend([[0x40; 16], [0x20; 16]].concat());
        packet.extend([kind, 0, 0, 0, 0, 0, 0, 0]);
        packet.extend(quoted);
        packet
    }

    fn read(link: LinkType, packet: &[u8]) -> Option<Undelivered> {
        undelivered(&dissect(link, packet, packet.len() as u32, Tunnels::Outer).unwrap())
    }

    /// Addresses, ports and sequence number of the segment, read from its bytes.
    fn expected(src: Address, dst: Address) -> Undelivered {
        let word = |at: usize| be16(SEGMENT[at], SEGMENT[at + 1]);
        Undelivered {
            src,
            dst,
            src_port: word(20),
            dst_port: word(22),
            seq: u32::from(word(24)) << 16 | u32::from(word(26)),
        }
    }

    #[test]
    fn whatever_is_unreachable_or_prohibited() {
        let addresses = [12, 16].map(|at| Address::v4(SEGMENT[at..][..4].try_into().unwrap()));
        let segment = Some(expected(addresses[0], addresses[1]));
        for code in [0, 1, 2, 3, 5, 9, 10, 13] {
            for quoted in [28, 40, SEGMENT.len()] {
                assert_eq!(read(LinkType::IPV4, &icmp(3, code, quoted)), segment);
            }
        }
        let segment = Some(expected(Address([0x20; 16]), Address([0x30; 16])));
        for options in [false, true] {
            assert_eq!(read(LinkType::IPV6, &icmp_v6(1, options)), segment);
        }
    }

    #[test]
    fn nothing_else() {
        // Packet too long; echo; time exceeded; cut before the sequence number.
        for (kind, code, quoted) in [(3, 4, 28), (8, 0, 28), (11, 0, 28), (3, 3, 27), (3, 3, 0)] {
            assert_eq!(read(LinkType::IPV4, &icmp(kind, code, quoted)), None);
        }
        let mut udp = icmp(3, 3, 28);
        udp[28 + 9] = 17;
        assert_eq!(read(LinkType::IPV4, &udp), None);
        // "Packet too big".
        assert_eq!(read(LinkType::IPV6, &icmp_v6(2, false)), None);
        assert_eq!(read(LinkType::IPV4, SEGMENT), None);
    }
}
