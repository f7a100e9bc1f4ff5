//! QUIC: packet fields that can be read without keys (RFC 8999; RFC 9000, 17; RFC 9369, 3).

use crate::Udp;
use std::fmt;

/// Maximum length of a connection ID in the supported versions, bytes (RFC 9000, 17.2).
const LONGEST_ID: usize = 20;

/// First bit of a packet: long header (RFC 8999, 5.1).
const LONG: u8 = 0x80;

/// Second bit of a packet ("fixed bit"), one unless both sides agreed otherwise (RFC 9000, 17.2; RFC 9287).
const FIXED: u8 = 0x40;

/// A QUIC version whose packets can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum QuicVersion {
    /// A draft of version 1 with its packet format: 23 to 34.
    Draft(u8),
    /// RFC 9000.
    V1,
    /// RFC 9369.
    V2,
}

impl QuicVersion {
    /// Version with this number in a long header; `None` if it is not supported.
    pub const fn from_wire(number: u32) -> Option<QuicVersion> {
        match number {
            0x0000_0001 => Some(QuicVersion::V1),
            0x6b33_43cf => Some(QuicVersion::V2),
            0xff00_0017..=0xff00_0022 => Some(QuicVersion::Draft(number as u8)),
            _ => None,
        }
    }
}

impl fmt::Display for QuicVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            QuicVersion::Draft(number) => write!(f, "draft-{number}"),
            QuicVersion::V1 => f.write_str("v1"),
            QuicVersion::V2 => f.write_str("v2"),
        }
    }
}

/// A QUIC packet with a long header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuicPacket<'a> {
    /// Packet type.
    pub kind: QuicKind<'a>,
    /// Destination connection ID, at most 20 bytes.
    pub dcid: &'a [u8],
    /// Source connection ID, at most 20 bytes.
    pub scid: &'a [u8],
    /// Whether the fixed bit is set.
    pub fixed_bit: bool,
}

/// Type of a QUIC packet with a long header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuicKind<'a> {
    /// Initial (RFC 9000, 17.2.2).
    Initial(QuicInitial<'a>),
    /// 0-RTT (RFC 9000, 17.2.3).
    ZeroRtt,
    /// Handshake (RFC 9000, 17.2.4).
    Handshake,
    /// Retry (RFC 9000, 17.2.5).
    Retry,
    /// Version Negotiation (RFC 9000, 17.2.1).
    VersionNegotiation,
}

/// An Initial packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuicInitial<'a> {
    /// QUIC version.
    pub version: QuicVersion,
    /// Whether it carries a token, from a Retry or an earlier connection.
    pub has_token: bool,
    /// Protected packet; `None` if the capture cut its header.
    pub sealed: Option<QuicSealed<'a>>,
}

/// A packet with header and packet protection (RFC 9001, 5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuicSealed<'a> {
    /// Captured bytes of the packet.
    pub packet: &'a [u8],
    /// Offset of the packet number, bytes.
    pub number_at: usize,
    /// Length of the packet on the wire, bytes.
    pub wire_len: usize,
}

/// Decodes a variable-length integer (RFC 9000, 16); returns it with the bytes that follow, `None` if there are too few
/// bytes.
#[inline]
pub fn quic_varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (&first, _) = bytes.split_first()?;
    let (number, rest) = bytes.split_at_checked(1 << (first >> 6))?;
    let value = number.iter().fold(0, |value, &byte| value << 8 | u64::from(byte));
    // The two bits that give the length are not part of the value.
    Some((value & u64::MAX >> 2 >> (64 - 8 * number.len()), rest))
}

impl<'a> Udp<'a> {
    /// Iterates over the QUIC packets with long headers in the datagram (RFC 9000, 12.2), as far as their connection
    /// IDs were captured; stops at anything else.
    #[inline]
    pub fn quic_packets(&self) -> QuicPackets<'a> {
        QuicPackets { rest: self.payload, wire_len: (self.payload_len as usize).max(self.payload.len()) }
    }
}

/// Iterator over the QUIC packets of a UDP datagram.
#[derive(Debug, Clone)]
pub struct QuicPackets<'a> {
    rest: &'a [u8],
    /// Bytes of `rest` on the wire.
    wire_len: usize,
}

