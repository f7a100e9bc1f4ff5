//! Removal of connections, by idle timeout and memory limit.

use super::connection::Connection;
use super::table::Table;
use super::trouble::Trouble;
use super::window::Pool;
use super::{Connections, State};
use crate::measure::Tally;
use crate::options::{Options, Side};
use crate::results::Limits;
use crate::row::Close;
use gentle_units::Nanos;
use gentle_wire::Address;

/// Connection that is over.
#[derive(Debug)]
pub(crate) struct Departure {
    pub(crate) connection: Connection,
    /// Addresses of client and server.
    pub(crate) ends: [Address; 2],
    pub(crate) close: Close,
}

/// Receiver of connections that are over.
pub(crate) trait Farewell {
    /// Error of the receiver.
    type Error;

    /// Called once for each connection that is over.
    fn farewell(&mut self, departure: Departure) -> Result<(), Self::Error>;
}

/// Limits on connections, and counts of connections removed by them.
#[derive(Debug)]
pub(super) struct Retirement {
    idle_timeout: Nanos,
    linger: Nanos,
    memory_limit: usize,
    /// Position of the capture point, if given.
    vantage: Option<Side>,
    next_sweep: Nanos,
    /// For each place in the table, the second from which its connection may have exceeded its timeout. A sweep loads only
    /// connections that are due, and postpones those that have not exceeded it.
    due: Vec<u32>,
    /// Number of connections with [`Trouble`].
    pub(super) troubles: usize,
    peak_connections: usize,
    peak_bytes: usize,
    idle: u64,
    memory: u64,
}

/// Sweeps per linger time of closed connections.
const SWEEPS: u64 = 4;

/// Inverse of the fraction of connections removed at once when memory is short, longest silent first; finding them costs
/// a pass over all connections.
const MAKE_ROOM: usize = 4;

impl Retirement {
    pub(super) fn new(options: &Options) -> Retirement {
        Retirement {
            idle_timeout: options.idle_timeout.min(Options::LONGEST_IDLE_TIMEOUT),
            linger: options.idle_timeout.min(Options::CLOSED_LINGER),
            memory_limit: options.memory(),
            vantage: options.vantage,
            next_sweep: Nanos::ZERO,
            due: Vec::new(),
            troubles: 0,
            peak_connections: 0,
            peak_bytes: 0,
            idle: 0,
            memory: 0,
        }
    }

    #[inline]
    pub(super) fn is_due(&self, now: Nanos) -> bool {
        now >= self.next_sweep
    }

    /// Records that a connection began at place `at`; there are now `connections`.
    pub(super) fn began(&mut self, at: u32, time: Nanos, connections: usize) {
        let at = at as usize;
        if at >= self.due.len() {
            self.due.resize(at + 1, u32::MAX);
        }
        self.due[at] = second(time.saturating_add(self.linger));
        self.peak_connections = self.peak_connections.max(connections);
    }

    /// Memory of the live connections, bytes.
    fn bytes(&self, table: &Table, pool: &Pool) -> usize {
        table.bytes()
            + self.due.len() * size_of::<u32>()
            + pool.bytes()
            + self.troubles
                * (size_of::<Trouble>() + Trouble::OTHER_SYNACKS * size_of::<(u32, u32)>())
    }

    /// Whether there is no room for what the next segments may add: connections, segments in flight, loss state.
    ///
    /// Places of connections are reused but never freed, so connections may use at most three eighths of the limit, even if
    /// the rest is unused. Records about connections that are over have an eighth. The other half is overhead of the
    /// allocator: growing tables hold the old and the new one, and freed memory is fragmented (measured with a flood of
    /// 20 million SYNs and a limit of 64 MiB: the whole process takes 64 MiB).
    fn is_full(&self, table: &Table, pool: &Pool) -> bool {
        self.bytes(table, pool) > self.memory_limit / 8 * 3
    }

    /// Updates the peak of memory in use.
    fn note(&mut self, table: &Table, pool: &Pool) {
        self.peak_bytes = self.peak_bytes.max(self.bytes(table, pool));
    }
}

impl Connections {
    /// Removes connections that have exceeded their timeout.
    pub(super) fn retire<F: Farewell>(
        &mut self,
        now: Nanos,
        tally: &mut Tally,
        farewell: &mut F,
    ) -> Result<(), F::Error> {
        let silent = self.silent(now);
        // Connections that were already over do not count as removed by the timeout.
        let missed = |at: &&u32| !self.table.get(**at).is_over();
        self.retirement.idle += silent.iter().filter(missed).count() as u64;
        self.retire_all(&silent, Close::Silent, tally, farewell)
    }

