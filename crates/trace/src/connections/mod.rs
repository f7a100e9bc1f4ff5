//! Reconstruction of TCP connections from segments: handshakes, sequence spaces, closes.
//!
//! A connection is identified by addresses, ports and the initial sequence number of its initiator, so that reused
//! ports make a new connection. [`Connections::observe_all`] takes the segments in order; results that are known at
//! once go into the [`Tally`]; the connection itself goes to a [`ClosedSink`] when it is closed, idle or evicted, or at
//! the end of the trace.

mod capture_duplicates;
mod classify;
mod compact_time;
mod connection;
mod eviction;
mod exchange;
mod flight;
mod handshake;
mod loss_state;
mod non_syn;
mod paths;
mod repetition;
mod sequence_space;
mod table;
mod trouble;
mod undecided;
mod views;
mod waited;
mod window;

pub(crate) use classify::Classification;
pub(crate) use connection::{Connection, ConnectionFlags};
pub(crate) use eviction::{ClosedConnection, ClosedSink, Evicted};
pub(crate) use exchange::{CLIENT, SERVER};
pub(crate) use trouble::Trouble;
pub(crate) use undecided::{Decided, QUIET};

use crate::flow_key::FlowKeyHasher;
use crate::options::Options;
use crate::segment::{Batch, Segment};
use crate::tally::{SegmentKind, Tally};
use capture_duplicates::DuplicateDetector;
use eviction::Eviction;
use gentle_units::Instant;
use gentle_wire::{Address, TcpFlags};
use non_syn::Observed;
use paths::{Of, Paths};
use table::Table;
use undecided::Undecided;
use views::RecentSyns;
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
    eviction: Eviction,
    duplicates: DuplicateDetector,
    recent_syns: RecentSyns,
    paths: Paths,
    undecided: Undecided,
    /// Whether a segment's direction follows from its connection.
    by_initiator: bool,
    /// Time of the latest segment.
    latest: Instant,
}

impl Connections {
    /// Creates an empty set; `hasher` must be the one that computed the segments' flow keys.
    pub(crate) fn new(options: &Options, by_initiator: bool, hasher: FlowKeyHasher) -> Connections {
        Connections {
            table: Table::new(hasher),
            pool: Pool::default(),
            eviction: Eviction::new(options),
            duplicates: DuplicateDetector::default(),
            recent_syns: RecentSyns::default(),
            paths: Paths::new(options.memory() / 64),
            undecided: Undecided::default(),
            by_initiator,
            latest: Instant::ZERO,
        }
    }

