//! TCP segment without its payload.

use crate::seq::Seq;
use std::fmt;
use std::ops::{BitOr, BitOrAssign};

/// Control bits that the state machine uses (RFC 9293, section 3.1; ECE and CWR: RFC 3168).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Flags(u8);

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

    /// Bits as in byte 13 of the header.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// Flags from byte 13 of the header.
    pub const fn from_bits(bits: u8) -> Flags {
        Flags(bits)
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

/// Maximum number of SACK blocks beside timestamps (RFC 2018, section 3).
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

/// A TCP segment: its header and the length of its payload.
///
/// Kept smaller than a cache line, since the event heap of a simulator copies it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
    /// SACK blocks `[left, right)`; the first [`sack_count`](Segment::sack_count) are valid. A first block below `ack`,
    /// or inside the second block, is a DSACK (RFC 2883).
    pub sack: [(Seq, Seq); MAX_SACK_BLOCKS],
    /// Number of valid blocks in [`sack`](Segment::sack).
    pub sack_count: u8,
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
}

const _: () = assert!(size_of::<Segment>() <= 56);

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

    /// Length of the TCP header in bytes, options included.
    ///
    /// 20 bytes (RFC 9293). A SYN has 20 more for MSS, SACK permitted, timestamps and window scale as every current
    /// stack sends them, 12 without timestamps, 8 without timestamps and SACK permitted. Other segments have 12 for
    /// timestamps with padding (RFC 7323, appendix A), and 4 + 8·n for n SACK blocks (RFC 2018, section 3).
    pub fn header_bytes(&self) -> u32 {
        let timestamps = if self.options.contains(Options::TIMESTAMPS) {
            12
        } else {
            0
        };
        let options = if self.flags.contains(Flags::SYN) {
            // MSS 4, window scale 3 + 1; SACK permitted replaces the padding of the timestamps.
            if timestamps > 0 {
                20
            } else {
                8 + if self.options.contains(Options::SACK_PERMITTED) {
                    4
                } else {
                    0
                }
            }
        } else if self.sack_count > 0 {
            timestamps + 4 + 8 * u32::from(self.sack_count)
        } else {
            timestamps
        };
        20 + options
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
    fn syn_and_fin_occupy_one_number_each() {
        let mut segment = Segment::new(Seq(7), Flags::FIN | Flags::ACK);
        segment.len = 100;
        assert_eq!(segment.seq_len(), 101);
        assert_eq!(segment.flags.to_string(), "F.");
        assert_eq!(Segment::new(Seq(7), Flags::SYN).seq_len(), 1);
    }
}
