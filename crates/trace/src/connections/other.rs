//! Segments without SYN.

use super::clock::Span;
use super::connection::{CLIENT, Connection, HalfState, SERVER, State};
use super::half::Kind;
use super::table::NONE;
use super::window::Pool;
use super::{Connections, Farewell, seq};
use crate::measure::Tally;
use crate::segment::Segment;
use gentle_wire::{Address, TcpFlags};

impl Connections {
    /// A segment without SYN of which there is no connection yet, or that may belong to several: its place, and the side that
    /// sent it.
    pub(super) fn of_several<F: Farewell>(
        &mut self,
        segment: &Segment,
        wide: Option<[Address; 2]>,
        newest: u32,
        tally: &mut Tally,
        farewell: &mut F,
    ) -> Result<(u32, usize), F::Error> {
        let at = if newest == NONE {
            self.begin(segment, wide, NONE, CLIENT, farewell)?
        } else {
            let flags = segment.flags();
            if flags.any(TcpFlags::ACK) && !flags.any(TcpFlags::RST) {
                self.establish_any(newest, segment, tally);
            }
            self.nearest(newest, segment)
        };
        let side = self.table.get_mut(at).other(segment, tally, &mut self.pool);
        Ok((at, side))
    }

    /// Of several connections with the same ends, those whose handshake `segment` completes: it may be more than the one
    /// to which it belongs, as when both sides open at the same time (RFC 9293, 3.5).
    fn establish_any(&mut self, newest: u32, segment: &Segment, tally: &mut Tally) {
        let mut next = newest;
        while next != NONE {
            let connection = self.table.get_mut(next);
            if !connection.state.has(State::ESTABLISHED) && connection.side(segment) == CLIENT {
                connection.establish(segment, tally);
            }
            next = connection.older;
        }
    }

    /// Of several connections with the same ends, the one whose sequence numbers are nearest to the segment's.
    fn nearest(&self, newest: u32, segment: &Segment) -> u32 {
        let distance = |&at: &u32| {
            let connection = self.table.get(at);
            let side = connection.side(segment);
            let half = &connection.halves[side];
            let other = &connection.halves[1 - side];
            let near = |known: bool, number: u32, to: u32| {
                if known {
                    seq::distance(number, to).unsigned_abs()
                } else {
                    u32::MAX / 2
                }
            };
            near(half.state.has(HalfState::SENT), segment.seq, half.next).min(
                if segment.flags().any(TcpFlags::ACK) {
                    near(other.state.has(HalfState::SENT), segment.ack, other.next)
                } else {
                    u32::MAX
                },
            )
        };
        self.table
            .chain(newest)
            .min_by_key(distance)
            .unwrap_or(newest)
    }
}

impl Connection {
    /// A segment without SYN; the side that sent it.
    #[inline(always)]
    pub(super) fn other(&mut self, segment: &Segment, tally: &mut Tally, pool: &mut Pool) -> usize {
        let rst = segment.flags().any(TcpFlags::RST);
        let ack = segment.flags().any(TcpFlags::ACK);
        let side = self.side(segment);
        // Here and below what is seldom so comes first: which side sends next, the processor can only guess.
        if !self.state.has(State::ESTABLISHED) && side == CLIENT && ack && !rst {
            self.establish(segment, tally);
        }
        if self.trouble.is_some() && self.shows_spurious(side, segment) {
            tally.retransmissions.spurious += 1;
        }
        let kind = if segment.span() > 0 && !rst {
            tally.retransmissions.data_segments += 1;
            self.data(side, segment, pool)
        } else if self.is_bare_copy(side, segment) {
            Kind::Copy
        } else {
            Kind::New
        };
        let copy = kind == Kind::Copy;
        if copy {
            self.state.add(State::COPIED);
        }
        tally.data(segment.time, kind);
        if ack {
            self.acknowledge(side, segment, pool);
            if self.halves[CLIENT].state.has(HalfState::FIN_ACKED)
                && self.response == Span::NONE
                && self.state.has(State::SYN)
                && side == SERVER
            {
                self.response = Span::new(segment.time.saturating_sub(self.first));
            }
        }
        self.segments[side] += u32::from(!copy);
        self.halves[side]
            .state
            .set(HalfState::CLOSED_WINDOW, segment.window == 0 && !rst);
        if rst {
            self.state.add(State::RST);
            if side == SERVER && self.state.has(State::SYN) && !self.state.has(State::SYNACK) {
                self.state.add(State::REFUSED);
            }
            pool.take_back(&mut self.windows);
        }
        side
    }

    /// `segment` of `side`, whatever it turned out to be. How many more connections have trouble now: one or none.
    #[inline(always)]
    pub(super) fn seen(&mut self, side: usize, segment: &Segment, by_initiator: bool) -> usize {
        self.last = self.last.max(segment.time);
        let half = &mut self.halves[side];
        if !half.state.has(HalfState::DIRECTED) {
            half.state.set(HalfState::DIRECTED, true);
            half.direction = if by_initiator {
                side as u8
            } else {
                segment.direction
            };
        }
        let is_new = self.trouble.is_some() && !self.state.has(State::TROUBLED);
        if is_new {
            self.state.add(State::TROUBLED);
        }
        usize::from(is_new)
    }
}
