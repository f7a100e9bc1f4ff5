//! Frame Relay with the encapsulation of RFC 2427, or that of Cisco, which has an EtherType after the address.

use super::{Layer, LinkType, Peeled, llc};
use crate::Skip;
use crate::captured::{Captured, be16};

/// Address extension bit: set in the last byte of an address (ITU-T Q.922, 3.3.1).
const LAST: u8 = 0x01;

/// Network layer protocol identifiers (RFC 2427, 2 and appendix A).
const PADDING: u8 = 0x00;
const NLPID_IPV4: u8 = 0xcc;
const NLPID_IPV6: u8 = 0x8e;
const NLPID_SNAP: u8 = 0x80;
const NLPID_PPP: u8 = 0xcf;

pub(super) fn frame(mut at: Captured<'_>) -> Peeled<'_> {
    let mut address_len = 0;
    loop {
        let (byte, rest) = at.header::<1>()?;
        at = rest;
        address_len += 1;
        if byte[0] & LAST != 0 {
            break;
        }
        if address_len == 4 {
            return Err(Skip::Malformed);
        }
    }
    if address_len == 1 {
        return Err(Skip::Malformed);
    }
    let (h, rest) = at.header::<2>()?;
    let (nlpid, rest) = match *h {
        [llc::UNNUMBERED_INFORMATION, PADDING] => {
            let (nlpid, rest) = rest.header::<1>()?;
            (nlpid[0], rest)
        }
        [llc::UNNUMBERED_INFORMATION, nlpid] => (nlpid, rest),
        [a, b] => return Ok((Layer::EtherType(be16(a, b)), rest)),
    };
    match nlpid {
        NLPID_IPV4 | NLPID_IPV6 => Ok((Layer::Ip, rest)),
        NLPID_SNAP => llc::snap(rest),
        NLPID_PPP => Ok((Layer::Link(LinkType::PPP), rest)),
        _ => Err(Skip::NotIp),
    }
}
