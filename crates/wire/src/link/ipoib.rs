//! IP over InfiniBand (RFC 4391, section 6) behind a global routing header or what stands for one
//! (<https://www.tcpdump.org/linktypes.html>, `LINKTYPE_IPOIB`).

use super::{Layer, NextLayer};
use crate::captured::{Captured, be16};

/// Bytes of a global routing header (InfiniBand Architecture Specification, volume 1, 8.3).
const ROUTING_HEADER: usize = 40;

/// Parses a routing header, an EtherType and two reserved bytes.
pub(super) fn packet(at: &mut Captured<'_>) -> NextLayer {
    at.skip(ROUTING_HEADER)?;
    let h = at.take::<4>()?;
    Ok(Layer::EtherType(be16(h[0], h[1])))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Skip;

    #[test]
    fn the_ethertype_is_behind_the_routing_header() {
        let mut frame = [0xee; 44];
        (frame[40], frame[41]) = (0x86, 0xdd);
        let layer = |frame: &[u8]| packet(&mut Captured::new(frame, 44));
        assert_eq!(layer(&frame), Ok(Layer::EtherType(0x86dd)));
        assert_eq!(layer(&frame[..43]), Err(Skip::Truncated));
        assert_eq!(layer(&frame[..39]), Err(Skip::Truncated));
    }
}