impl<'a> QuicPackets<'a> {
    /// Removes the packet at the front, of length `len` on the wire, and returns its captured bytes.
    fn take(&mut self, len: usize) -> &'a [u8] {
        let (packet, rest) = self.rest.split_at_checked(len).unwrap_or((self.rest, &[]));
        self.rest = rest;
        self.wire_len -= len;
        packet
    }

    /// Removes the packet at the front and returns it. `after` are its bytes from the Length field on, which ends the
    /// header.
    fn sealed(&mut self, after: &[u8]) -> Option<QuicSealed<'a>> {
        let (length, after) = quic_varint(after)?;
        let number_at = self.rest.len() - after.len();
        let wire_len = usize::try_from(length).ok()?.checked_add(number_at)?;
        if wire_len > self.wire_len {
            return None;
        }
        Some(QuicSealed { packet: self.take(wire_len), number_at, wire_len })
    }

    /// Ends the iteration.
    fn end(&mut self) {
        self.rest = &[];
    }
}

impl<'a> Iterator for QuicPackets<'a> {
    type Item = QuicPacket<'a>;

    #[inline]
    fn next(&mut self) -> Option<QuicPacket<'a>> {
        let (&[first, a, b, c, d], after) = self.rest.split_first_chunk()?;
        if first & LONG == 0 {
            return None;
        }
        let number = u32::from_be_bytes([a, b, c, d]);
        let version = QuicVersion::from_wire(number);
        if version.is_none() && number != 0 {
            return None;
        }
        let (dcid, after) = connection_id(after)?;
        let (scid, after) = connection_id(after)?;
        let kind = match version {
            None => {
                self.end();
                QuicKind::VersionNegotiation
            }
            Some(version) => self.versioned(version, first, after)?,
        };
        Some(QuicPacket { kind, dcid, scid, fixed_bit: first & FIXED != 0 })
    }
}