    /// Number of connections that are followed.
    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }

    /// Time of the latest segment.
    pub(crate) fn latest(&self) -> Instant {
        self.latest
    }

    /// Handles the next segments of the trace.
    pub(crate) fn observe_all<F: ClosedSink>(
        &mut self,
        batch: &mut Batch,
        tally: &mut Tally,
        sink: &mut F,
    ) -> Result<(), F::Error> {
        self.duplicates.mark(batch.segments_mut());
        for group in batch.segments().chunks(GROUP) {
            self.make_room(tally, sink)?;
            self.table.prefetch(group);
            for segment in group {
                self.observe(segment, batch.v6_addresses(segment), tally, sink)?;
            }
        }
        Ok(())
    }

    /// Handles the next segment; `v6` has the addresses if they are IPv6.
    fn observe<F: ClosedSink>(
        &mut self,
        segment: &Segment,
        v6: Option<[Address; 2]>,
        tally: &mut Tally,
        sink: &mut F,
    ) -> Result<(), F::Error> {
        if self.eviction.is_due(segment.time) {
            self.evict_idle(segment.time, tally, sink)?;
        }
        self.latest = self.latest.max(segment.time);
        let newest = self.table.newest(segment, v6);
        let syn = segment.flags().any(TcpFlags::SYN);
        // Fast path for nearly every segment: one lookup, and only one connection has this flow key.
        let side = if !syn
            && let Some(connection) = self.table.unchained(newest)
            && !self.eviction.has_expired(connection, segment.time)
        {
            let observed = connection.observe_non_syn(segment, tally, &mut self.pool);
            self.eviction.loss_states += connection.seen(observed.side, segment, self.by_initiator);
            self.note_path(segment, v6, &observed);
            observed.side
        } else {
            self.observe_rare(segment, v6, newest, tally, sink)?
        };
        if self.by_initiator {
            tally.meters[side].record(segment.time, segment.wire_len);
        }
        Ok(())
    }

    /// Handles a SYN, SYN/ACK or ICMP message, or a segment that may belong to several connections; returns the side
    /// that sent it.
    #[inline(never)]
    fn observe_rare<F: ClosedSink>(
        &mut self,
        segment: &Segment,
        v6: Option<[Address; 2]>,
        newest: u32,
        tally: &mut Tally,
        sink: &mut F,
    ) -> Result<usize, F::Error> {
        // Sweeps come with the segments of any connection. What a connection gets must not depend on the others.
        let newest = match self.evict_expired(newest, segment.time, tally, sink)? {
            true => self.table.newest(segment, v6),
            false => newest,
        };
        if segment.is_undelivered() {
            self.undelivered(segment, newest);
            return Ok(CLIENT);
        }
        let (at, side) = if !segment.flags().any(TcpFlags::SYN) {
            self.non_syn_of_several(segment, v6, newest, tally)
        } else if segment.flags().is_syn() {
            self.syn(segment, v6, newest, tally)
        } else {
            self.synack(segment, v6, newest, tally)
        };
        let connection = self.table.get_mut(at);
        self.eviction.loss_states += connection.seen(side, segment, self.by_initiator);
        if segment.flags().any(TcpFlags::SYN) {
            self.note_handshake_path(at, side, segment.time);
        }
        Ok(side)
    }

    /// Records what `segment`, without SYN, shows of the paths to both hosts.
    #[inline(always)]
    fn note_path(&mut self, segment: &Segment, v6: Option<[Address; 2]>, observed: &Observed) {
        if observed.round_trip.is_some()
            || matches!(observed.kind, SegmentKind::Retransmitted(_) | SegmentKind::Late(_))
        {
            self.note_notable_path(segment, v6, observed);
        }
    }

    #[inline(never)]
    fn note_notable_path(&mut self, segment: &Segment, v6: Option<[Address; 2]>, observed: &Observed) {
        let Observed { side, kind, round_trip } = *observed;
        if let Some((of, round_trip)) = round_trip {
            self.paths.round_trip(side, segment.source(v6), segment.time - round_trip, of, round_trip);
        }
        match kind {
            SegmentKind::Retransmitted(delay) => self.paths.lost(1 - side, segment.time - delay),
            SegmentKind::Late(delay) => self.paths.lost(side, segment.time - delay),
            _ => {}
        }
    }

    /// Records the round-trip time that a SYN/ACK of the connection at `at` shows, or, if `side` retransmitted its SYN or SYN/ACK
    /// at `now`, the state of the path when the previous one passed.
    fn note_handshake_path(&mut self, at: u32, side: usize, now: Instant) {
        if side == CLIENT && self.table.get(at).loss_state.is_none() {
            // A first SYN shows nothing.
            return;
        }
        let addresses = self.addresses(at);
        let connection = self.table.get_mut(at);
        if side == SERVER && connection.synacks == 1 && !connection.flags.has(ConnectionFlags::HANDSHAKE_REPEATED) {
            if let Some(round_trip) = connection.synack_at.get() {
                let first = connection.first;
                self.paths.round_trip(SERVER, addresses[SERVER], first, Of::Handshake, round_trip);
            }
            return;
        }
        // A SYN/ACK after the client's ACK shows that the server did not get that.
        let went_on = connection.flags.has(ConnectionFlags::WENT_ON);
        let half = match (side, connection.synacks) {
            (CLIENT, 0) => SERVER,
            (SERVER, _) if went_on => SERVER,
            _ => CLIENT,
        };
        if let Some((since, path)) = connection.path_of_repetition(side, now) {
            *path = self.paths.state(half, addresses[half], now - since);
        }
    }

    /// Creates the connection of which `segment` is the first one seen.
    fn begin(&mut self, segment: &Segment, v6: Option<[Address; 2]>, newest: u32, first_side: usize) -> u32 {
        let connection = Connection::new(segment, first_side);
        let at = self.table.insert(connection, segment.key.hash, v6, newest);
        self.eviction.began(at, segment.time, self.table.len());
        self.undecided.began(at, segment.time);
        at
    }

    /// Addresses of client and server of a connection.
    fn addresses(&self, at: u32) -> [Address; 2] {
        self.table.addresses(self.table.get(at))
    }
}
