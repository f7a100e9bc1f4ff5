//! Copy of a frame for retransmission: the same bytes, with a valid checksum.

use crate::frame::Frame;
use gentle_wire::{Address, LinkType, Packet};

/// Offset of the checksum in a TCP header (RFC 9293, 3.1).
const CHECKSUM: usize = 16;
/// TCP's protocol number.
const PROTOCOL: u16 = 6;
/// Offset of a VLAN tag in an Ethernet frame: after the addresses.
const TAG: usize = 12;

/// Copies a frame. `None` if the frame is truncated or its checksum is wrong: the receiving stack drops such an
/// original, and a copy must not fare better.
pub(crate) fn copy(frame: &Frame<'_>, packet: &Packet<'_>) -> Option<Box<[u8]>> {
    let length = usize::try_from(packet.ip.payload_len).ok()?;
    let whole = frame.bytes.len() == frame.original_len as usize;
    if !whole || packet.payload.len() != length || length < CHECKSUM + 2 {
        return None;
    }
    // The payload is a slice of the frame.
    let field = packet.payload.as_ptr().addr() - frame.bytes.as_ptr().addr() + CHECKSUM;
    let present = u16::from_be_bytes([frame.bytes[field], frame.bytes[field + 1]]);
    let pseudo = pseudo_header(packet, length);
    // A checksum left to the device contains only the pseudo-header sum (include/linux/skbuff.h, CHECKSUM_PARTIAL);
    // some virtual devices lose the flag for this.
    let partial = frame.partial_checksum || present == fold(pseudo);
    let all = pseudo + sum(packet.payload);
    if !partial && fold(all) != 0xffff {
        return None;
    }
    let mut bytes = Vec::with_capacity(frame.bytes.len() + frame.vlan.map_or(0, |_| 4));
    bytes.extend_from_slice(frame.bytes);
    if partial {
        let right = !fold(all - u64::from(present));
        bytes[field..field + 2].copy_from_slice(&right.to_be_bytes());
    }
    if let Some(vlan) = frame.vlan
        && frame.link == LinkType::ETHERNET
    {
        let [a, b] = vlan.tpid.to_be_bytes();
        let [c, d] = vlan.tci.to_be_bytes();
        bytes.splice(TAG..TAG, [a, b, c, d]);
    }
    Some(bytes.into())
}

/// Sum of the pseudo-header (RFC 9293, 3.1; RFC 8200, 8.1). IPv4 addresses are stored as mapped IPv6 addresses; their
/// prefix is left out.
fn pseudo_header(packet: &Packet<'_>, length: usize) -> u64 {
    let of = |address: Address| match address.is_v4() {
        true => sum(&address.0[12..]),
        false => sum(&address.0),
    };
    of(packet.ip.src) + of(packet.ip.dst) + u64::from(PROTOCOL) + length as u64
}

fn sum(bytes: &[u8]) -> u64 {
    let (words, odd) = bytes.as_chunks::<2>();
    let words: u64 = words.iter().map(|word| u64::from(u16::from_be_bytes(*word))).sum();
    words + odd.first().map_or(0, |last| u64::from(*last) << 8)
}

fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}
