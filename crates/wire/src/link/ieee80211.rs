//! IEEE 802.11 data frames.
//!
//! Only the first subframe of an aggregate (A-MSDU) is read: one frame, one packet. Frames that a monitor in
//! promiscuous mode cannot decrypt are [`Skip::Encrypted`]. Fragments other than the first have no IP header.

use super::{Layer, NextLayer};
use crate::Skip;
use crate::captured::Captured;

/// Padding that some adapters insert between header and body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Padding {
    None,
    /// Up to a multiple of 4 bytes of the header.
    ToWord,
}

/// Frame control, first byte (IEEE 802.11, 9.2.4.1): version, type and subtype.
const VERSION: u8 = 0x03;
const TYPE: u8 = 0x0c;
const TYPE_DATA: u8 = 0x08;
/// Bits of the subtype of data frames.
const NO_DATA: u8 = 0x40;
const QOS: u8 = 0x80;
/// Frame control, second byte.
const TO_AND_FROM_DS: u8 = 0x03;
const PROTECTED: u8 = 0x40;
const HT_CONTROL: u8 = 0x80;
/// QoS control, first byte (9.2.4.5): the body is an A-MSDU.
const AGGREGATE: u8 = 0x80;

pub(super) fn frame(at: &mut Captured<'_>, padding: Padding) -> NextLayer {
    let h = at.peek::<2>()?;
    let [control, flags] = *h;
    if control & VERSION != 0 || control & TYPE != TYPE_DATA || control & NO_DATA != 0 {
        return Err(Skip::NotIp);
    }
    if flags & PROTECTED != 0 {
        return Err(Skip::Encrypted);
    }
    let h = at.take::<24>()?;
    let mut header_len = 24_usize;
    // The low four bits of sequence control are the fragment number (9.2.4.4).
    if h[22] & 0x0f != 0 {
        return Err(Skip::NotIp);
    }
    if flags & TO_AND_FROM_DS == TO_AND_FROM_DS {
        at.skip(6)?;
        header_len += 6;
    }
    let mut aggregate = false;
    if control & QOS != 0 {
        let qos = at.take::<2>()?;
        aggregate = qos[0] & AGGREGATE != 0;
        header_len += 2;
        if flags & HT_CONTROL != 0 {
            at.skip(4)?;
            header_len += 4;
        }
    }
    if padding == Padding::ToWord {
        at.skip(header_len.next_multiple_of(4) - header_len)?;
    }
    if aggregate {
        // Destination, source and length of the first subframe (9.3.2.2.2).
        at.skip(14)?;
    }
    Ok(Layer::Llc)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Layer after a header with this frame control and sequence control.
    fn strip(control: [u8; 2], sequence: u8) -> NextLayer {
        let mut header = [0; 40];
        (header[0], header[1], header[22]) = (control[0], control[1], sequence);
        frame(&mut Captured::new(&header, 100), Padding::None)
    }

    #[test]
    fn only_data_in_the_clear_leads_on() {
        assert_eq!(strip([0x08, 0x01], 0), Ok(Layer::Llc));
        assert_eq!(strip([0x88, 0x02], 0), Ok(Layer::Llc));
        for (what, control) in
            [("beacon", 0x80), ("acknowledgement", 0xd4), ("null", 0x48), ("QoS null", 0xc8), ("another version", 0x09)]
        {
            assert_eq!(strip([control, 0], 0), Err(Skip::NotIp), "{what}");
        }
        assert_eq!(strip([0x88, 0x41], 0), Err(Skip::Encrypted));
    }

    #[test]
    fn later_fragments_have_no_llc() {
        assert_eq!(strip([0x08, 0x04], 0x10), Ok(Layer::Llc));
        assert_eq!(strip([0x08, 0x00], 0x11), Err(Skip::NotIp));
    }
}
