//! TCP segment without its payload.

use crate::seq::Seq;
use std::fmt;
use std::ops::{BitOr, BitOrAssign};

/// Control bits that the state machine uses (RFC 9293, section 3.1; ECE and CWR: RFC 3168; AE: RFC 9768).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Flags(u16);

impl Flags {
    /// No control bit.
    pub const NONE: Flags = Flags(0);
    /// No more data from the sender.
    pub const FIN: Flags = Flags(0x01);
    /// Synchronise sequence numbers.
    pub const SYN: Flags = Flags(0x02);
    /// Reset the connection.
    pub const RST: Flags = Flags(0x04);
    /// Push: end of an application write.
    pub const PSH: Flags = Flags(0x08);
    /// The acknowledgement field is valid.
    pub const ACK: Flags = Flags(0x10);
    /// ECN echo.
    pub const ECE: Flags = Flags(0x40);
    /// Congestion window reduced.
    pub const CWR: Flags = Flags(0x80);
    /// Accurate ECN.
    pub const AE: Flags = Flags(0x100);

    /// Bits as in bytes 12 and 13 of the header.
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// Flags from bytes 12 and 13 of the header, of which the length of the header is left out.
    pub const fn from_bits(bits: u16) -> Flags {
        Flags(bits & 0x0fff)
    }

    /// The ACE field: AE, CWR and ECE as a number from 0 to 7 (RFC 9768, section 3.2.1).
    #[inline]
    pub const fn ace(self) -> u8 {
        (self.0 >> 6) as u8 & 7
    }

    /// The flags with an ACE field of `ace` modulo 8.
    #[inline]
    pub const fn with_ace(self, ace: u8) -> Flags {
        Flags(self.0 & !0x1c0 | (ace as u16 & 7) << 6)
    }

    /// Whether every bit of `other` is set.
    #[inline]
    pub const fn contains(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether any bit of `other` is set.
    #[inline]
    pub const fn intersects(self, other: Flags) -> bool {
        self.0 & other.0 != 0
    }
}

impl BitOr for Flags {
    type Output = Flags;
    #[inline]
    fn bitor(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

impl BitOrAssign for Flags {
    #[inline]
    fn bitor_assign(&mut self, other: Flags) {
        self.0 |= other.0;
    }
}

/// Formats the flags like tcpdump: `S`, `S.`, `P.`, `F.`, `.`.
impl fmt::Display for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        for (bit, letter) in [
            (Flags::FIN, 'F'),
            (Flags::SYN, 'S'),
            (Flags::RST, 'R'),
            (Flags::PSH, 'P'),
            (Flags::ECE, 'E'),
            (Flags::CWR, 'W'),
            (Flags::AE, 'e'),
            (Flags::ACK, '.'),
        ] {
            if self.contains(bit) {
                text.push(letter);
            }
        }
        f.pad(if text.is_empty() { "none" } else { &text })
    }
}

/// TCP options of a segment, apart from SACK blocks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Options(u8);

impl Options {
    /// No options.
    pub const NONE: Options = Options(0);
    /// Timestamps (RFC 7323).
    pub const TIMESTAMPS: Options = Options(1);
    /// SACK permitted (RFC 2018); only on a SYN.
    pub const SACK_PERMITTED: Options = Options(2);
    /// AccECN (RFC 9768, section 3.2.3), read by [`Segment::accecn_option`].
    pub const ACCECN: Options = Options(4);
    /// Position of the number of fields of the AccECN option.
    const FIELDS_SHIFT: u8 = 3;

    /// Whether every option of `other` is present.
    #[inline]
    pub const fn contains(self, other: Options) -> bool {
        self.0 & other.0 == other.0
    }
}

impl BitOrAssign for Options {
    #[inline]
    fn bitor_assign(&mut self, other: Options) {
        self.0 |= other.0;
    }
}

/// Maximum number of SACK blocks together with timestamps (RFC 2018, section 3).
pub const MAX_SACK_BLOCKS: usize = 3;

/// ECN field of the IP header, as the sender sets it (RFC 3168, section 5).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Ect {
    /// Not ECN-capable: queues drop the packet instead of marking it.
    #[default]
    Not,
    /// ECN-capable, ECT(0).
    Zero,
    /// ECN-capable, ECT(1): queues treat the packet as L4S (RFC 9331).
    One,
}

impl Ect {
    /// Whether queues may mark the packet.
    #[inline]
    pub const fn is_capable(self) -> bool {
        !matches!(self, Ect::Not)
    }
}

/// AccECN option (RFC 9768, section 3.2.3), in order 1, which Linux sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccEcnOption {
    /// Number of valid counters, at most 3.
    pub fields: u8,
    /// Bytes of payload that arrived in packets with ECT(1), CE and ECT(0), modulo 2^24; ECT(1) and ECT(0) count from 1.
    pub counters: [u32; 3],
}

