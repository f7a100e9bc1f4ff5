//! Segments without SYN.

use super::clock::Span;
use super::connection::{CLIENT, Connection, HalfState, SERVER, State};
use super::half::Kind;
use super::table::{NONE, SAME_ENDS, Table};
use super::window::Pool;
use super::{Connections, seq};
use crate::measure::Tally;
use crate::segment::Segment;
use gentle_wire::{Address, TcpFlags};

impl Connections {
    /// Handles a segment without SYN that has no connection yet or may belong to several. Returns the connection and the
    /// sending side.
    pub(super) fn of_several(
        &mut self,
        segment: &Segment,
        wide: Option<[Address; 2]>,
        newest: u32,
        tally: &mut Tally,
    ) -> (u32, usize) {
        let at = if newest == NONE {
            self.begin(segment, wide, NONE, CLIENT)
        } else {
            let flags = segment.flags();
            if flags.any(TcpFlags::ACK) && !flags.any(TcpFlags::RST) {
                self.establish_any(newest, segment, wide);
            }
            self.nearest(newest, segment)
        };
        let side = self.table.get_mut(at).other(segment, tally, &mut self.pool);
        (at, side)
    }

    /// Establishes each connection with the same ends whose handshake `segment` completes. There may be more than the one it
    /// belongs to, as when both sides open at the same time (RFC 9293, 3.5).
    fn establish_any(&mut self, newest: u32, segment: &Segment, wide: Option<[Address; 2]>) {
        let establish = |table: &mut Table, at: u32| {
            let connection = table.get_mut(at);
            if !connection.state.has(State::ESTABLISHED) && connection.side(segment) == CLIENT {
                connection.establish(segment);
            }
            connection.older
        };
        let mut next = newest;
        for _ in 0..SAME_ENDS {
            if next == NONE {
                return;
            }
            next = establish(&mut self.table, next);
        }
        let isn = segment.seq.wrapping_sub(1);
        if let Some(at) = self.table.of_crowd(segment, wide, isn) {
            establish(&mut self.table, at);
        }
    }

    /// Connection, among several with the same ends, whose sequence numbers are nearest to the segment's.
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
            .take(SAME_ENDS)
            .min_by_key(distance)
            .unwrap_or(newest)
    }
}

impl Connection {
    /// Handles a segment without SYN; returns the side that sent it.
    #[inline(always)]
    pub(super) fn other(&mut self, segment: &Segment, tally: &mut Tally, pool: &mut Pool) -> usize {
        let rst = segment.flags().any(TcpFlags::RST);
        let ack = segment.flags().any(TcpFlags::ACK);
        let side = self.side(segment);
        // Here and below, conditions that are rarely true come first: the processor cannot predict which side sends next.
        if self.state.is_opening() && ack && !rst {
            self.acknowledged(side, segment);
        }
        if self.trouble.is_some() {
            self.in_trouble(side, segment, tally);
        }
        let kind = if segment.is_marked_copy() {
            Kind::Copy
        } else if segment.span() > 0 && !rst {
            let kind = self.data(side, segment, tally, pool);
            tally.retransmissions.data_segments += u64::from(kind != Kind::Copy);
            kind
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
            self.acknowledge(side, segment, tally, pool);
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
                self.state.add(State::TURNED_AWAY);
            }
            pool.take_back(&mut self.windows);
        }
        side
    }

    /// Handles a segment of `side` without SYN on a connection with loss state.
    #[inline(never)]
    fn in_trouble(&mut self, side: usize, segment: &Segment, tally: &mut Tally) {
        tally.retransmissions.spurious += u64::from(self.shows_spurious(side, segment));
        let isn = self.isn;
        if let Some(trouble) = &mut self.trouble
            && trouble.exchange.is_used()
            && !segment.flags().any(TcpFlags::RST)
        {
            trouble.exchange.other(side, segment, isn);
        }
    }

    /// Updates the state that any segment of `side` changes: time and direction. Returns 1 if the connection got its loss
    /// state with this segment, else 0.
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
