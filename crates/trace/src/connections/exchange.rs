//! Record of a handshake with retransmissions: transmissions and answers, from which [`classify`](super::classify)
//! infers why each retransmission was sent.

use super::compact_time::CompactTime;
use super::paths::PathState;
use crate::segment::{Segment, SynExtras, after};
use gentle_units::{Instant, Nanos};
use gentle_wire::TcpFlags;

/// Index of the initiator, the side that opens the connection.
pub(crate) const CLIENT: usize = 0;
/// Index of the responder.
pub(crate) const SERVER: usize = 1;

/// Largest number of transmissions kept per endpoint; beyond it, the newest replaces the last.
pub(super) const KEPT: usize = 8;

/// Longest time for which a program works before it sends its greeting, where nothing is known about it.
const LONGEST_GREETING: Nanos = Nanos::from_millis(100);

/// Segment after a SYN or its SYN/ACK which explains why the client sends the SYN again without waiting for a timer, and
/// shows that the SYN was not lost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Reply {
    /// None seen.
    #[default]
    None,
    /// An RST or an ICMP message refused the SYN.
    Refusal,
    /// The server acknowledged another connection with the same addresses and ports (RFC 9293, 3.10.7.4; RFC 5961, 4), or
    /// an older SYN.
    Challenge,
    /// The client answered the SYN/ACK with an RST.
    Reset,
}

/// SYN or SYN/ACK seen at the capture point.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Transmission {
    pub(super) at: CompactTime,
    /// Low 16 bits of the timestamp value (TSval); `echo`: of the timestamp echo (TSecr); zero without timestamps.
    pub(super) stamp: u16,
    pub(super) echo: u16,
    /// Number of SYN/ACKs seen before this SYN, or of SYNs before this SYN/ACK.
    pub(super) others_before: u16,
    /// For a SYN: what the previous one was answered with, other than a SYN/ACK.
    pub(super) reply: Reply,
    /// For a SYN: what middleboxes may drop it for.
    pub(super) extras: SynExtras,
    /// The handshake's ACK had been seen.
    pub(super) settled: bool,
    /// For a SYN/ACK: a SYN was seen since the previous SYN/ACK, or its numbers differ from the first SYN/ACK's.
    pub(super) asked_for: bool,
    /// State of the path when the previous transmission passed; unknown for the first one.
    pub(super) path: PathState,
}

impl Transmission {
    /// SYN or SYN/ACK, without what follows from segments before it.
    pub(super) fn of(segment: &Segment) -> Transmission {
        Transmission {
            at: CompactTime::at(segment.time),
            stamp: segment.timestamp.0 as u16,
            echo: segment.timestamp.1 as u16,
            ..Transmission::default()
        }
    }
}

/// SYNs or SYN/ACKs of one endpoint, in the order seen.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Transmissions {
    kept: [Transmission; KEPT],
    /// Number of transmissions, kept or not.
    all: u16,
    /// Number of transmissions that the last one kept represents, without those that are `asked_for`.
    last_stands_for: u16,
}

impl Transmissions {
    /// Adds a transmission.
    fn push(&mut self, transmission: Transmission) {
        let at = usize::from(self.all).min(KEPT - 1);
        if usize::from(self.all) < KEPT || !transmission.asked_for {
            self.kept[at] = transmission;
        }
        if at == KEPT - 1 && !transmission.asked_for {
            self.last_stands_for = self.last_stands_for.saturating_add(1);
        }
        self.all = self.all.saturating_add(1);
    }

    /// The transmissions kept, in the order seen.
    pub(super) fn kept(&self) -> &[Transmission] {
        &self.kept[..usize::from(self.all).min(KEPT)]
    }

    /// Number of transmissions that number `at` of [`Transmissions::kept`] represents.
    pub(super) fn weight(&self, at: usize) -> u32 {
        if at + 1 == KEPT { self.last_stands_for.into() } else { 1 }
    }
}

/// Last of the first `n` transmissions.
pub(super) fn before(sent: &[Transmission], n: u16) -> Option<&Transmission> {
    sent[..usize::from(n).min(sent.len())].last()
}

