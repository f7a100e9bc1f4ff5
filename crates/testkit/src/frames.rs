//! Pieces of hand-made frames, for parsers and for what is built around them.

/// A TCP segment with timestamps and 4 bytes of payload in an IPv4 packet,
/// 198.51.100.7 port 40000 to 203.0.113.9 port 50000.
#[rustfmt::skip]
pub const SEGMENT: &[u8] = &[
    0x45, 0x00, 0x00, 0x38, 0x12, 0x34, 0x40, 0x00, 0x40, 0x06, 0x00, 0x00, 198, 51, 100, 7, 203, 0, 113, 9,
    0x9c, 0x40, 0xc3, 0x50, 0x01, 0x02, 0x03, 0x04, 0x0a, 0x0b, 0x0c, 0x0d, 0x80, 0x18, 0x10, 0x00, 0, 0, 0, 0,
    1, 1, 8, 10, 0, 0, 0x30, 0x39, 0, 0, 0x03, 0xe7,
    b'a', b'b', b'c', b'd',
];

/// The header of an IPv4 packet, 192.0.2.1 to 192.0.2.2, that claims no payload and protocol 0.
#[rustfmt::skip]
pub const IPV4_OUTER: [u8; 20] = [
    0x45, 0x00, 0x00, 0x14, 0x00, 0x01, 0x00, 0x00, 0x20, 0x00, 0x00, 0x00, 192, 0, 2, 1, 192, 0, 2, 2,
];

/// Destination and source address of an Ethernet frame, which its EtherType follows.
pub const ETHERNET: &[u8] = &[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];

/// Concatenates pieces.
pub fn cat(pieces: &[&[u8]]) -> Vec<u8> {
    pieces.concat()
}
