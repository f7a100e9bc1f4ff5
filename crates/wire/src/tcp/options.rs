//! Options of a TCP header.

use crate::{EmitError, Tcp};

/// Option kinds (IANA, TCP Option Kind Numbers): RFC 9293, RFC 7323, RFC 2018, RFC 9768.
const END: u8 = 0;
const NO_OPERATION: u8 = 1;
const MSS: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;
const ACCECN1: u8 = 174;

/// Largest length of options, bytes: a header has at most 15 words of 4 bytes, and options begin at the sixth (RFC
/// 9293, 3.1).
pub(super) const MAX_OPTIONS: usize = 40;

/// An option of a TCP header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TcpOption<'a> {
    /// One byte of padding before another option.
    NoOperation,
    /// Maximum segment size, bytes (RFC 9293, 3.7.1).
    Mss(u16),
    /// Shift count of the window (RFC 7323, 2.2).
    WindowScale(u8),
    /// Selective acknowledgements are permitted (RFC 2018, 2).
    SackPermitted,
    /// Left and right edges of blocks received out of order (RFC 2018, 3).
    Sack(&'a [(u32, u32)]),
    /// Timestamp value and timestamp echo reply (RFC 7323, 3.2).
    Timestamps(u32, u32),
    /// Accurate ECN, order 1: the first of the counters of bytes that arrived with ECT(1), CE and ECT(0), of which the
    /// lower 24 bits are on the wire (RFC 9768, 3.2.3).
    AccEcn1(&'a [u32]),
}

/// Encoded options of a TCP header, for [`Tcp::options`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TcpOptions {
    bytes: [u8; MAX_OPTIONS],
    len: usize,
}

impl TcpOptions {
    /// No options.
    pub const NONE: TcpOptions = TcpOptions { bytes: [0; MAX_OPTIONS], len: 0 };

    /// Encodes options one after another.
    ///
    /// # Errors
    /// If the options take more than 40 bytes.
    pub fn new(options: &[TcpOption<'_>]) -> Result<TcpOptions, EmitError> {
        let mut new = TcpOptions::NONE;
        for option in options {
            new.push(*option)?;
        }
        Ok(new)
    }

    /// Appends an option.
    ///
    /// # Errors
    /// If the options would exceed 40 bytes.
    #[inline]
    pub fn push(&mut self, option: TcpOption<'_>) -> Result<(), EmitError> {
        match option {
            TcpOption::NoOperation => self.extend(&[NO_OPERATION]),
            TcpOption::Mss(mss) => {
                let [a, b] = mss.to_be_bytes();
                self.extend(&[MSS, 4, a, b])
            }
            TcpOption::WindowScale(shift) => self.extend(&[WINDOW_SCALE, 3, shift]),
            TcpOption::SackPermitted => self.extend(&[SACK_PERMITTED, 2]),
            TcpOption::Sack(blocks) => {
                let len = 2 + 8 * blocks.len();
                if self.len + len > MAX_OPTIONS {
                    return Err(EmitError::TooLong);
                }
                self.extend(&[SACK, len as u8])?;
                for (left, right) in blocks {
                    self.extend(&left.to_be_bytes())?;
                    self.extend(&right.to_be_bytes())?;
                }
                Ok(())
            }
            TcpOption::Timestamps(value, echo) => {
                let mut bytes = [TIMESTAMPS, 10, 0, 0, 0, 0, 0, 0, 0, 0];
                bytes[2..6].copy_from_slice(&value.to_be_bytes());
                bytes[6..10].copy_from_slice(&echo.to_be_bytes());
                self.extend(&bytes)
            }
            TcpOption::AccEcn1(counters) => {
                let len = 2 + 3 * counters.len();
                if self.len + len > MAX_OPTIONS {
                    return Err(EmitError::TooLong);
                }
                self.extend(&[ACCECN1, len as u8])?;
                for counter in counters {
                    let [_, low @ ..] = counter.to_be_bytes();
                    self.extend(&low)?;
                }
                Ok(())
            }
        }
    }

    /// Bytes of the options, padded with the option "end of option list" to a multiple of 4.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len.next_multiple_of(4)]
    }

    #[inline]
    fn extend(&mut self, bytes: &[u8]) -> Result<(), EmitError> {
        let end = self.len + bytes.len();
        let room = self.bytes.get_mut(self.len..end);
        room.ok_or(EmitError::TooLong)?.copy_from_slice(bytes);
        self.len = end;
        Ok(())
    }
}

