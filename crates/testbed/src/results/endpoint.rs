//! TCP state of one end of a connection, reconstructed from packets: segments sent, acknowledgements received, RTT
//! samples.

use super::frames::Segment;
use gentle_tcp::Stats;
use gentle_units::{Instant, Nanos};
use std::collections::BTreeMap;

/// Range of the sequence space that was sent as one segment.
#[derive(Debug, Clone, Copy)]
struct Piece {
    end: u64,
    last: Instant,
    retransmitted: bool,
    sacked: bool,
}

/// State of one end.
#[derive(Debug, Default)]
pub(super) struct Endpoint {
    /// Initial sequence number; offsets count from it.
    isn: Option<u32>,
    /// Offset of the next byte to send; everything below has been sent.
    next: u64,
    /// Offset of the first unacknowledged byte.
    una: u64,
    /// Segments sent and not yet acknowledged, by start offset.
    pieces: BTreeMap<u64, Piece>,
    /// A timestamp of this end's clock (RFC 7323, milliseconds) and the time at which it was sent.
    clock: Option<(u32, Instant)>,
    stats: Stats,
}

impl Endpoint {
    pub(super) fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Whether the SYN of this end had the sequence number `seq`.
    pub(super) fn began_with(&self, seq: u32) -> bool {
        self.isn == Some(seq)
    }

    /// Accounts for a segment sent by this end.
    pub(super) fn sends(&mut self, now: Instant, segment: &Segment) {
        if segment.syn && self.isn.is_none() {
            self.isn = Some(segment.seq);
            self.clock = segment.stamps.map(|(stamp, _)| (stamp, now));
        }
        let length = u64::from(segment.length());
        if length == 0 {
            return;
        }
        let Some(start) = self.offset(segment.seq, self.next) else {
            return;
        };
        let end = start + length;
        let retransmitted = start < self.next;
        self.stats.segments_sent += 1;
        if segment.syn {
            self.stats.syn_sent += 1;
        }
        if retransmitted {
            self.stats.segments_retransmitted += 1;
            let before = self.pieces.range(..=start).next_back();
            let before = before.map(|(_, piece)| piece).filter(|piece| piece.end > start);
            let previous = before.map_or(now, |piece| piece.last);
            if segment.syn {
                self.stats.syn_retransmitted += 1;
                self.stats.waits.add_handshake(previous, now);
            } else {
                self.stats.waits.add(previous, now);
            }
        }
        self.pieces.insert(start, Piece { end, last: now, retransmitted, sacked: false });
        self.next = self.next.max(end);
    }

    /// Accounts for a segment received from the other end, and takes the RTT sample that Linux would take
    /// (`tcp_ack_update_rtt`): from newly acknowledged data, else from newly SACKed data, else from the echoed
    /// timestamp.
    pub(super) fn receives(&mut self, now: Instant, segment: &Segment) {
        let selective = self.take_sacks(now, segment);
        let ack = segment.ack.and_then(|ack| self.offset(ack, self.una));
        let new = ack.filter(|ack| (self.una + 1..=self.next).contains(ack));
        let cumulative = new.and_then(|ack| self.take_ack(now, ack));
        let echoed = || new.and_then(|_| self.echoed(now, segment));
        if let Some(sample) = cumulative.or(selective).or_else(echoed) {
            self.stats.rtt_samples += 1;
            self.stats.rtt_sum += sample;
        }
    }

    fn take_ack(&mut self, now: Instant, ack: u64) -> Option<Nanos> {
        self.una = ack;
        let mut first = None;
        let mut retransmitted = false;
        while let Some(entry) = self.pieces.first_entry()
            && entry.get().end <= ack
        {
            let piece = entry.remove();
            // Karn's algorithm: a retransmitted segment gives no sample (RFC 6298, section 3).
            retransmitted |= piece.retransmitted;
            if !piece.sacked {
                first.get_or_insert(piece.last);
            }
        }
        let sent = first.filter(|_| !retransmitted)?;
        Some(now.saturating_since(sent))
    }

    fn take_sacks(&mut self, now: Instant, segment: &Segment) -> Option<Nanos> {
        let mut first: Option<Instant> = None;
        for (left, right) in &segment.sacks {
            let left = self.offset(*left, self.una)?;
            let right = self.offset(*right, self.una)?;
            if left < self.una || right > self.next || left >= right {
                continue;
            }
            for (_, piece) in self.pieces.range_mut(left..right) {
                if piece.end <= right && !piece.sacked {
                    piece.sacked = true;
                    if !piece.retransmitted {
                        first = Some(first.map_or(piece.last, |first| first.min(piece.last)));
                    }
                }
            }
        }
        Some(now.saturating_since(first?))
    }