impl<'a> QuicPackets<'a> {
    /// Type of the packet at the front; `after` are the bytes after its connection IDs.
    fn versioned(&mut self, version: QuicVersion, first: u8, after: &'a [u8]) -> Option<QuicKind<'a>> {
        let bits = first >> 4 & 3;
        // Version 2 moved each type to the next number (RFC 9369, 3.2).
        let kind = match version {
            QuicVersion::V2 => bits.wrapping_sub(1) & 3,
            QuicVersion::V1 | QuicVersion::Draft(_) => bits,
        };
        match kind {
            0 => self.initial(version, after).map(QuicKind::Initial),
            1 => self.numbered(after).map(|()| QuicKind::ZeroRtt),
            2 => self.numbered(after).map(|()| QuicKind::Handshake),
            _ => {
                self.end();
                Some(QuicKind::Retry)
            }
        }
    }

    /// Removes a packet whose Length field is at the start of `after`.
    fn numbered(&mut self, after: &[u8]) -> Option<()> {
        if self.sealed(after).is_some() {
            return Some(());
        }
        self.cut().then(|| self.end())
    }

    fn initial(&mut self, version: QuicVersion, after: &'a [u8]) -> Option<QuicInitial<'a>> {
        let token = quic_varint(after);
        let after = token.and_then(|(len, after)| after.get(usize::try_from(len).ok()?..));
        let sealed = after.and_then(|after| self.sealed(after));
        if sealed.is_none() {
            if !self.cut() {
                return None;
            }
            self.end();
        }
        Some(QuicInitial { version, has_token: token.is_some_and(|(len, _)| len > 0), sealed })
    }

    /// Whether the capture has cut the datagram, so that an unreadable header may still be valid.
    fn cut(&self) -> bool {
        self.rest.len() < self.wire_len
    }
}

/// Splits off a connection ID preceded by its length; returns it with the bytes that follow.
#[inline]
fn connection_id(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (&len, after) = bytes.split_first()?;
    if usize::from(len) > LONGEST_ID {
        return None;
    }
    after.split_at_checked(usize::from(len))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn udp(payload: &[u8], wire_len: usize) -> Udp<'_> {
        Udp { src_port: 50_000, dst_port: 443, payload_len: wire_len as u32, payload }
    }

    /// Long header of version `version` up to and including the connection IDs `c1 c2` and `5e`.
    fn long(first: u8, version: u32) -> Vec<u8> {
        let mut packet = vec![first];
        packet.extend(version.to_be_bytes());
        packet.extend([2, 0xc1, 0xc2, 1, 0x5e]);
        packet
    }

    fn initial(token: &[u8], len: u8) -> Vec<u8> {
        let mut packet = long(0xc0, 1);
        packet.push(token.len() as u8);
        packet.extend(token);
        packet.push(len);
        packet.extend(vec![0xee; usize::from(len)]);
        packet
    }

    #[test]
    fn reads_the_variable_length_integers_of_rfc_9000() {
        for (bytes, value) in [
            (&[0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c][..], 151_288_809_941_952_652),
            (&[0x9d, 0x7f, 0x3e, 0x7d], 494_878_333),
            (&[0x7b, 0xbd], 15_293),
            (&[0x25], 37),
            (&[0x40, 0x25], 37),
        ] {
            assert_eq!(quic_varint(bytes), Some((value, &[][..])));
            assert_eq!(quic_varint(&bytes[..bytes.len() - 1]), None);
        }
    }

    #[test]
    fn coalesced_packets_follow_each_other() {
        let mut datagram = initial(b"tk", 20);
        let first = datagram.len();
        datagram.extend(long(0xe0, 1));
        datagram.extend([3, 7, 7, 7]);
        // A short header ends the iteration.
        datagram.extend([0x40, 1, 2, 3]);
        let packets: Vec<_> = udp(&datagram, datagram.len()).quic_packets().collect();
        assert_eq!(packets.len(), 2);
        assert!(packets.iter().all(|p| p.dcid == [0xc1, 0xc2] && p.scid == [0x5e] && p.fixed_bit));
        assert_eq!(
            packets[0].kind,
            QuicKind::Initial(QuicInitial {
                version: QuicVersion::V1,
                has_token: true,
                sealed: Some(QuicSealed { packet: &datagram[..first], number_at: first - 20, wire_len: first }),
            })
        );
        assert_eq!(packets[1].kind, QuicKind::Handshake);
    }

    #[test]
    fn each_version_has_its_own_type_bits() {
        let kind = |first, version| {
            let mut packet = long(first, version);
            packet.extend([0, 1, 0xee]);
            match udp(&packet, packet.len()).quic_packets().next()?.kind {
                QuicKind::Initial(initial) => Some(initial.version.to_string()),
                QuicKind::ZeroRtt => Some("0-RTT".into()),
                QuicKind::Handshake => Some("Handshake".into()),
                QuicKind::Retry => Some("Retry".into()),
                QuicKind::VersionNegotiation => Some("Version Negotiation".into()),
            }
        };
        let v1 = [0xc0, 0xd0, 0xe0, 0xf0].map(|first| kind(first, 1).unwrap());
        assert_eq!(v1, ["v1", "0-RTT", "Handshake", "Retry"]);
        let v2 = [0xd0, 0xe0, 0xf0, 0xc0].map(|first| kind(first, 0x6b33_43cf).unwrap());
        assert_eq!(v2, ["v2", "0-RTT", "Handshake", "Retry"]);
        assert_eq!(kind(0xc0, 0xff00_001d).unwrap(), "draft-29");
        assert_eq!(kind(0x80, 0).unwrap(), "Version Negotiation");
        assert_eq!(kind(0xc0, 0xff00_0016), None, "another header");
        assert_eq!(kind(0xc0, 0x5130_3433), None, "Google QUIC");
        assert_eq!(kind(0x40, 1), None, "a short header");
    }

    #[test]
    fn a_cut_packet_is_read_as_far_as_it_goes() {
        let packet = initial(b"token", 60);
        let sealed = |captured: usize| match udp(&packet[..captured], packet.len()).quic_packets().next()?.kind {
            QuicKind::Initial(initial) => Some(initial.sealed.map(|sealed| (sealed.packet.len(), sealed.wire_len))),
            kind => panic!("{kind:?}"),
        };
        assert_eq!(sealed(40), Some(Some((40, packet.len()))));
        assert_eq!(sealed(14), Some(None), "cut within the token");
        assert_eq!(sealed(9), None, "cut within the connection IDs");
    }

    #[test]
    fn lengths_beyond_the_datagram_are_no_quic() {
        let mut packet = initial(&[], 60);
        packet.truncate(packet.len() - 1);
        assert_eq!(udp(&packet, packet.len()).quic_packets().count(), 0);
        let mut packet = long(0xc0, 1);
        packet[5] = 21;
        packet.extend([0; 60]);
        assert_eq!(udp(&packet, packet.len()).quic_packets().count(), 0, "connection ID too long");
    }

    proptest! {
        #[test]
        fn any_bytes_end(mut bytes in prop::collection::vec(any::<u8>(), 0..200), extra in 0usize..100, known in any::<bool>()) {
            if known && bytes.len() > 5 {
                bytes[..5].copy_from_slice(&[0xc0, 0, 0, 0, 1]);
            }
            let packets: Vec<_> = udp(&bytes, bytes.len() + extra).quic_packets().collect();
            for packet in packets {
                prop_assert!(packet.dcid.len() <= LONGEST_ID && packet.scid.len() <= LONGEST_ID);
                if let QuicKind::Initial(QuicInitial { sealed: Some(sealed), .. }) = packet.kind {
                    prop_assert!(sealed.number_at <= sealed.packet.len());
                    prop_assert!(sealed.packet.len() <= sealed.wire_len);
                }
            }
        }
    }
}
