//! Frame Relay with the encapsulation of RFC 2427, or that of Cisco, which has an EtherType after the address.

use super::{Layer, LinkType, NextLayer, llc};
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

pub(super) fn frame(at: &mut Captured<'_>) -> NextLayer {
    let mut address_len = 0;
    loop {
        let byte = at.take::<1>()?;
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
    let h = at.take::<2>()?;
    let nlpid = match *h {
        [llc::UNNUMBERED_INFORMATION, PADDING] => {
            let nlpid = at.take::<1>()?;
            nlpid[0]
        }
        [llc::UNNUMBERED_INFORMATION, nlpid] => nlpid,
        [a, b] => return Ok(Layer::EtherType(be16(a, b))),
    };
    match nlpid {
        NLPID_IPV4 | NLPID_IPV6 => Ok(Layer::Ip),
        NLPID_SNAP => llc::snap(at),
        NLPID_PPP => Ok(Layer::Link(LinkType::PPP)),
        _ => Err(Skip::NotIp),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_two_to_four_bytes() {
        let strip = |bytes: &[u8]| frame(&mut Captured::new(bytes, 100));
        assert_eq!(strip(&[0x18, 0x41, 3, 0xcc]), Ok(Layer::Ip));
        assert_eq!(strip(&[0x18, 0x40, 0x41, 3, 0xcc]), Ok(Layer::Ip));
        assert_eq!(strip(&[0x18, 0x40, 0x40, 0x41, 3, 0xcc]), Ok(Layer::Ip));
        assert_eq!(strip(&[0x18, 0x40, 0x40, 0x40, 0x41, 3, 0xcc]), Err(Skip::Malformed));
        assert_eq!(strip(&[0x19, 3, 0xcc]), Err(Skip::Malformed));
        assert_eq!(strip(&[0x18, 0x41, 3, 0x82]), Err(Skip::NotIp));
    }
}
