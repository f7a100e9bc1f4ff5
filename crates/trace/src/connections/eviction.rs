//! Removal of connections, by idle timeout and memory limit.

use super::Connections;
use super::connection::{Connection, ConnectionFlags};
use super::loss_state::LossState;
use super::table::{CHAIN_SCAN, Table};
use super::undecided::{Decided, Undecided};
use super::window::Pool;
use crate::options::{Options, VantagePoint};
use crate::row::Close;
use crate::sum::sum;
use crate::tally::Tally;
use gentle_units::{Instant, Nanos};
use gentle_wire::Address;
use serde::{Deserialize, Serialize};

/// Connection that is no longer followed: closed, idle, evicted for lack of memory, or open at the end of the trace.
#[derive(Debug)]
pub(crate) struct ClosedConnection {
    pub(crate) connection: Connection,
    /// Addresses of client and server.
    pub(crate) addresses: [Address; 2],
    pub(crate) close: Close,
}

/// Connection that had not ended at the end of its trace. If another trace continues for longer than the idle timeout,
/// it has been idle, as in one trace of both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Remaining {
    /// Time of its last segment.
    pub(crate) last: Instant,
    /// Whether it counts as open in [`Closes`](crate::results::Closes).
    pub(crate) open: bool,
}

/// Receiver of closed connections.
pub(crate) trait ClosedSink {
    /// Error of the receiver.
    type Error;

    /// Called once for each connection.
    fn on_closed(&mut self, closed: ClosedConnection) -> Result<(), Self::Error>;

