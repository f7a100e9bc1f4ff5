//! What was sent of a handshake, and what came back: the evidence by which [`judge`](super::judge) tells why something was
//! sent again.

use super::clock::Tick;
use super::seq::after;
use crate::connections::{CLIENT, SERVER};
use crate::segment::Segment;
use gentle_units::Nanos;
use gentle_wire::TcpFlags;

/// Transmissions of a SYN or a SYN/ACK that are kept; where there are more, the newest takes the place of the last one.
pub(super) const KEPT: usize = 8;

/// A SYN or SYN/ACK as it passed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Transmission {
    pub(super) at: Tick,
    /// Low half of its TCP time stamp and of the one it echoes; zero without.
    pub(super) stamp: u16,
    pub(super) echo: u16,
    /// How many SYN/ACKs had passed before this SYN, or SYNs before this SYN/ACK.
    pub(super) others_before: u16,
    /// Of a SYN: the one before it was answered by an RST or an ICMP message. Of a SYN/ACK: the handshake's ACK had passed.
    pub(super) settled: bool,
    /// Of a SYN/ACK: a SYN had passed since the SYN/ACK before it, or it has other numbers than the first.
    pub(super) asked_for: bool,
}

/// Those of one side, the first one first.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Transmissions {
    kept: [Transmission; KEPT],
    /// How many there were.
    all: u16,
    /// For how many the last one kept stands, those asked for aside.
    last_stands_for: u16,
}

impl Transmissions {
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

    /// Those kept.
    pub(super) fn kept(&self) -> &[Transmission] {
        &self.kept[..usize::from(self.all).min(KEPT)]
    }

    /// For how many transmissions number `at` of [`Transmissions::kept`] stands.
    pub(super) fn weight(&self, at: usize) -> u32 {
        if at + 1 == KEPT {
            self.last_stands_for.into()
        } else {
            1
        }
    }
}

/// The first segment by which the client showed that it had an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) at: Tick,
    /// Low half of the time stamp that it echoes; zero without.
    pub(super) echo: u16,
    /// When the client said the same again, without data.
    pub(super) again: Option<Tick>,
}

/// How long a side's first data after the handshake took to be acknowledged.
#[derive(Debug, Clone, Copy, Default)]
struct RoundTrip {
    /// The data under way: its end, and when it passed.
    timing: Option<(u32, Tick)>,
    took: Option<Nanos>,
}

/// A handshake of which something was sent again.
#[derive(Debug, Clone, Default)]
pub(crate) struct Exchange {
    /// SYNs and SYN/ACKs, once one of either came again.
    pub(super) sent: [Transmissions; 2],
    pub(super) answer: Option<Answer>,
    round_trips: [RoundTrip; 2],
    /// Which side sent data first when a SYN/ACK had come again behind the client's ACK.
    pub(super) spoke: Option<u8>,
    /// The client had data under way when a SYN/ACK came again behind its ACK.
    pub(super) client_waits: bool,
}

impl Exchange {
    /// Whether anything came again.
    pub(super) fn is_used(&self) -> bool {
        self.sent.iter().any(|sent| sent.all > 0)
    }

    /// A SYN (of the client) or SYN/ACK (of the server) passes; `settled` and `asked_for` as in [`Transmission`].
    pub(super) fn sent(&mut self, side: usize, transmission: Transmission) {
        let others_before = self.sent[1 - side].all;
        self.sent[side].push(Transmission {
            others_before,
            ..transmission
        });
    }

    /// The client went on, by a segment that passed at `at`.
    pub(super) fn answered(&mut self, at: Tick, echo: u16) {
        self.answer.get_or_insert(Answer {
            at,
            echo,
            again: None,
        });
    }

    /// How long data of `side` took to the other side and back, without retransmission.
    pub(super) fn round_trip(&self, side: usize) -> Option<Nanos> {
        self.round_trips[side].took
    }

    /// A segment without SYN passes, of `side`, whose sequence space began at `isn`.
    pub(super) fn other(&mut self, side: usize, segment: &Segment, isns: [u32; 2]) {
        let now = Tick::at(segment.time);
        let other = &mut self.round_trips[1 - side];
        if let Some((end, at)) = other.timing
            && segment.flags().any(TcpFlags::ACK)
            && !after(end, segment.ack)
        {
            other.took.get_or_insert(now.since(at));
            other.timing = None;
        }
        if segment.span() == 0 {
            if side == CLIENT
                && segment.ack == isns[SERVER].wrapping_add(1)
                && let Some(answer) = &mut self.answer
                && answer.at != now
            {
                answer.again.get_or_insert(now);
            }
            return;
        }
        if self.spoke.is_none() {
            self.spoke = Some(side as u8);
        }
        let own = &mut self.round_trips[side];
        let end = segment.seq.wrapping_add(segment.span());
        own.timing = match own.timing {
            // Sent again, its acknowledgement may be one of either (Karn's algorithm; RFC 6298, 3).
            Some((timed, _)) if after(timed, segment.seq) => None,
            None if own.took.is_none() => Some((end, now)),
            timing => timing,
        };
    }

    /// A SYN/ACK came again behind the client's ACK; `spoken` says that data has passed before, and `client_waits` that some
    /// of the client's is not acknowledged.
    pub(super) fn put_off(&mut self, spoken: bool, client_waits: bool) {
        self.client_waits |= client_waits;
        self.spoke = spoken.then_some(CLIENT as u8);
    }
}
