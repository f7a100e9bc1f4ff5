//! Search for a queued TCP ACK that a later one of its flow makes redundant (Linux: `cake_ack_filter`).

use crate::plumbing::packet::TcpHeader;

/// Whether redundant ACKs are dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AckFilter {
    /// No ACK is dropped.
    Off,
    /// An ACK is dropped if two or more could be, so that one of them remains.
    On,
    /// An ACK is dropped even if it is the only one, when the new one follows it at once.
    Aggressive,
}

/// Words of the option, in the order of tc-cake(8).
pub(super) const WORDS: &[&str] = &["no-ack-filter", "ack-filter", "ack-filter-aggressive"];

impl AckFilter {
    /// The filter that one of [`WORDS`] stands for.
    pub(super) fn named(word: &str) -> AckFilter {
        match word {
            "ack-filter" => AckFilter::On,
            "ack-filter-aggressive" => AckFilter::Aggressive,
            _ => AckFilter::Off,
        }
    }

    /// The place of the ACK that `arrived` makes redundant. `queued` has the TCP segments of its flow in the same
    /// queue, from head to tail, each with its place and with whether `arrived` comes right after it.
    pub(super) fn redundant<T>(
        self,
        arrived: &TcpHeader,
        queued: impl Iterator<Item = (T, TcpHeader, bool)>,
    ) -> Option<T> {
        if arrived.flags & (TcpHeader::ACK | TcpHeader::SYN) != TcpHeader::ACK {
            return None;
        }
        // The candidate, and whether the new ACK follows it at once.
        let mut first: Option<(T, bool)> = None;
        let mut echoed = 0;
        for (place, header, is_last) in queued {
            // The last ACK before a change of ECN's flags reports the change.
            if first.is_some() && ecn_flags(&header) != echoed {
                first = None;
            }
            if !is_pure_ack(&header, arrived) || !acknowledges_more(arrived, &header) {
                continue;
            }
            if first.is_some() {
                return first.map(|(place, _)| place);
            }
            first = Some((place, is_last));
            echoed = ecn_flags(&header);
        }
        let (place, is_last) = first?;
        let drops = self == AckFilter::Aggressive && is_last && echoed == ecn_flags(arrived);
        drops.then_some(place)
    }
}

fn ecn_flags(header: &TcpHeader) -> u16 {
    header.flags & (TcpHeader::ECE | TcpHeader::CWR)
}

/// True if `header` is an ACK without payload, and carries only information that `arrived` may carry as well.
fn is_pure_ack(header: &TcpHeader, arrived: &TcpHeader) -> bool {
    // All control bits and reserved bits except ECN's.
    const OTHERS: u16 = 0xfff & !(TcpHeader::ECE | TcpHeader::CWR);
    let (value, echo) = arrived.timestamps.unwrap_or_default();
    let is_newer = |(own_value, own_echo)| after(own_value, value) || after(own_echo, echo);
    header.flags & OTHERS == TcpHeader::ACK
        && !header.has_payload
        && !header.has_other_options
        && !header.timestamps.is_some_and(is_newer)
        && !after(header.ack, arrived.ack)
}

/// True if `arrived` acknowledges all that `header` does, and more.
fn acknowledges_more(arrived: &TcpHeader, header: &TcpHeader) -> bool {
    match selective(header, arrived) {
        Selective::Missing => false,
        Selective::Equal => header.ack != arrived.ack,
        Selective::More => true,
    }
}

/// Comparison of the SACK blocks of a later segment with an earlier one's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Selective {
    /// Some block of the earlier one is missing.
    Missing,
    /// Equally many bytes.
    Equal,
    /// More bytes.
    More,
}

/// Compares the SACK blocks of `earlier` and `later` (Linux: `cake_tcph_sack_compare`).
fn selective(earlier: &TcpHeader, later: &TcpHeader) -> Selective {
    let (old, new) = (earlier.sack_blocks(), later.sack_blocks());
    match (old.is_empty(), new.is_empty()) {
        (true, true) => return Selective::Equal,
        (true, false) => return Selective::More,
        (false, true) => return Selective::Missing,
        (false, false) => {}
    }
    for (left, right) in old {
        // A duplicate SACK (RFC 2883) is reported only once.
        let is_duplicate = after(earlier.ack, *left);
        let covers = |block: &&(u32, u32)| !after(block.0, *left) && !after(*right, block.1);
        if is_duplicate || !new.iter().any(|block| covers(&block)) {
            return Selective::Missing;
        }
    }
    let bytes = |blocks: &[(u32, u32)]| {
        let lengths = blocks.iter().map(|(left, right)| right.wrapping_sub(*left));
        lengths.fold(0, u32::wrapping_add)
    };
    if bytes(new) > bytes(old) { Selective::More } else { Selective::Equal }
}

