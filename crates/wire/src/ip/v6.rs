//! IPv6 (RFC 8200).

use super::extension;
use crate::captured::{Captured, be16};
use crate::{Address, Fragment, Ip, Packet, Skip, transport};

#[inline]
pub(super) fn packet(mut at: Captured<'_>) -> Result<Packet<'_>, Skip> {
    let h = at.take::<40>()?;
    let mut src = [0; 16];
    let mut dst = [0; 16];
    src.copy_from_slice(&h[8..24]);
    dst.copy_from_slice(&h[24..40]);
    let mut protocol = h[6];
    let payload_len = match be16(h[4], h[5]) {
        // A jumbogram, or a segment that the network card will cut (TSO), captured before it did.
        0 => match extension::jumbo_payload_len(at) {
            Some(len) if protocol == extension::HOP_BY_HOP => len,
            _ => at.wire_len(),
        },
        len => u32::from(len),
    };
    let mut payload = at.with_len(payload_len);
    let mut id = None;
    let mut fragment = None;
    loop {
        match protocol {
            extension::HOP_BY_HOP
            | extension::ROUTING
            | extension::DESTINATION
            | extension::MOBILITY
            | extension::HIP
            | extension::SHIM6 => protocol = extension::in_octuples(&mut payload)?,
            extension::AUTHENTICATION => protocol = extension::authentication(&mut payload)?,
            extension::FRAGMENT => {
                let f = payload.take::<8>()?;
                protocol = f[0];
                id = Some(be16(f[6], f[7]));
                let offset = be16(f[2], f[3]) & !7;
                let more = f[3] & 1 != 0;
                // A fragment header on a whole packet ("atomic fragment", RFC 6946) makes no fragment of it.
                if offset != 0 || more {
                    fragment = Some(Fragment {
                        id: u32::from_be_bytes([f[4], f[5], f[6], f[7]]),
                        offset: u32::from(offset),
                        more,
                    });
                }
                if offset != 0 {
                    break;
                }
            }
            _ => break,
        }
    }
    transport::packet(protocol, fragment, payload, || Ip {
        src: Address(src),
        dst: Address(dst),
        ttl: h[7],
        tos: (h[0] << 4) | (h[1] >> 4),
        id,
        fragment,
        payload_len: payload.wire_len(),
        protocol,
    })
}
