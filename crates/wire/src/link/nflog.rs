//! Messages of the Linux netfilter log (<https://www.tcpdump.org/linktypes/LINKTYPE_NFLOG.html>).

use super::{Layer, NextLayer};
use crate::Skip;
use crate::captured::{Captured, be16};

/// Address family of rules on bridges (Linux, `NFPROTO_BRIDGE`).
const BRIDGE: u8 = 7;
/// Attributes (Linux, `include/uapi/linux/netfilter/nfnetlink_log.h`).
const NFULA_PACKET_HDR: u16 = 1;
const NFULA_PAYLOAD: u16 = 9;

/// Parses a message: family, version and resource, then attributes, one of which is the packet from its network header
/// on.
pub(super) fn message(at: &mut Captured<'_>) -> NextLayer {
    let h = at.take::<4>()?;
    if h[1] != 0 {
        return Err(Skip::Malformed);
    }
    let mut layer = match h[0] {
        BRIDGE => None,
        _ => Some(Layer::Ip),
    };
    loop {
        let attribute = at.take::<4>()?;
        let (len, kind) = len_and_type(*attribute);
        if len < 4 {
            return Err(Skip::Malformed);
        }
        match kind {
            NFULA_PAYLOAD => {
                *at = at.with_len(u32::from(len) - 4);
                return layer.ok_or(Skip::NotIp);
            }
            NFULA_PACKET_HDR if layer.is_none() => {
                let protocol = at.peek::<2>()?;
                layer = Some(Layer::EtherType(be16(protocol[0], protocol[1])));
            }
            _ => {}
        }
        at.skip(usize::from(len).next_multiple_of(4) - 4)?;
    }
}

/// Length and type of an attribute, in the byte order of the capturing machine. Types are small and not 0, so the zero
/// byte of the type is the high one.
fn len_and_type([a, b, c, d]: [u8; 4]) -> (u16, u16) {
    if c == 0 { (be16(a, b), u16::from(d)) } else { (be16(b, a), be16(d, c)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strip(message: &[u8]) -> Result<(Layer, Vec<u8>), Skip> {
        let mut at = Captured::new(message, message.len() as u32);
        let layer = super::message(&mut at)?;
        Ok((layer, at.bytes.to_vec()))
    }

    #[test]
    fn attributes_in_either_byte_order() {
        let little = [2, 0, 0, 0, 5, 0, 10, 0, b'x', 0, 0, 0, 6, 0, 9, 0, 0x45, 0, 0xee];
        assert_eq!(strip(&little), Ok((Layer::Ip, vec![0x45, 0])));
        let big = [2, 0, 0, 0, 0, 5, 0, 10, b'x', 0, 0, 0, 0, 6, 0, 9, 0x45, 0, 0xee];
        assert_eq!(strip(&big), Ok((Layer::Ip, vec![0x45, 0])));
    }

    #[test]
    fn on_a_bridge_the_protocol_is_in_an_attribute() {
        let arp = [7, 0, 0, 0, 8, 0, 1, 0, 8, 6, 0, 0, 4, 0, 9, 0];
        assert_eq!(strip(&arp), Ok((Layer::EtherType(0x0806), vec![])));
        assert_eq!(strip(&[7, 0, 0, 0, 4, 0, 9, 0]), Err(Skip::NotIp));
    }

    #[test]
    fn messages_without_packet_or_with_impossible_attributes() {
        assert_eq!(strip(&[2, 0, 0, 0, 4, 0, 8, 0]), Err(Skip::Malformed));
        assert_eq!(strip(&[2, 0, 0, 0, 3, 0, 9, 0]), Err(Skip::Malformed));
        assert_eq!(strip(&[2, 1, 0, 0, 4, 0, 9, 0]), Err(Skip::Malformed));
    }
}
