//! Parts of a pcap file that were never written and consist of zeros, as a crash or a full disk leaves them.

use super::{Pcap, RECORD_HEADER};
use crate::read::WarningKind;
use crate::read::error::{Damage, Fault};
use crate::read::input::Input;
use std::io;

/// Number of bytes after the zeros that are searched for the next packet: four of the largest packets.
const SEARCHED: usize = 1024 * 1024;

/// Number of consecutive valid packets required to accept a position as the next packet, unless the file ends before.
const CHAINED: usize = 4;

/// Largest credible time between consecutive packets, seconds.
const APART: u32 = 86_400;

impl Pcap {
    /// Whether the record at the start, which has a length of zero, begins a range of zeros: the whole record is zero,
    /// or its end and the bytes after it are (writing may have ended within the record).
    pub(super) fn is_unwritten(&self, input: &mut Input) -> Result<bool, io::Error> {
        input.want(2 * RECORD_HEADER)?;
        let window = input.window();
        let is_zero = |bytes: &[u8]| bytes.iter().all(|&byte| byte == 0);
        let (record, behind) = window.split_at(RECORD_HEADER.min(window.len()));
        let behind = &behind[..RECORD_HEADER.min(behind.len())];
        Ok(is_zero(record) || (is_zero(&record[8..]) && !behind.is_empty() && is_zero(behind)))
    }

    /// Skips zeros and the rest of the packet in which they end; returns the warning about it.
    pub(super) fn pass_zeros(&self, input: &mut Input) -> Result<Box<Fault>, io::Error> {
        let offset = input.offset();
        // The written part of the first record is skipped with the zeros.
        input.take(RECORD_HEADER);
        let mut zeros = RECORD_HEADER as u64;
        loop {
            let window = input.window();
            let run = window.iter().take_while(|&&byte| byte == 0).count();
            let ends = run < window.len();
            // A record header may begin with zeros, so the last ones are kept, however few arrive at a time.
            let kept = run.min(RECORD_HEADER - 1);
            zeros += (run - kept) as u64;
            input.take(run - kept);
            if ends || !input.want(kept + 1)? {
                zeros += kept as u64;
                input.take(if ends { 0 } else { kept });
                break;
            }
        }
        input.want(SEARCHED)?;
        let left = input.window();
        let left = &left[..left.len().min(SEARCHED)];
        let found = (0..left.len()).find(|&at| self.continues(&left[at..]));
        let (kind, behind) = match found {
            _ if left.is_empty() => (WarningKind::Zeros, "up to the end of the file"),
            Some(at) => {
                input.take(at);
                (WarningKind::Zeros, "and further packets behind them")
            }
            None => (WarningKind::Corrupt, "and behind them nothing that looks like a packet"),
        };
        Ok(Box::new(Fault::Damage(Damage {
            kind,
            offset,
            expected: "a packet".into(),
            found: format!("{zeros} zeros, {behind}: this part was never written, as after a crash or on a full disk"),
        })))
    }

    /// Whether `window` begins with consecutive valid packets.
    fn continues(&self, mut window: &[u8]) -> bool {
        let mut before = None;
        for chained in 0..CHAINED {
            let Some(header) = window.first_chunk::<RECORD_HEADER>() else {
                return chained > 0 && window.is_empty();
            };
            let [seconds, fraction, len, original_len] = self.fields(header);
            let sound = seconds != 0
                && fraction < self.fractions
                && len > 0
                && len as usize <= self.max_len
                && len <= original_len
                && before.is_none_or(|before| seconds.abs_diff(before) <= APART);
            let Some(rest) = window.get(RECORD_HEADER + len as usize..).filter(|_| sound) else {
                return false;
            };
            before = Some(seconds);
            window = rest;
        }
        true
    }
}
