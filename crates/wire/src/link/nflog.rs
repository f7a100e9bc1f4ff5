//! Messages of the Linux netfilter log (<https://www.tcpdump.org/linktypes/LINKTYPE_NFLOG.html>).

use super::{Layer, Peeled};
use crate::Skip;
use crate::captured::{Captured, be16};

/// Address family of rules that see the packets of a bridge (Linux, `NFPROTO_BRIDGE`).
const BRIDGE: u8 = 7;
/// Attributes (Linux, `include/uapi/linux/netfilter/nfnetlink_log.h`).
const NFULA_PACKET_HDR: u16 = 1;
const NFULA_PAYLOAD: u16 = 9;

/// Family, version and resource, then attributes, of which one is the packet from its network header on.
pub(super) fn message(at: &mut Captured<'_>) -> Peeled {
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

/// Length and type of an attribute, in the byte order of the machine that captured. Types are small and not 0, so the
/// byte that is 0 is the high one.
fn len_and_type([a, b, c, d]: [u8; 4]) -> (u16, u16) {
    if c == 0 {
        (be16(a, b), u16::from(d))
    } else {
        (be16(b, a), be16(d, c))
    }
}
