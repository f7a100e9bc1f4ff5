//! Attempts whose outcome is not known yet, for results while packets still come: an attempt is decided when its handshake
//! has been quiet for longer than any timer of either end waits, not when its connection ends.

use super::Connections;
use super::compact_time::CompactDuration;
use super::connection::{Connection, ConnectionFlags};
use super::eviction::ClosedSink;
use super::exchange::SERVER;
use super::table::Table;
use gentle_units::{Instant, Nanos};
use gentle_wire::Address;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Time without a handshake packet after which an attempt is decided: longer than the largest initial RTO in use, 3 s
/// (RFC 2988; RFC 6298, 5.7).
pub(crate) const QUIET: Nanos = Nanos::from_millis(3_500);
/// Number of unacknowledged repetitions of a SYN/ACK from which no client is behind the SYN.
const HALF_OPEN: u16 = 3;
/// Initial RTO of a server, after which it would have repeated its SYN/ACK (RFC 6298, 2.1).
const FIRST_TIMER: Nanos = Nanos::from_secs(1);
/// Number of stale entries of the queue that are kept without a search.
const STALE: usize = 1024;

/// Time for which a completed handshake without data is undecided: a server that defers the client repeats its SYN/ACK at the
/// end of that time, usually at most 30 s (`TCP_DEFER_ACCEPT`).
const IDLE: Nanos = Nanos::from_secs(32);
/// Time from the decision until the data of the connection counts.
const DATA: Nanos = Nanos::from_secs(10);

/// Attempt that was decided.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Decided<'a> {
    pub(crate) connection: &'a Connection,
    /// Addresses of client and server.
    pub(crate) addresses: [Address; 2],
}

/// Part of the attempt at a place in the table that is pending.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Pending {
    #[default]
    Nothing,
    /// The outcome and the data.
    Outcome,
    /// The outcome was decided, and the data does not count yet.
    Data,
}

/// Attempt in the queue, ordered by the time when it is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    due: Instant,
    at: u32,
    /// Begin of the connection; a later one may take its place.
    first: Instant,
}

/// Attempts to decide; empty unless [`Connections::decide_early`] was called.
#[derive(Debug, Default)]
pub(super) struct Undecided {
    is_on: bool,
    /// Attempts of which something is pending.
    queue: BinaryHeap<Reverse<Entry>>,
    /// State of each place in the table.
    pending: Vec<Pending>,
    /// Number of attempts that were removed before their outcome was known.
    lost: u64,
}

impl Undecided {
    /// Records that a connection began at place `at`.
    pub(super) fn began(&mut self, at: u32, first: Instant) {
        if !self.is_on {
            return;
        }
        let place = at as usize;
        if place >= self.pending.len() {
            self.pending.resize(place + 1, Pending::Nothing);
        }
        self.pending[place] = Pending::Outcome;
        self.queue.push(Reverse(Entry { due: first + QUIET, at, first }));
    }

    /// Removes the attempt at `at`, whose connection is evicted for lack of memory, if its outcome is not known yet.
    pub(super) fn lose(&mut self, at: u32, connection: &Connection) {
        let pending = self.pending.get_mut(at as usize).filter(|pending| **pending == Pending::Outcome);
        if let Some(pending) = pending.filter(|_| !connection.outcome().is_complete() && !connection.is_over()) {
            *pending = Pending::Nothing;
            self.lost += 1;
        }
    }

    /// Removes the attempt at `at`; returns what was pending.
    fn remove(&mut self, at: u32) -> Pending {
        self.pending.get_mut(at as usize).map(std::mem::take).unwrap_or_default()
    }

    /// Memory in use, bytes.
    pub(super) fn bytes(&self) -> usize {
        self.queue.capacity() * size_of::<Entry>() + self.pending.capacity() * size_of::<Pending>()
    }

    /// Takes the next entry that is due and not stale, with what is pending.
    fn next(&mut self, now: Instant, table: &Table) -> Option<(Entry, Pending)> {
        loop {
            let Reverse(entry) = *self.queue.peek().filter(|Reverse(entry)| entry.due <= now)?;
            self.queue.pop();
            if !self.is_stale(&entry, table) {
                return Some((entry, self.pending[entry.at as usize]));
            }
        }
    }

    /// Whether the connection of an entry is no longer there, or nothing of it is pending.
    fn is_stale(&self, entry: &Entry, table: &Table) -> bool {
        self.pending[entry.at as usize] == Pending::Nothing || table.get(entry.at).first != entry.first
    }

    /// Removes entries of connections that were removed early, as in a flood.
    fn remove_stale(&mut self, table: &Table) {
        if self.queue.len() > table.len() * 2 + STALE {
            let mut queue = std::mem::take(&mut self.queue);
            queue.retain(|Reverse(entry)| !self.is_stale(entry, table));
            queue.shrink_to(queue.len() * 2);
            self.queue = queue;
        }
    }
}