    fn echoed(&self, now: Instant, segment: &Segment) -> Option<Nanos> {
        let (stamp, at) = self.clock?;
        let (_, echo) = segment.stamps?;
        let sent = at + Nanos::from_millis(u64::from(echo.wrapping_sub(stamp)));
        Some(now.saturating_since(sent).max(Nanos::from_millis(1)))
    }

    /// Bytes sent by this end, without its SYN, that `segment` from the other end acknowledges.
    pub(super) fn acknowledged(&self, segment: &Segment) -> u64 {
        let ack = segment.ack.and_then(|ack| self.offset(ack, self.next));
        ack.map_or(0, |ack| ack.saturating_sub(1))
    }

    /// Offset of sequence number `seq` from the SYN; `near` is a nearby offset that resolves wrap-around.
    fn offset(&self, seq: u32, near: u64) -> Option<u64> {
        let low = seq.wrapping_sub(self.isn?);
        let distance = low.wrapping_sub(near as u32).cast_signed();
        near.checked_add_signed(i64::from(distance))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gentle_tcp::Waits;

    fn segment(seq: u32, payload: u32, syn: bool) -> Segment {
        Segment {
            src_port: 10_000,
            dst_port: 9,
            seq,
            ack: None,
            syn,
            fin: false,
            payload,
            sacks: Vec::new(),
            stamps: None,
        }
    }

    fn ack(number: u32) -> Segment {
        Segment { ack: Some(number), ..segment(0, 0, false) }
    }

    #[test]
    fn retransmissions_and_round_trips_are_counted_across_the_wrap() {
        let (at, ms) = (Instant::from_millis, Nanos::from_millis);
        let isn = u32::MAX - 1000;
        let mut end = Endpoint::default();
        end.sends(at(0), &segment(isn, 0, true));
        end.sends(at(3000), &segment(isn, 0, true));
        end.receives(at(3100), &ack(isn.wrapping_add(1)));
        assert_eq!(end.stats.rtt_samples, 0);
        end.sends(at(3100), &segment(isn.wrapping_add(1), 1448, false));
        end.sends(at(3110), &segment(isn.wrapping_add(1449), 1448, false));
        end.receives(at(3200), &ack(isn.wrapping_add(1449)));
        end.sends(at(3500), &segment(isn.wrapping_add(1449), 1448, false));
        end.receives(at(3600), &ack(isn.wrapping_add(2897)));
        let mut waits = Waits::default();
        waits.add_handshake(at(0), at(3000));
        waits.add(at(3110), at(3500));
        let expected = Stats {
            segments_sent: 5,
            segments_retransmitted: 2,
            syn_sent: 2,
            syn_retransmitted: 1,
            waits,
            rtt_samples: 1,
            rtt_sum: ms(100),
            ..Stats::default()
        };
        assert_eq!(end.stats, expected);
        assert!(end.pieces.is_empty());
    }

    #[test]
    fn selective_acknowledgements_and_echoes_give_samples_too() {
        let (at, ms) = (Instant::from_millis, Nanos::from_millis);
        let mut end = Endpoint::default();
        let stamped = |mut segment: Segment, stamps| {
            segment.stamps = Some(stamps);
            segment
        };
        end.sends(at(0), &stamped(segment(0, 0, true), (500, 0)));
        end.receives(at(100), &ack(1));
        for piece in 0..3 {
            end.sends(at(100), &segment(1 + piece * 1000, 1000, false));
        }
        let mut hole = ack(1);
        hole.sacks = vec![(1001, 2001)];
        end.receives(at(210), &hole);
        assert_eq!(end.stats.rtt_sum, ms(210));
        // A repeated SACK gives no new sample.
        end.receives(at(211), &hole);
        assert_eq!(end.stats.rtt_samples, 2);
        end.sends(at(300), &segment(1, 1000, false));
        // Karn's algorithm forbids a sample, but the echo is of a segment sent at 300 ms.
        end.receives(at(420), &stamped(ack(2001), (0, 800)));
        assert_eq!(end.stats.rtt_samples, 3);
        assert_eq!(end.stats.rtt_sum, ms(330));
    }
}
