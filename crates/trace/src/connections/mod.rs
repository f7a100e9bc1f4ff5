//! Reconstruction of TCP connections from segments: handshakes, sequence spaces, closes.
//!
//! A connection is identified by addresses, ports and the initial sequence number of its initiator, so that reused ports
//! make a new connection. [`Connections::observe_all`] takes the segments in order; results that are known at once go into
//! the [`Tally`], others are reported when the connection is over: closed, silent, or at the end of the trace.

mod clock;
mod connection;
mod copies;
mod ends;
mod exchange;
mod flight;
mod half;
mod handshake;
mod judge;
mod other;
mod retire;
mod seq;
mod table;
mod trouble;
mod window;

pub(crate) use connection::{CLIENT, Connection, SERVER, State};
pub(crate) use ends::{Ends, EndsHasher, Found};
pub(crate) use half::Kind;
pub(crate) use judge::Judged;
pub(crate) use retire::{Departure, Farewell};
pub(crate) use seq::after;

use crate::measure::Tally;
use crate::options::Options;
use crate::segment::{Batch, Segment};
use copies::Copies;
use gentle_wire::{Address, TcpFlags};
use retire::Retirement;
use table::Table;
use window::Pool;

/// Segments between checks of the memory in use.
const GROUP: usize = 64;

/// Connections of a trace.
///
/// Aligned to separate cache lines, as `Decoder` is, because another thread works on that.
#[repr(align(128))]
#[derive(Debug)]
pub(crate) struct Connections {
    table: Table,
    pool: Pool,
    retirement: Retirement,
    copies: Copies,
    /// Whether a segment's direction follows from its connection.
    by_initiator: bool,
}

impl Connections {
    /// Creates an empty set; `hasher` must be the one that hashed the segments' ends.
    pub(crate) fn new(options: &Options, by_initiator: bool, hasher: EndsHasher) -> Connections {
        Connections {
            table: Table::new(hasher),
            pool: Pool::default(),
            retirement: Retirement::new(options),
            copies: Copies::default(),
            by_initiator,
        }
    }

    /// Handles the next segments of the trace.
    pub(crate) fn observe_all<F: Farewell>(
        &mut self,
        batch: &mut Batch,
        tally: &mut Tally,
        farewell: &mut F,
    ) -> Result<(), F::Error> {
        self.copies.mark(batch.segments_mut());
        for group in batch.segments().chunks(GROUP) {
            self.make_room(tally, farewell)?;
            self.table.fetch(group);
            for segment in group {
                self.observe(segment, batch.wide(segment), tally, farewell)?;
            }
        }
        Ok(())
    }

    /// Handles the next segment; `wide` has the addresses if they are IPv6.
    fn observe<F: Farewell>(
        &mut self,
        segment: &Segment,
        wide: Option<[Address; 2]>,
        tally: &mut Tally,
        farewell: &mut F,
    ) -> Result<(), F::Error> {
        if self.retirement.is_due(segment.time) {
            self.retire(segment.time, tally, farewell)?;
        }
        let newest = self.table.newest(segment, wide);
        let syn = segment.flags().any(TcpFlags::SYN);
        // Fast path for nearly every segment: one lookup, and only one connection has these ends.
        let side = if !syn && let Some(connection) = self.table.alone(newest) {
            let side = connection.other(segment, tally, &mut self.pool);
            self.retirement.troubles += connection.seen(side, segment, self.by_initiator);
            side
        } else {
            self.rare(segment, wide, newest, tally)
        };
        if self.by_initiator {
            tally.meters[side].record(segment.time, segment.wire_len);
        }
        Ok(())
    }

    /// Handles a handshake segment, or one whose connection has to be chosen; returns the side that sent it.
    #[inline(never)]
    fn rare(
        &mut self,
        segment: &Segment,
        wide: Option<[Address; 2]>,
        newest: u32,
        tally: &mut Tally,
    ) -> usize {
        if segment.is_undelivered() {
            self.undelivered(segment, newest);
            return CLIENT;
        }
        let (at, side) = if !segment.flags().any(TcpFlags::SYN) {
            self.of_several(segment, wide, newest, tally)
        } else if segment.flags().is_syn() {
            self.syn(segment, wide, newest, tally)
        } else {
            self.synack(segment, wide, newest, tally)
        };
        let connection = self.table.get_mut(at);
        self.retirement.troubles += connection.seen(side, segment, self.by_initiator);
        side
    }

    /// Creates the connection of which `segment` is the first one seen.
    fn begin(
        &mut self,
        segment: &Segment,
        wide: Option<[Address; 2]>,
        newest: u32,
        first_side: usize,
    ) -> u32 {
        let connection = Connection::new(segment, first_side);
        let at = self
            .table
            .insert(connection, segment.ends.hash, wide, newest);
        self.retirement.began(at, segment.time, self.table.len());
        at
    }

    /// Addresses of client and server of a connection.
    fn ends(&self, at: u32) -> [Address; 2] {
        self.table.addresses(self.table.get(at))
    }
}