impl Connections {
    /// Enables [`Connections::decide`].
    pub(crate) fn decide_early(&mut self) {
        self.undecided.is_on = true;
    }

    /// Number of attempts so far whose connections were evicted for lack of memory before their outcome was known.
    pub(crate) fn lost(&self) -> u64 {
        self.undecided.lost
    }

    /// Passes all attempts that are over at `now` to `sink`. `sees_all`: whether all segments between these addresses and ports
    /// (of client and server) are captured; if not, the acknowledgement of a SYN/ACK is not expected to be seen.
    pub(crate) fn decide<F: ClosedSink>(
        &mut self,
        now: Instant,
        sees_all: impl Fn([Address; 2], [u16; 2]) -> bool,
        sink: &mut F,
    ) {
        self.undecided.remove_stale(&self.table);
        while let Some((entry, pending)) = self.undecided.next(now, &self.table) {
            let addresses = self.addresses(entry.at);
            let connection = self.table.get_mut(entry.at);
            if pending == Pending::Data || !connection.flags.has(ConnectionFlags::SYN) {
                self.undecided.remove(entry.at);
                if pending == Pending::Data {
                    sink.on_data(Decided { connection, addresses });
                }
                continue;
            }
            let sees_all = sees_all(addresses, connection.ports());
            let undecided = connection.undecided_for(now, sees_all);
            let due = match undecided {
                Nanos::ZERO => {
                    if !sees_all {
                        connection.assume_acknowledged();
                    }
                    self.undecided.pending[entry.at as usize] = Pending::Data;
                    sink.on_decided(Decided { connection, addresses });
                    now + DATA
                }
                undecided => {
                    if connection.outcome().is_complete() {
                        sink.on_answer(Decided { connection, addresses });
                    }
                    now + undecided
                }
            };
            self.undecided.queue.push(Reverse(Entry { due, ..entry }));
        }
    }

    /// Passes the attempt of a connection that was at `at` and is removed to `sink`, if anything about it is pending.
    pub(super) fn decide_removed<F: ClosedSink>(
        &mut self,
        at: u32,
        connection: &Connection,
        addresses: [Address; 2],
        sink: &mut F,
    ) {
        let removed = Decided { connection, addresses };
        let pending = self.undecided.remove(at);
        if pending == Pending::Nothing || !connection.flags.has(ConnectionFlags::SYN) {
            return;
        }
        if pending == Pending::Outcome {
            sink.on_decided(removed);
        }
        sink.on_data(removed);
    }
}

impl Connection {
    /// Time after `now` for which a handshake packet may still come; `sees_all`: all segments are captured.
    fn undecided_for(&self, now: Instant, sees_all: bool) -> Nanos {
        let exchange = self.loss_state.as_ref().map(|it| &it.exchange).filter(|it| it.is_used());
        let is_answered = self.outcome().is_complete();
        let (last, gap) = match exchange {
            Some(exchange) => exchange.newest(now),
            None => {
                let times = [self.synack_at, self.ack_at].map(|time| time.get().unwrap_or_default());
                (now.saturating_since(self.first + times[0].max(times[1])), Nanos::ZERO)
            }
        };
        // Timeouts double (RFC 6298, 5.5).
        let repeats = exchange.is_some_and(|exchange| exchange.repetitions(SERVER) > 0);
        let longest = match is_answered && !repeats {
            true if sees_all && self.bytes == [0; 2] && !self.is_closed() => IDLE,
            true => Nanos::ZERO,
            false => Nanos(gap.0.saturating_mul(2)) + Nanos(gap.0 / 5) + Nanos::from_secs(1),
        };
        longest.max(QUIET).saturating_sub(last)
    }

    /// Completes the handshake of a connection of which only SYNs, FINs and RSTs are captured if only its acknowledgement is
    /// missing: after a lost SYN/ACK, the client would have repeated its SYN, and after a lost acknowledgement, the server its
    /// SYN/ACK.
    fn assume_acknowledged(&mut self) {
        let synack_at = self.synack_at.get().unwrap_or_default();
        // The time of a FIN or RST, which acknowledges, too.
        let ended_at = std::mem::replace(&mut self.ack_at, CompactDuration::NONE).get().unwrap_or_default();
        let is_reset = self.flags.has(ConnectionFlags::RESET);
        let is_at_once = ended_at.saturating_sub(synack_at) < FIRST_TIMER;
        if self.outcome().is_complete() || self.synacks == 0 || is_reset && is_at_once {
            return;
        }
        if let Some(loss_state) = &mut self.loss_state {
            let exchange = &mut loss_state.exchange;
            if exchange.repetitions(SERVER) >= HALF_OPEN || exchange.is_asked_again() {
                return;
            }
            exchange.settle();
        }
        self.flags.add(ConnectionFlags::WENT_ON);
        self.flags.add(ConnectionFlags::ESTABLISHED);
    }
}