    /// Places of connections that have exceeded their timeout, in the order in which the connections began.
    fn silent(&mut self, now: Nanos) -> Vec<u32> {
        let table = &self.table;
        let Retirement {
            idle_timeout,
            linger,
            ref mut due,
            ref mut next_sweep,
            ..
        } = self.retirement;
        *next_sweep = now.saturating_add(Nanos(linger.0 / SWEEPS));
        let this_second = second(now);
        let mut silent = Vec::new();
        for (at, due) in due.iter_mut().enumerate() {
            if *due > this_second {
                continue;
            }
            let connection = table.get(at as u32);
            if connection.state.has(State::VACANT) {
                *due = u32::MAX;
                continue;
            }
            let idle = now.saturating_sub(connection.last);
            let is_over = connection.is_over();
            if idle > idle_timeout || (idle > linger && is_over) {
                silent.push((connection.first, at as u32));
                continue;
            }
            let longest = if is_over { linger } else { idle_timeout };
            let silent_at = connection.last.saturating_add(longest);
            // The next segment may end it.
            *due = second(silent_at.min(now.saturating_add(linger)));
        }
        in_order(silent)
    }

    /// If the memory limit is reached, removes the connections that have been silent longest.
    pub(super) fn make_room<F: Farewell>(
        &mut self,
        tally: &mut Tally,
        farewell: &mut F,
    ) -> Result<(), F::Error> {
        self.retirement.note(&self.table, &self.pool);
        if !self.retirement.is_full(&self.table, &self.pool) {
            return Ok(());
        }
        let mut by_age: Vec<(Nanos, u32)> = self
            .table
            .iter()
            .map(|(at, connection)| (connection.last, at))
            .collect();
        let goes = (by_age.len() / MAKE_ROOM).max(1).min(by_age.len());
        if goes < by_age.len() {
            by_age.select_nth_unstable(goes);
        }
        by_age.truncate(goes);
        for (time, at) in &mut by_age {
            *time = self.table.get(*at).first;
        }
        let oldest = in_order(by_age);
        self.retirement.memory += oldest.len() as u64;
        self.retire_all(&oldest, Close::Silent, tally, farewell)
    }

    /// Ends the trace: hands out all remaining connections. No segment may be observed afterwards.
    pub(crate) fn finish<F: Farewell>(
        &mut self,
        tally: &mut Tally,
        farewell: &mut F,
    ) -> Result<(), F::Error> {
        self.retirement.note(&self.table, &self.pool);
        // Connections stay in the index, which is discarded as a whole.
        let all = self.table.iter();
        for at in in_order(all.map(|(at, it)| (it.first, at)).collect()) {
            let ends = self.ends(at);
            let connection = self.table.take(at);
            self.account(&connection, tally);
            farewell.farewell(Departure::new(connection, ends, Close::Open))?;
        }
        // Frees the memory now, while other threads still count: that takes a while.
        self.table.clear();
        Ok(())
    }

    /// Adds the time lost in a handshake to the timeline, at the time when the handshake was over.
    fn account(&self, connection: &Connection, tally: &mut Tally) {
        if connection.trouble.is_none() || !connection.state.has(State::SYN) {
            return;
        }
        let judged = connection.judge(self.retirement.vantage);
        if judged.outcome.is_complete() && judged.waited > Nanos::ZERO {
            let took = connection.ack_at.get().unwrap_or(judged.waited);
            let over = connection.first.saturating_add(took);
            tally.timeline.at(over).time_lost_s += judged.waited.as_secs_f64();
        }
    }

    /// Limits and the number of connections removed by them.
    pub(crate) fn limits(&self) -> Limits {
        Limits {
            idle_timeout_s: self.retirement.idle_timeout.as_secs_f64(),
            memory_limit_bytes: self.retirement.memory_limit as u64,
            peak_connections: self.retirement.peak_connections as u64,
            peak_bytes: self.retirement.peak_bytes as u64,
            retired_idle: self.retirement.idle,
            retired_memory: self.retirement.memory,
            peak_remembered_bytes: 0,
            judged_early: 0,
        }
    }

    /// Removes the connections at `places`; `unclosed` is the close reason of those that neither FIN nor RST ended.
    fn retire_all<F: Farewell>(
        &mut self,
        places: &[u32],
        unclosed: Close,
        tally: &mut Tally,
        farewell: &mut F,
    ) -> Result<(), F::Error> {
        self.table.unlink_all(places);
        for &at in places {
            let ends = self.ends(at);
            let mut connection = self.table.remove_unlinked(at);
            self.pool.take_back(&mut connection.windows);
            self.retirement.troubles -= usize::from(connection.trouble.is_some());
            self.account(&connection, tally);
            farewell.farewell(Departure::new(connection, ends, unclosed))?;
        }
        Ok(())
    }
}

/// Whole seconds of `time`, at most `u32::MAX`; after that, sweeps check every connection.
fn second(time: Nanos) -> u32 {
    u32::try_from(time.0 / Nanos::from_secs(1).0).unwrap_or(u32::MAX)
}

/// Places, ordered by the start of their connections.
fn in_order(mut dated: Vec<(Nanos, u32)>) -> Vec<u32> {
    // Places are reused in runs, which a stable sort exploits.
    dated.sort();
    dated.into_iter().map(|(_, at)| at).collect()
}

impl Departure {
    /// `unclosed` is the close reason of a connection that neither FIN nor RST ended.
    fn new(connection: Connection, ends: [Address; 2], unclosed: Close) -> Departure {
        let close = if connection.state.has(State::RST) {
            Close::Rst
        } else if connection.is_closed() {
            Close::Fin
        } else {
            unclosed
        };
        Departure {
            connection,
            ends,
            close,
        }
    }
}
