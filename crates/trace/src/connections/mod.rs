//! TCP segments to connections: handshakes, sequence spaces, ends.
//!
//! A connection is its addresses, its ports and the initial sequence number of its initiator, so that ports used again
//! are a new connection. [`Connections::observe_all`] takes one segment after the other; what is learned at once goes into
//! the [`Tally`], the rest when the connection is over: closed, silent, or at the end of the trace.

mod clock;
mod connection;
mod ends;
mod flight;
mod half;
mod handshake;
mod retire;
mod seq;
mod table;
mod trouble;
mod window;

pub(crate) use connection::{CLIENT, Connection, SERVER, State};
pub(crate) use ends::{Ends, EndsHasher, Found};
pub(crate) use half::Kind;
pub(crate) use retire::{Departure, Farewell};
pub(crate) use seq::after;

use crate::measure::Tally;
use crate::options::Options;
use crate::segment::{Batch, Segment};
use clock::Span;
use connection::HalfState;
use gentle_wire::{Address, TcpFlags};
use retire::Retirement;
use table::{NONE, SAME_ENDS, Table};
use window::Pool;

/// Segments between looks at the memory in use.
const GROUP: usize = 16;

/// The connections of a trace.
///
/// On cache lines of its own, as `Decoder` is.
#[repr(align(128))]
#[derive(Debug)]
pub(crate) struct Connections {
    table: Table,
    pool: Pool,
    retirement: Retirement,
    /// Whether the direction of a segment follows from its connection.
    by_initiator: bool,
}

impl Connections {
    /// `hasher` is the one that the segments' ends were hashed with.
    pub(crate) fn new(options: &Options, by_initiator: bool, hasher: EndsHasher) -> Connections {
        Connections {
            table: Table::new(hasher),
            pool: Pool::default(),
            retirement: Retirement::new(options),
            by_initiator,
        }
    }

    /// The next segments of the trace.
    pub(crate) fn observe_all<F: Farewell>(
        &mut self,
        batch: &Batch,
        tally: &mut Tally,
        farewell: &mut F,
    ) -> Result<(), F::Error> {
        for group in batch.segments.chunks(GROUP) {
            self.make_room(farewell)?;
            for segment in group {
                self.observe(segment, batch.wide(segment), tally, farewell)?;
            }
        }
        Ok(())
    }

    /// The next segment; `wide` are its addresses if they are IPv6.
    fn observe<F: Farewell>(
        &mut self,
        segment: &Segment,
        wide: Option<[Address; 2]>,
        tally: &mut Tally,
        farewell: &mut F,
    ) -> Result<(), F::Error> {
        if self.retirement.is_due(segment.time) {
            self.retire(segment.time, farewell)?;
        }
        let newest = self.table.newest(segment, wide);
        let (at, side) = if !segment.flags().any(TcpFlags::SYN) {
            self.other(segment, wide, newest, tally, farewell)?
        } else if segment.flags().is_syn() {
            self.syn(segment, wide, newest, tally, farewell)?
        } else {
            self.synack(segment, wide, newest, tally, farewell)?
        };
        let connection = self.table.get_mut(at);
        connection.last = connection.last.max(segment.time);
        if connection.trouble.is_some() && !connection.state.has(State::TROUBLED) {
            connection.state.add(State::TROUBLED);
            self.retirement.troubles += 1;
        }
        let half = &mut connection.halves[side];
        if !half.state.has(HalfState::DIRECTED) {
            half.state.set(HalfState::DIRECTED, true);
            half.direction = if self.by_initiator {
                side as u8
            } else {
                segment.direction
            };
        }
        if self.by_initiator {
            tally.meters[side].record(segment.time, segment.wire_len);
        }
        Ok(())
    }

    /// A new connection of which `segment` is the first to be seen.
    fn begin<F: Farewell>(
        &mut self,
        segment: &Segment,
        wide: Option<[Address; 2]>,
        newest: u32,
        first_side: usize,
        farewell: &mut F,
    ) -> Result<u32, F::Error> {
        let mut newest = newest;
        if self.table.chain(newest).count() >= SAME_ENDS {
            let oldest = self.table.chain(newest).last().expect("it is not empty");
            self.retire_one(oldest, farewell)?;
            newest = self.table.newest(segment, wide);
        }
        let connection = Connection::new(segment, first_side);
        let at = self
            .table
            .insert(connection, segment.ends.hash, wide, newest);
        self.retirement.began(at, segment.time, self.table.len());
        Ok(at)
    }

    /// Client and server of a connection.
    fn ends(&self, at: u32) -> [Address; 2] {
        self.table.addresses(self.table.get(at))
    }

    /// A segment without SYN.
    fn other<F: Farewell>(
        &mut self,
        segment: &Segment,
        wide: Option<[Address; 2]>,
        newest: u32,
        tally: &mut Tally,
        farewell: &mut F,
    ) -> Result<(u32, usize), F::Error> {
        let rst = segment.flags().any(TcpFlags::RST);
        let ack = segment.flags().any(TcpFlags::ACK);
        let at = match newest {
            NONE => self.begin(segment, wide, NONE, CLIENT, farewell)?,
            newest if self.table.get(newest).older == NONE => newest,
            newest => {
                if ack && !rst {
                    self.establish_any(newest, segment, tally);
                }
                self.nearest(newest, segment)
            }
        };
        let connection = self.table.get_mut(at);
        let side = connection.side(segment);
        if ack && !rst && side == CLIENT && !connection.state.has(State::ESTABLISHED) {
            connection.establish(segment, tally);
        }
        if connection.trouble.is_some() && connection.shows_spurious(side, segment) {
            tally.retransmissions.spurious += 1;
        }
        let kind = if segment.span() > 0 && !rst {
            tally.retransmissions.data_segments += 1;
            connection.data(side, segment, &mut self.pool)
        } else if connection.is_bare_copy(side, segment) {
            Kind::Copy
        } else {
            Kind::New
        };
        let copy = kind == Kind::Copy;
        if copy {
            connection.state.add(State::COPIED);
        }
        tally.data(segment.time, kind);
        if ack {
            connection.acknowledge(side, segment, &mut self.pool);
            if side == SERVER
                && connection.response == Span::NONE
                && connection.state.has(State::SYN)
                && connection.halves[CLIENT].state.has(HalfState::FIN_ACKED)
            {
                connection.response = Span::new(segment.time.saturating_sub(connection.first));
            }
        }
        let half = &mut connection.halves[side];
        half.segments += u32::from(!copy);
        half.state
            .set(HalfState::CLOSED_WINDOW, segment.window == 0 && !rst);
        if rst {
            connection.state.add(State::RST);
            if side == SERVER
                && connection.state.has(State::SYN)
                && !connection.state.has(State::SYNACK)
            {
                connection.state.add(State::REFUSED);
            }
            self.pool.take_back(&mut connection.windows);
        }
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