/// A TCP segment: its header and the length of its payload.
///
/// Kept smaller than a cache line, since simulators copy it; what most segments lack comes last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Segment {
    /// Sequence number of the first byte (or of SYN or FIN, if that comes first).
    pub seq: Seq,
    /// Next sequence number expected; valid with [`Flags::ACK`].
    pub ack: Seq,
    /// Payload in bytes; SYN and FIN not counted.
    pub len: u32,
    /// Receive window in bytes, scaling undone.
    pub window: u32,
    /// Timestamp value, in milliseconds of the sender's clock.
    pub ts_val: u32,
    /// Timestamp echo reply.
    pub ts_ecr: u32,
    /// Control bits.
    pub flags: Flags,
    /// MSS option of a SYN, in bytes of payload.
    pub mss: u16,
    /// Options present.
    pub options: Options,
    /// Whether the segment was sent before. For metrics; not on the wire.
    pub retransmitted: bool,
    /// ECN field of the packet.
    pub ect: Ect,
    /// Number of valid blocks in [`sack`](Segment::sack).
    pub sack_count: u8,
    /// SACK blocks `[left, right)`; the first [`sack_count`](Segment::sack_count) are valid. A first block below `ack`,
    /// or inside the second block, is a DSACK (RFC 2883).
    pub sack: [(Seq, Seq); MAX_SACK_BLOCKS],
}

const _: () = assert!(size_of::<Segment>() <= 56);

/// Takes the segments that an end point sends, in order. A simulator can put each where it belongs at once: written to a list
/// and read again a moment later, segments took 6 % of its time.
pub trait Outbox {
    /// Takes the next segment.
    fn push(&mut self, segment: Segment);

    /// The segment taken last, to be completed.
    fn last_mut(&mut self) -> Option<&mut Segment>;
}

impl Outbox for Vec<Segment> {
    #[inline]
    fn push(&mut self, segment: Segment) {
        Vec::push(self, segment);
    }

    #[inline]
    fn last_mut(&mut self) -> Option<&mut Segment> {
        <[Segment]>::last_mut(self)
    }
}

impl Segment {
    /// Creates a segment without payload and options.
    pub const fn new(seq: Seq, flags: Flags) -> Segment {
        Segment {
            seq,
            ack: Seq(0),
            len: 0,
            window: 0,
            ts_val: 0,
            ts_ecr: 0,
            sack: [(Seq(0), Seq(0)); MAX_SACK_BLOCKS],
            sack_count: 0,
            flags,
            mss: 0,
            options: Options::NONE,
            retransmitted: false,
            ect: Ect::Not,
        }
    }

    /// Length in sequence space: payload, and one each for SYN and FIN.
    #[inline]
    pub const fn seq_len(&self) -> u32 {
        self.len + self.flags.contains(Flags::SYN) as u32 + self.flags.contains(Flags::FIN) as u32
    }

    /// Valid SACK blocks.
    #[inline]
    pub fn sack_blocks(&self) -> &[(Seq, Seq)] {
        &self.sack[..usize::from(self.sack_count).min(MAX_SACK_BLOCKS)]
    }

    /// The AccECN option; `None` if the segment has none.
    pub fn accecn_option(&self) -> Option<AccEcnOption> {
        if !self.options.contains(Options::ACCECN) {
            return None;
        }
        let fields = self.options.0 >> Options::FIELDS_SHIFT & 3;
        let [_, (Seq(ect0), _), (Seq(ect1), Seq(ce))] = self.sack;
        let mut counters = [ect1, ce, ect0];
        counters[usize::from(fields)..].fill(0);
        Some(AccEcnOption { fields, counters })
    }

    /// Adds the AccECN option.
    ///
    /// A header with timestamps has space for one SACK block with three counters, and for two with two or one. The
    /// counters are kept where the other blocks would be, which keeps the segment small; blocks in excess are removed.
    pub fn set_accecn_option(&mut self, option: AccEcnOption) {
        let fields = option.fields.min(3);
        let [ect1, ce, ect0] = option.counters;
        match fields {
            0 => {}
            1 | 2 => self.sack_count = self.sack_count.min(2),
            _ => self.sack_count = self.sack_count.min(1),
        }
        if fields > 0 {
            self.sack[2] = (Seq(ect1), Seq(ce));
        }
        if fields > 2 {
            self.sack[1] = (Seq(ect0), Seq(0));
        }
        self.options.0 = self.options.0 & 3 | Options::ACCECN.0 | fields << Options::FIELDS_SHIFT;
    }

    /// Removes the AccECN option.
    pub(crate) fn remove_accecn_option(&mut self) {
        self.options.0 &= 3;
    }

