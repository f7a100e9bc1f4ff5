//! Headers that drivers put before an IEEE 802.11 frame: radiotap (<https://www.radiotap.org>), Prism and AVS
//! (<https://www.tcpdump.org/linktypes.html>).

use super::ieee80211::{self, Padding};
use super::{Layer, LinkType, NextLayer};
use crate::Skip;
use crate::captured::Captured;

/// Radiotap: version, padding, length and a bit map of the fields present, little-endian.
pub(super) fn radiotap(at: &mut Captured<'_>) -> NextLayer {
    let h = at.peek::<8>()?;
    let len = usize::from(u16::from_le_bytes([h[2], h[3]]));
    if h[0] != 0 || len < 8 {
        return Err(Skip::Malformed);
    }
    let padding = match radiotap_flags(at.bytes.get(..len).unwrap_or_default()) {
        Some(flags) if flags & DATA_PAD != 0 => Padding::ToWord,
        _ => Padding::None,
    };
    at.skip(len)?;
    ieee80211::frame(at, padding)
}

/// Bit of the radiotap field "flags": padding between IEEE 802.11 header and body.
const DATA_PAD: u8 = 0x20;

/// Radiotap field "flags", if present.
fn radiotap_flags(header: &[u8]) -> Option<u8> {
    const TIMER: u32 = 1 << 0;
    const FLAGS: u32 = 1 << 1;
    const ANOTHER_BITMAP: u32 = 1 << 31;
    let mut bitmaps = header.get(4..)?.chunks_exact(4);
    let bitmap = || {
        let bytes = bitmaps.next()?.try_into().ok()?;
        Some(u32::from_le_bytes(bytes))
    };
    let mut fields = 4_usize;
    let mut first = None;
    for bitmap in std::iter::from_fn(bitmap) {
        fields += 4;
        first = first.or(Some(bitmap));
        if bitmap & ANOTHER_BITMAP == 0 {
            break;
        }
    }
    let first = first?;
    if first & FLAGS == 0 {
        return None;
    }
    // The timer is the only field before the flags; its 8 bytes are aligned to their size.
    let flags = match first & TIMER {
        0 => fields,
        _ => fields.next_multiple_of(8) + 8,
    };
    header.get(flags).copied()
}

/// Prism: message code and length in the byte order of the capturing machine, then fields. Drivers use the same device
/// type for AVS headers.
pub(super) fn prism(at: &mut Captured<'_>) -> NextLayer {
    let h = at.peek::<8>()?;
    if is_avs(h) {
        return avs(at);
    }
    let len = [h[4], h[5], h[6], h[7]];
    // Lengths are small, so the smaller interpretation has the right byte order.
    let len = u32::from_le_bytes(len).min(u32::from_be_bytes(len)) as usize;
    if len < 8 {
        return Err(Skip::Malformed);
    }
    at.skip(len)?;
    Ok(Layer::Link(LinkType::IEEE802_11))
}

/// AVS: magic number with version, and length, big-endian.
pub(super) fn avs(at: &mut Captured<'_>) -> NextLayer {
    let h = at.peek::<8>()?;
    let len = u32::from_be_bytes([h[4], h[5], h[6], h[7]]) as usize;
    if !is_avs(h) || len < 8 {
        return Err(Skip::Malformed);
    }
    at.skip(len)?;
    Ok(Layer::Link(LinkType::IEEE802_11))
}

fn is_avs(header: &[u8; 8]) -> bool {
    const MAGIC: [u8; 3] = [0x80, 0x21, 0x10];
    header.starts_with(&MAGIC)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flags_of_radiotap_are_found_behind_bitmaps_and_timer() {
        assert_eq!(radiotap_flags(&[0, 0, 9, 0, 2, 0, 0, 0, 0x10]), Some(0x10));
        assert_eq!(radiotap_flags(&[0, 0, 9, 0, 4, 0, 0, 0, 0x10]), None);
        let timer = [0, 0, 17, 0, 3, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0x20];
        assert_eq!(radiotap_flags(&timer), Some(0x20));
        let two = [0, 0, 13, 0, 2, 0, 0, 0x80, 0, 0, 0, 0, 0x20];
        assert_eq!(radiotap_flags(&two), Some(0x20));
        // The bitmaps and the timer, or the flags themselves, are cut.
        assert_eq!(radiotap_flags(&two[..12]), None);
        assert_eq!(radiotap_flags(&two[..7]), None);
    }

    #[test]
    fn headers_without_sense() {
        let strip = |layer: fn(&mut Captured<'_>) -> NextLayer, frame: &[u8; 8]| layer(&mut Captured::new(frame, 8));
        assert_eq!(strip(radiotap, &[1, 0, 8, 0, 0, 0, 0, 0]), Err(Skip::Malformed));
        assert_eq!(strip(radiotap, &[0, 0, 7, 0, 0, 0, 0, 0]), Err(Skip::Malformed));
        assert_eq!(strip(prism, &[0x44, 0, 0, 0, 7, 0, 0, 0]), Err(Skip::Malformed));
        assert_eq!(strip(avs, &[0x44, 0, 0, 0, 0, 0, 0, 8]), Err(Skip::Malformed));
    }
}