/// First segment which shows that the client had received an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) at: CompactTime,
    /// Low 16 bits of the timestamp echo (TSecr); zero without timestamps.
    pub(super) echo: u16,
    /// Whether it is nothing but an acknowledgement, which a client sends at once.
    pub(super) is_plain: bool,
    /// Time at which the client repeated the acknowledgement without data.
    pub(super) again: Option<CompactTime>,
    /// Number of acknowledgements of the SYN/ACK: this one, and those repeated without data until the server sent data.
    pub(super) count: u16,
}

/// Round-trip time measured from an endpoint's first data after the handshake to its acknowledgement.
#[derive(Debug, Clone, Copy, Default)]
struct RoundTrip {
    /// Data being timed: sequence number of its end, and time seen.
    timing: Option<(u32, CompactTime)>,
    took: Option<Nanos>,
}

/// Record of a handshake in which a SYN or SYN/ACK was retransmitted.
#[derive(Debug, Clone, Default)]
pub(crate) struct Exchange {
    /// SYNs and SYN/ACKs; empty until the first retransmission of either.
    pub(super) sent: [Transmissions; 2],
    pub(super) answer: Option<Answer>,
    round_trips: [RoundTrip; 2],
    /// Side that sent the first data or FIN, unless the server did so late. If a SYN/ACK is retransmitted after the client's
    /// ACK: the client if any data was seen before, else the first side that sends afterwards.
    pub(super) first_sender: Option<u8>,
    /// The client had unacknowledged data when a SYN/ACK was retransmitted after its ACK.
    pub(super) client_waits: bool,
    /// The server has sent data; if some was lost, the client repeats its acknowledgement for each segment after it.
    server_sent_data: bool,
}

impl Exchange {
    /// Whether a SYN or SYN/ACK was retransmitted.
    pub(super) fn is_used(&self) -> bool {
        self.sent.iter().any(|sent| sent.all > 0)
    }

    /// Whether SYNs that were held up passed after the client's ACK, and not all of them have been answered.
    pub(super) fn lacks_answers(&self) -> bool {
        let [syns, synacks] = &self.sent;
        syns.kept().last().is_some_and(|last| last.settled) && synacks.all < syns.all
    }

    /// Whether the client acknowledged each SYN/ACK, so none was lost: a host answers a SYN/ACK that it has received before
    /// with another ACK (RFC 9293, 3.10.7.4; RFC 5961, 4).
    pub(super) fn is_each_synack_acknowledged(&self) -> bool {
        self.answer.is_some_and(|answer| answer.count >= self.sent[SERVER].all)
    }

    /// Whether `side` has sent a SYN or SYN/ACK with this timestamp.
    pub(super) fn has_stamp(&self, side: usize, stamp: u16) -> bool {
        let mut sent = self.sent[side].kept().iter();
        stamp != 0 && sent.any(|it| it.stamp == stamp)
    }

    /// Records a SYN (side client) or SYN/ACK (side server).
    pub(super) fn record_handshake(&mut self, side: usize, transmission: Transmission) {
        let others_before = self.sent[1 - side].all;
        self.sent[side].push(Transmission { others_before, ..transmission });
    }

    /// Time from the previous transmission of `side` to its newest one, at `now`, and the place for the state of its path.
    pub(super) fn repetition(&mut self, side: usize, now: Instant) -> Option<(Nanos, &mut PathState)> {
        let kept = usize::from(self.sent[side].all).min(KEPT);
        match &mut self.sent[side].kept[..kept] {
            [.., previous, newest] if newest.at == CompactTime::at(now) => {
                Some((newest.at.since(previous.at), &mut newest.path))
            }
            _ => None,
        }
    }

    /// Marks repeated SYN/ACKs as sent after the client's ACK, which was not captured.
    pub(super) fn settle(&mut self) {
        self.sent[SERVER].kept.iter_mut().skip(1).for_each(|synack| synack.settled = true);
    }

    /// Number of repetitions of the SYN or SYN/ACK of `side`.
    pub(super) fn repetitions(&self, side: usize) -> u16 {
        self.sent[side].all.saturating_sub(1)
    }

    /// Whether the client repeated its SYN after the newest SYN/ACK, so that it received none.
    pub(super) fn is_asked_again(&self) -> bool {
        let synacks = self.sent[SERVER].all;
        synacks > 0 && self.sent[CLIENT].kept().last().is_some_and(|syn| syn.others_before >= synacks)
    }