/// Whether `a` comes after `b` in the sequence space (RFC 9293, section 3.4).
fn after(a: u32, b: u32) -> bool {
    b.wrapping_sub(a).cast_signed() < 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ack(number: u32) -> TcpHeader {
        TcpHeader { flags: TcpHeader::ACK, ack: number, ..TcpHeader::default() }
    }

    fn with_sack(number: u32, blocks: &[(u32, u32)]) -> TcpHeader {
        let mut header = ack(number);
        header.sack[..blocks.len()].copy_from_slice(blocks);
        header.sack_count = blocks.len() as u8;
        header
    }

    fn dropped(filter: AckFilter, queue: &[TcpHeader]) -> Option<usize> {
        let (arrived, queued) = queue.split_last().expect("a segment");
        let places = queued.iter().enumerate();
        let segments = places.map(|(place, header)| (place, *header, place + 1 == queued.len()));
        filter.redundant(arrived, segments)
    }

    #[test]
    fn the_first_of_two_older_acks_is_dropped() {
        let acks = [ack(100), ack(200), ack(300)];
        assert_eq!(dropped(AckFilter::On, &acks), Some(0));
        assert_eq!(dropped(AckFilter::On, &acks[..2]), None);
        assert_eq!(dropped(AckFilter::Aggressive, &acks[..2]), Some(0));
        // Numbers wrap.
        let acks = [ack(u32::MAX - 5), ack(u32::MAX), ack(5)];
        assert_eq!(dropped(AckFilter::On, &acks), Some(0));
    }

    #[test]
    fn what_tells_more_than_the_later_ack_stays() {
        type Change = fn(&mut TcpHeader);
        let changes: [(&str, Change); 9] = [
            ("payload", |h| h.has_payload = true),
            ("FIN", |h| h.flags |= 1),
            ("SYN", |h| h.flags |= TcpHeader::SYN),
            ("a reserved bit", |h| h.flags |= 0x100),
            ("an option", |h| h.has_other_options = true),
            ("a later timestamp", |h| h.timestamps = Some((11, 0))),
            ("a later echo", |h| h.timestamps = Some((0, 21))),
            ("a later number", |h| h.ack = 301),
            ("a duplicate ACK", |h| h.ack = 300),
        ];
        for (what, change) in changes {
            let mut last = ack(300);
            last.timestamps = Some((10, 20));
            let mut acks = [ack(100), last];
            assert_eq!(dropped(AckFilter::Aggressive, &acks), Some(0), "{what}");
            change(&mut acks[0]);
            assert_eq!(dropped(AckFilter::Aggressive, &acks), None, "{what}");
        }
    }

    #[test]
    fn a_change_of_the_ecn_echo_is_not_lost() {
        let mut acks = [ack(100), ack(200), ack(300), ack(400)];
        acks[1].flags |= TcpHeader::ECE;
        // The first reports no mark up to 100, the second reports one.
        assert_eq!(dropped(AckFilter::On, &acks), None);
        assert_eq!(dropped(AckFilter::Aggressive, &acks), Some(2));
        acks[3].flags |= TcpHeader::ECE;
        assert_eq!(dropped(AckFilter::Aggressive, &acks), None);
    }

    #[test]
    fn sack_blocks_must_be_covered() {
        let (a, b, c) = ((500, 600), (700, 800), (650, 900));
        for (old, new, drops) in [
            (with_sack(100, &[a]), with_sack(100, &[a, b]), true),
            (with_sack(100, &[a, b]), with_sack(100, &[c, a]), true),
            (with_sack(100, &[a]), with_sack(100, &[a]), false),
            (with_sack(100, &[a]), with_sack(200, &[a]), true),
            (with_sack(100, &[a]), ack(200), false),
            (ack(100), with_sack(100, &[a]), true),
            (with_sack(100, &[a, b]), with_sack(200, &[b]), false),
            // A duplicate SACK.
            (with_sack(550, &[a, b]), with_sack(560, &[(400, 600), b]), false),
        ] {
            let found = dropped(AckFilter::Aggressive, &[old, new]);
            assert_eq!(found.is_some(), drops, "{old:?} {new:?}");
        }
    }
}