    /// Length that the AccECN option adds to the header: 2 bytes and 3 for each counter, in the place of padding of the
    /// other options where it fits there (`tcp_options_fit_accecn`).
    fn accecn_bytes(&self) -> u32 {
        let Some(AccEcnOption { fields, .. }) = self.accecn_option() else {
            return 0;
        };
        let len = 2 + 3 * u32::from(fields);
        let syn = self.flags.contains(Flags::SYN);
        let padding = if syn && self.options.contains(Options::SACK_PERMITTED) {
            // Without timestamps, SACK permitted follows two bytes of padding; window scale always follows one.
            if self.options.contains(Options::TIMESTAMPS) { 1 } else { 2 }
        } else if syn {
            1
        } else if self.sack_count > 0 {
            2
        } else {
            0
        };
        if len % 4 > padding { len.next_multiple_of(4) } else { len / 4 * 4 }
    }

    /// Length of the TCP header in bytes, options included.
    ///
    /// 20 bytes (RFC 9293). A SYN has 20 more for MSS, SACK permitted, timestamps and window scale as every current
    /// stack sends them, 12 without timestamps, 8 without timestamps and SACK permitted. Other segments have 12 for
    /// timestamps with padding (RFC 7323, appendix A), and 4 + 8·n for n SACK blocks (RFC 2018, section 3). The AccECN
    /// option adds 12 with all its counters.
    pub fn header_bytes(&self) -> u32 {
        let timestamps = if self.options.contains(Options::TIMESTAMPS) { 12 } else { 0 };
        let options = if self.flags.contains(Flags::SYN) {
            // MSS 4, window scale 3 + 1; SACK permitted replaces the padding of the timestamps.
            if timestamps > 0 { 20 } else { 8 + if self.options.contains(Options::SACK_PERMITTED) { 4 } else { 0 } }
        } else if self.sack_count > 0 {
            timestamps + 4 + 8 * u32::from(self.sack_count)
        } else {
            timestamps
        };
        20 + options + self.accecn_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_as_long_as_on_the_wire() {
        let mut syn = Segment::new(Seq(0), Flags::SYN);
        assert_eq!(syn.header_bytes(), 28);
        syn.options |= Options::SACK_PERMITTED;
        assert_eq!(syn.header_bytes(), 32);
        syn.options |= Options::TIMESTAMPS;
        assert_eq!(syn.header_bytes(), 40);
        let mut ack = Segment::new(Seq(0), Flags::ACK);
        assert_eq!(ack.header_bytes(), 20);
        ack.options |= Options::TIMESTAMPS;
        assert_eq!(ack.header_bytes(), 32);
        ack.sack_count = 3;
        assert_eq!(ack.header_bytes(), 60);
    }

    #[test]
    fn the_accecn_option_is_read_as_written_and_uses_padding() {
        for (fields, blocks, length) in
            [(3, 0, 44), (3, 1, 56), (2, 2, 60), (1, 0, 40), (1, 2, 56), (0, 0, 36), (0, 3, 60)]
        {
            let mut segment = Segment::new(Seq(0), Flags::ACK);
            segment.options |= Options::TIMESTAMPS;
            segment.sack_count = blocks;
            segment.sack = [(Seq(1), Seq(2)); MAX_SACK_BLOCKS];
            let mut option = AccEcnOption { fields, counters: [10, 20, 30] };
            segment.set_accecn_option(option);
            option.counters[usize::from(fields)..].fill(0);
            assert_eq!(segment.accecn_option(), Some(option));
            assert_eq!(segment.header_bytes(), length, "{fields}, {blocks}");
            assert_eq!(segment.sack_blocks().len(), usize::from(blocks));
            assert!(segment.sack_blocks().iter().all(|&block| block == (Seq(1), Seq(2))));
            segment.remove_accecn_option();
            assert_eq!(segment.accecn_option(), None);
            assert!(segment.options.contains(Options::TIMESTAMPS));
        }
    }

    #[test]
    fn ace_is_three_flags() {
        let flags = Flags::ACK | Flags::AE | Flags::ECE;
        assert_eq!(flags.ace(), 5);
        assert_eq!(flags.with_ace(2), Flags::ACK | Flags::CWR);
        assert_eq!(flags.with_ace(8), Flags::ACK);
        assert_eq!(Flags::from_bits(0x5112), Flags::ACK | Flags::SYN | Flags::AE);
    }

    #[test]
    fn syn_and_fin_occupy_one_number_each() {
        let mut segment = Segment::new(Seq(7), Flags::FIN | Flags::ACK);
        segment.len = 100;
        assert_eq!(segment.seq_len(), 101);
        assert_eq!(segment.flags.to_string(), "F.");
        assert_eq!(Segment::new(Seq(7), Flags::SYN).seq_len(), 1);
    }
}