    /// Time from the newest transmission to `now`, and to it from the one before it of the same side.
    pub(super) fn newest(&self, now: Instant) -> (Nanos, Nanos) {
        let now = CompactTime::at(now);
        let of_side = |sent: &Transmissions| {
            let (newest, earlier) = sent.kept().split_last()?;
            let gap = earlier.last().map_or(Nanos::ZERO, |earlier| newest.at.since(earlier.at));
            Some((now.since(newest.at), gap))
        };
        self.sent.iter().filter_map(of_side).min_by_key(|(since, _)| *since).unwrap_or_default()
    }

    /// Records the first segment, seen at `at`, which shows that the client had received an answer.
    pub(super) fn record_answer(&mut self, at: CompactTime, echo: u16, is_plain: bool) {
        self.answer.get_or_insert(Answer { at, echo, is_plain, again: None, count: 1 });
    }

    /// Round-trip time of data of `side` between capture point and the other side, measured without retransmission.
    pub(super) fn round_trip(&self, side: usize) -> Option<Nanos> {
        self.round_trips[side].took
    }

    /// Records a segment of `side` without SYN; `isns` are the initial sequence numbers of both sides.
    pub(super) fn record_other(&mut self, side: usize, segment: &Segment, isns: [u32; 2]) {
        let now = CompactTime::at(segment.time);
        let other = &mut self.round_trips[1 - side];
        if let Some((end, at)) = other.timing
            && segment.flags().any(TcpFlags::ACK)
            && !after(end, segment.ack)
        {
            other.took.get_or_insert(now.since(at));
            other.timing = None;
        }
        if segment.seq_len() == 0 {
            if side == CLIENT
                && segment.ack == isns[SERVER].wrapping_add(1)
                && let Some(answer) = &mut self.answer
                && answer.at != now
            {
                answer.again.get_or_insert(now);
                if !self.server_sent_data {
                    answer.count = answer.count.saturating_add(1);
                }
            }
            return;
        }
        self.server_sent_data |= side == SERVER && segment.payload_len > 0;
        let patience = match segment.payload_len {
            0 => Nanos::ZERO,
            _ => LONGEST_GREETING,
        };
        let is_first = side == CLIENT || self.follows_at_once(now, patience);
        if self.first_sender.is_none() && is_first {
            self.first_sender = Some(side as u8);
        }
        let own = &mut self.round_trips[side];
        let end = segment.seq.wrapping_add(segment.seq_len());
        own.timing = match own.timing {
            // After a retransmission, the acknowledgement is ambiguous (Karn's algorithm; RFC 6298, 3).
            Some((timed, _)) if after(timed, segment.seq) => None,
            None if own.took.is_none() => Some((end, now)),
            timing => timing,
        };
    }

    /// Whether data or a FIN, which the server sends at `now`, comes from a program that accepted the connection and sent or
    /// closed at once: within two round trips and `patience` of the last SYN/ACK. Later, a server that defers the client
    /// (`TCP_DEFER_ACCEPT`) has given up waiting for its data, which it may say (HTTP status 408).
    fn follows_at_once(&self, now: CompactTime, patience: Nanos) -> bool {
        let [syns, synacks] = self.sent.each_ref().map(Transmissions::kept);
        let (Some(first), Some(last), Some(answer)) = (synacks.first(), synacks.last(), self.answer) else {
            return true;
        };
        // Without the timeouts before the first SYN/ACK, and between the first and the one that was answered.
        let syn = before(syns, first.others_before).map_or(first.at, |syn| syn.at);
        let answered = synacks.iter().rev().find(|synack| !synack.settled);
        let client = answer.at.since(answered.unwrap_or(first).at);
        let round_trip = first.at.since(syn) + client;
        now.since(last.at) <= Nanos(round_trip.0.saturating_mul(2)) + patience
    }

    /// Records a SYN/ACK retransmitted after the client's ACK; `data_seen`: data had been seen before it;
    /// `client_waits`: some of the client's data was unacknowledged.
    pub(super) fn deferred(&mut self, data_seen: bool, client_waits: bool) {
        self.client_waits |= client_waits;
        self.first_sender = data_seen.then_some(CLIENT as u8);
    }
}