    /// Called once for each attempt that [`Connections::decide`] finds over, and for each whose connection is removed earlier,
    /// before [`on_closed`](ClosedSink::on_closed).
    fn on_decided(&mut self, _attempt: Decided<'_>) {}

    /// Called for an attempt that was answered and is not decided yet.
    fn on_answer(&mut self, _attempt: Decided<'_>) {}

    /// Called once for each of these attempts, some time later, when its connection has had time to send data.
    fn on_data(&mut self, _attempt: Decided<'_>) {}
}

/// Limits on connections, and counts of connections evicted by them.
#[derive(Debug)]
pub(super) struct Eviction {
    idle_timeout: Nanos,
    linger: Nanos,
    memory_limit: usize,
    /// Position of the capture point, if given.
    vantage: Option<VantagePoint>,
    next_sweep: Instant,
    /// For each place in the table, the second from which its connection may have exceeded its timeout. A sweep loads
    /// only connections that are due, and postpones those that have not exceeded it.
    due: Vec<u32>,
    /// Number of connections with [`LossState`].
    pub(super) loss_states: usize,
    peak_connections: usize,
    peak_bytes: usize,
    idle: u64,
    memory: u64,
    /// Number of connections in `memory` that had not ended.
    unfinished: u64,
    remaining: Vec<Remaining>,
}

/// Sweeps per linger time of closed connections.
const SWEEPS: u64 = 4;

/// Inverse of the fraction of connections evicted at once when memory is short, longest silent first; finding them
/// costs a pass over all connections.
const EVICTED_FRACTION: usize = 4;

impl Eviction {
    pub(super) fn new(options: &Options) -> Eviction {
        Eviction {
            idle_timeout: options.idle_timeout.min(Options::LONGEST_IDLE_TIMEOUT),
            linger: options.idle_timeout.min(Options::CLOSED_LINGER),
            memory_limit: options.memory(),
            vantage: options.vantage,
            next_sweep: Instant::ZERO,
            due: Vec::new(),
            loss_states: 0,
            peak_connections: 0,
            peak_bytes: 0,
            idle: 0,
            memory: 0,
            unfinished: 0,
            remaining: Vec::new(),
        }
    }

    #[inline]
    pub(super) fn is_due(&self, now: Instant) -> bool {
        now >= self.next_sweep
    }

    /// Whether `connection` has exceeded its timeout at `now`.
    #[inline]
    pub(super) fn has_expired(&self, connection: &Connection, now: Instant) -> bool {
        let idle = now.saturating_since(connection.last);
        idle > self.linger && (idle > self.idle_timeout || connection.is_over())
    }

    /// Records that a connection began at place `at`; there are now `connections`.
    pub(super) fn began(&mut self, at: u32, time: Instant, connections: usize) {
        let at = at as usize;
        if at >= self.due.len() {
            self.due.resize(at + 1, u32::MAX);
        }
        self.due[at] = second(time + self.linger);
        self.peak_connections = self.peak_connections.max(connections);
    }

    /// Memory of the live connections, bytes.
    fn bytes(&self, table: &Table, pool: &Pool, undecided: &Undecided) -> usize {
        table.bytes()
            + undecided.bytes()
            + self.due.len() * size_of::<u32>()
            + pool.bytes()
            + self.loss_states * (size_of::<LossState>() + LossState::OTHER_SYNACKS * size_of::<(u32, u32)>())
    }

    /// Whether there is no room for what the next segments may add: connections, segments in flight, loss state.
    ///
    /// Places of connections are reused but never freed, so connections may use at most three eighths of the limit,
    /// even if the rest is unused. Records about closed connections have an eighth. The other half is overhead of the
    /// allocator: growing tables hold the old and the new one, and freed memory is fragmented (measured with a flood of
    /// 20 million SYNs and a limit of 64 MiB: the whole process takes 64 MiB).
    fn is_full(&self, table: &Table, pool: &Pool, undecided: &Undecided) -> bool {
        self.bytes(table, pool, undecided) > self.memory_limit / 8 * 3
    }

    /// Updates the peak of memory in use.
    fn note(&mut self, table: &Table, pool: &Pool, undecided: &Undecided) {
        self.peak_bytes = self.peak_bytes.max(self.bytes(table, pool, undecided));
    }
}

impl Connections {
    /// Evicts connections that have exceeded their timeout.
    pub(super) fn evict_idle<F: ClosedSink>(
        &mut self,
        now: Instant,
        tally: &mut Tally,
        sink: &mut F,
    ) -> Result<(), F::Error> {
        let silent = self.silent(now);
        self.evict_silent(&silent, tally, sink)
    }

    /// Evicts the connections that have exceeded their timeout among those with the flow key of the connection at
    /// `newest`; returns whether there were any.
    pub(super) fn evict_expired<F: ClosedSink>(
        &mut self,
        newest: u32,
        now: Instant,
        tally: &mut Tally,
        sink: &mut F,
    ) -> Result<bool, F::Error> {
        let has_expired = |at: &u32| self.eviction.has_expired(self.table.get(*at), now);
        let chain = self.table.chain(newest).take(CHAIN_SCAN);
        let expired: Vec<u32> = chain.filter(has_expired).collect();
        if !expired.is_empty() {
            self.evict_silent(&expired, tally, sink)?;
        }
        Ok(!expired.is_empty())
    }

    fn evict_silent<F: ClosedSink>(&mut self, silent: &[u32], tally: &mut Tally, sink: &mut F) -> Result<(), F::Error> {
        // Connections that had closed do not count as evicted by the timeout.
        let missed = |at: &&u32| !self.table.get(**at).is_over();
        self.eviction.idle += silent.iter().filter(missed).count() as u64;
        self.evict_all(silent, Close::Silent, tally, sink)
    }

    /// Places of connections that have exceeded their timeout, in the order in which the connections began.
    fn silent(&mut self, now: Instant) -> Vec<u32> {
        let table = &self.table;
        let Eviction { idle_timeout, linger, ref mut due, ref mut next_sweep, .. } = self.eviction;
        *next_sweep = now + Nanos(linger.0 / SWEEPS);
        let this_second = second(now);
        let mut silent = Vec::new();
        for (at, due) in due.iter_mut().enumerate() {
            if *due > this_second {
                continue;
            }
            let connection = table.get(at as u32);
            if connection.flags.has(ConnectionFlags::VACANT) {
                *due = u32::MAX;
                continue;
            }
            let idle = now.saturating_since(connection.last);
            let is_over = connection.is_over();
            if idle > idle_timeout || (idle > linger && is_over) {
                silent.push((connection.first, at as u32));
                continue;
            }
            let longest = if is_over { linger } else { idle_timeout };
            let silent_at = connection.last + longest;
            // The next segment may close the connection.
            *due = second(silent_at.min(now + linger));
        }
        in_order(silent)
    }

    /// If the memory limit is reached, evicts the connections that have been silent longest.
    pub(super) fn make_room<F: ClosedSink>(&mut self, tally: &mut Tally, sink: &mut F) -> Result<(), F::Error> {
        self.eviction.note(&self.table, &self.pool, &self.undecided);
        if !self.eviction.is_full(&self.table, &self.pool, &self.undecided) {
            return Ok(());
        }
        let mut by_age: Vec<(Instant, u32)> = self.table.iter().map(|(at, connection)| (connection.last, at)).collect();
        let goes = (by_age.len() / EVICTED_FRACTION).max(1).min(by_age.len());
        if goes < by_age.len() {
            by_age.select_nth_unstable(goes);
        }
        by_age.truncate(goes);
        for (time, at) in &mut by_age {
            *time = self.table.get(*at).first;
        }
        let oldest = in_order(by_age);
        self.eviction.memory += oldest.len() as u64;
        let unfinished = oldest.iter().filter(|&&at| !self.table.get(at).is_over());
        self.eviction.unfinished += unfinished.count() as u64;
        oldest.iter().for_each(|&at| self.undecided.lose(at, self.table.get(at)));
        self.evict_all(&oldest, Close::Silent, tally, sink)
    }

    /// Ends the trace: passes all remaining connections to `sink`. No segment may be observed afterwards.
    pub(crate) fn finish<F: ClosedSink>(&mut self, tally: &mut Tally, sink: &mut F) -> Result<(), F::Error> {
        self.eviction.note(&self.table, &self.pool, &self.undecided);
        // Connections stay in the index, which is discarded as a whole.
        let all = self.table.iter();
        for at in in_order(all.map(|(at, it)| (it.first, at)).collect()) {
            let addresses = self.addresses(at);
            let connection = self.table.take(at);
            self.record_time_lost(&connection, tally);
            let has_expired = self.eviction.has_expired(&connection, self.latest);
            let (last, is_over) = (connection.last, connection.is_over());
            let unclosed = if has_expired { Close::Silent } else { Close::Open };
            let closed = ClosedConnection::new(connection, addresses, unclosed);
            if !is_over {
                if has_expired {
                    self.eviction.idle += 1;
                } else {
                    let open = closed.counts_by_close() && closed.close == Close::Open;
                    self.eviction.remaining.push(Remaining { last, open });
                }
            }
            sink.on_closed(closed)?;
        }
        // Frees the memory now, while other threads still count: that takes a while.
        self.table.clear();
        Ok(())
    }

    /// Adds the time lost in a handshake to the timeline, at the time when the handshake completed.
    fn record_time_lost(&self, connection: &Connection, tally: &mut Tally) {
        if connection.loss_state.is_none()
            || !connection.flags.has(ConnectionFlags::SYN)
            || connection.flags.has(ConnectionFlags::LATER_VIEW)
        {
            return;
        }
        let class = connection.classify(self.eviction.vantage);
        if class.outcome.is_complete() && class.waited > Nanos::ZERO {
            let took = connection.ack_at.get().unwrap_or(class.waited);
            let over = connection.first + took;
            let lost = &mut tally.timeline.at(over).time_lost;
            *lost += class.waited;
        }
    }

    /// Number of connections evicted before their end because memory was short.
    pub(crate) fn forgotten(&self) -> u64 {
        self.eviction.unfinished
    }

    /// Numbers of connections evicted by the limits, and what remained at the end.
    pub(crate) fn evicted(&mut self) -> Evicted {
        let mut remaining = std::mem::take(&mut self.eviction.remaining);
        remaining.sort_unstable();
        Evicted {
            latest: self.latest,
            idle: self.eviction.idle,
            memory: self.eviction.memory,
            remaining,
            peak_connections: self.eviction.peak_connections as u64,
            peak_bytes: self.eviction.peak_bytes as u64,
        }
    }

    /// Evicts the connections at `places`; `unclosed` is the close reason of those that neither FIN nor RST ended.
    fn evict_all<F: ClosedSink>(
        &mut self,
        places: &[u32],
        unclosed: Close,
        tally: &mut Tally,
        sink: &mut F,
    ) -> Result<(), F::Error> {
        self.table.unlink_all(places);
        for &at in places {
            let addresses = self.addresses(at);
            let mut connection = self.table.remove_unlinked(at);
            self.pool.take_back(&mut connection.windows);
            self.eviction.loss_states -= usize::from(connection.loss_state.is_some());
            self.decide_removed(at, &connection, addresses, sink);
            self.record_time_lost(&connection, tally);
            sink.on_closed(ClosedConnection::new(connection, addresses, unclosed))?;
        }
        Ok(())
    }
}

/// Connections evicted from a trace, and those that remained at its end.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Evicted {
    /// Time of the latest segment.
    pub(crate) latest: Instant,
    pub(crate) idle: u64,
    pub(crate) memory: u64,
    pub(crate) remaining: Vec<Remaining>,
    #[serde(skip)]
    pub(crate) peak_connections: u64,
    #[serde(skip)]
    pub(crate) peak_bytes: u64,
}

sum! {
    Evicted { latest max, idle, memory, remaining, peak_connections max, peak_bytes max }
}

impl Evicted {
    /// Moves the connections that have been idle for longer than `idle_timeout` at the end of all traces from the
    /// remaining ones to the idle ones; returns how many of them counted as open.
    pub(crate) fn expire(&mut self, idle_timeout: Nanos) -> u64 {
        let longest = idle_timeout.min(Options::LONGEST_IDLE_TIMEOUT);
        let latest = self.latest;
        let expired = |it: &mut Remaining| latest.saturating_since(it.last) > longest;
        let mut open = 0;
        for it in self.remaining.extract_if(.., expired) {
            self.idle = self.idle.saturating_add(1);
            open += u64::from(it.open);
        }
        open
    }
}

/// Whole seconds of `time`, at most `u32::MAX`; after that, sweeps check every connection.
fn second(time: Instant) -> u32 {
    u32::try_from(time.0 / Nanos::from_secs(1).0).unwrap_or(u32::MAX)
}

/// Places, ordered by the start of their connections.
fn in_order(mut dated: Vec<(Instant, u32)>) -> Vec<u32> {
    // Places are reused in runs, which a stable sort exploits.
    dated.sort();
    dated.into_iter().map(|(_, at)| at).collect()
}

impl ClosedConnection {
    /// Whether [`Closes`](crate::results::Closes) has the connection by the way in which it ended: it is no attempt
    /// that failed.
    pub(crate) fn counts_by_close(&self) -> bool {
        let flags = self.connection.flags;
        !flags.has(ConnectionFlags::SYN) || flags.has(ConnectionFlags::ESTABLISHED)
    }

    /// Creates the record; `unclosed` is the close reason of a connection that neither FIN nor RST ended.
    fn new(connection: Connection, addresses: [Address; 2], unclosed: Close) -> ClosedConnection {
        let close = if connection.flags.has(ConnectionFlags::RST) {
            Close::Rst
        } else if connection.is_closed() {
            Close::Fin
        } else {
            unclosed
        };
        ClosedConnection { connection, addresses, close }
    }
}