impl<'a> Tcp<'a> {
    /// Timestamp value and timestamp echo reply (RFC 7323, 3.2).
    #[inline]
    pub fn timestamps(&self) -> Option<(u32, u32)> {
        // Fast path for the layout that RFC 7323, appendix A, recommends and nearly all segments have, read in words.
        if let Some(options) = self.options.first_chunk::<12>()
            && let ([layout, value, echo], []) = options.as_chunks::<4>()
            && *layout == [NO_OPERATION, NO_OPERATION, TIMESTAMPS, 10]
        {
            return Some((u32::from_be_bytes(*value), u32::from_be_bytes(*echo)));
        }
        match *self.option(TIMESTAMPS)? {
            [a, b, c, d, e, f, g, h] => Some((u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h]))),
            _ => None,
        }
    }

    /// Left and right edges of the selective acknowledgement blocks (RFC 2018, 3), in order of appearance. The first
    /// block reports a duplicate (DSACK) if it is below the acknowledgement number or within the second block (RFC
    /// 2883, 4).
    #[inline]
    pub fn sack_blocks(&self) -> impl Iterator<Item = (u32, u32)> + 'a {
        let (blocks, _) = self.option(SACK).unwrap_or_default().as_chunks();
        blocks
            .iter()
            .map(|&[a, b, c, d, e, f, g, h]| (u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h])))
    }

    /// Counters of the option Accurate ECN in order 1: bytes that arrived with ECT(1), CE and ECT(0), modulo 2^24, as
    /// many as are there (RFC 9768, 3.2.3).
    pub fn accecn1(&self) -> Option<impl Iterator<Item = u32> + 'a> {
        let (counters, _) = self.option(ACCECN1)?.as_chunks();
        Some(counters.iter().map(|&[a, b, c]| u32::from_be_bytes([0, a, b, c])))
    }

    /// Maximum segment size that the sender accepts, bytes (RFC 9293, 3.7.1).
    pub fn mss(&self) -> Option<u16> {
        match *self.option(MSS)? {
            [a, b] => Some(u16::from_be_bytes([a, b])),
            _ => None,
        }
    }

    /// Shift count of the sender's window as in the header, not limited to 14 (RFC 7323, 2.2).
    pub fn window_scale(&self) -> Option<u8> {
        match *self.option(WINDOW_SCALE)? {
            [shift] => Some(shift),
            _ => None,
        }
    }

    /// Whether there is an option of this kind (IANA, TCP Option Kind Numbers).
    pub fn has_option(&self, kind: u8) -> bool {
        self.option(kind).is_some()
    }

    /// Value of the first option of a kind; `None` if it is missing or cut, or follows an option of invalid length.
    fn option(&self, wanted: u8) -> Option<&'a [u8]> {
        let mut rest = self.options;
        loop {
            match *rest {
                [] | [END, ..] => return None,
                [NO_OPERATION, ref after @ ..] => rest = after,
                [kind, len, ref after @ ..] => {
                    let (value, after) = after.split_at_checked(usize::from(len).checked_sub(2)?)?;
                    if kind == wanted {
                        return Some(value);
                    }
                    rest = after;
                }
                [_] => return None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TcpFlags;

    fn with_options(options: &[u8]) -> Tcp<'_> {
        Tcp {
            src_port: 1,
            dst_port: 2,
            seq: 3,
            ack: 4,
            flags: TcpFlags::ACK,
            window: 5,
            payload_len: 0,
            options,
            payload: &[],
        }
    }

    const SYN_OF_LINUX: &[u8] = &[2, 4, 0x05, 0xb4, 4, 2, 8, 10, 0, 0, 1, 2, 0, 0, 0, 0, 1, 3, 3, 7];

    #[test]
    fn options_of_a_syn() {
        let tcp = with_options(SYN_OF_LINUX);
        assert_eq!(tcp.mss(), Some(1460));
        assert_eq!(tcp.timestamps(), Some((0x102, 0)));
        assert_eq!(tcp.window_scale(), Some(7));
        assert_eq!(tcp.sack_blocks().count(), 0);
    }

    #[test]
    fn timestamps_in_the_common_layout_and_in_any_other() {
        let value = [8, 10, 0, 0, 0, 7, 0, 0, 0, 9];
        for before in [&[1, 1][..], &[], &[1], &[1, 1, 1], &[4, 2]] {
            let options = [before, &value].concat();
            assert_eq!(with_options(&options).timestamps(), Some((7, 9)), "{before:?}");
        }
    }

    #[test]
    fn sack_blocks_come_in_their_order() {
        let options = [1, 1, 5, 18, 0, 0, 0, 1, 0, 0, 0, 2, 0xff, 0, 0, 0, 0xff, 0, 0, 1];
        let blocks: Vec<_> = with_options(&options).sack_blocks().collect();
        assert_eq!(blocks, [(1, 2), (0xff00_0000, 0xff00_0001)]);
    }

    #[test]
    fn counters_of_accurate_ecn_are_read_as_written() {
        for counters in [&[][..], &[1], &[1, 0x00ab_cdef, 0x00ff_ffff]] {
            let options = TcpOptions::new(&[TcpOption::AccEcn1(counters)]).unwrap();
            let read = with_options(options.as_bytes()).accecn1().unwrap();
            assert_eq!(read.collect::<Vec<_>>(), counters);
        }
        let many = TcpOptions::new(&[TcpOption::AccEcn1(&[0; 13])]);
        assert_eq!(many, Err(EmitError::TooLong));
        assert!(with_options(SYN_OF_LINUX).accecn1().is_none());
    }

    #[test]
    fn every_cut_of_the_options_yields_nothing_or_the_same() {
        for len in 0..SYN_OF_LINUX.len() {
            let tcp = with_options(&SYN_OF_LINUX[..len]);
            assert_eq!(tcp.mss(), (len >= 4).then_some(1460));
            assert_eq!(tcp.timestamps(), (len >= 16).then_some((0x102, 0)));
            assert_eq!(tcp.window_scale(), None);
        }
    }

    #[test]
    fn what_follows_the_end_or_an_impossible_length_does_not_count() {
        assert_eq!(with_options(&[0, 2, 4, 5, 0xb4]).mss(), None);
        assert_eq!(with_options(&[8, 1, 2, 4, 5, 0xb4]).mss(), None);
        assert_eq!(with_options(&[8, 0, 2, 4, 5, 0xb4]).mss(), None);
        assert_eq!(with_options(&[2, 3, 5]).mss(), None);
        assert_eq!(with_options(&[8, 4, 1, 2]).timestamps(), None);
    }
}
