//! Attempts whose outcome is not known yet, for results while packets still come: an attempt is decided when its handshake
//! has been quiet for longer than any timer of either end waits, not when its connection ends.

use super::Connections;
use super::connection::{Connection, ConnectionFlags};
use super::eviction::ClosedSink;
use super::exchange::SERVER;
use super::table::Table;
use gentle_units::{Instant, Nanos};
use gentle_wire::Address;
use std::collections::VecDeque;

/// Time without a handshake packet after which an attempt is decided: longer than the largest initial RTO in use, 3 s
/// (RFC 2988; RFC 6298, 5.7).
pub(crate) const QUIET: Nanos = Nanos::from_millis(3_500);
/// Number of unacknowledged repetitions of a SYN/ACK from which no client is behind the SYN.
const HALF_OPEN: u16 = 3;
/// Stale entries of the queue that are kept without a search.
const STALE: usize = 1024;

/// Attempt that was decided.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Decided<'a> {
    pub(crate) connection: &'a Connection,
    /// Addresses of client and server.
    pub(crate) addresses: [Address; 2],
}

/// Attempt in the queue.
#[derive(Debug, Clone, Copy)]
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
    /// In the order in which they are due, since each waits for the same time.
    queue: VecDeque<Entry>,
    /// For each place in the table, whether its attempt is undecided.
    waits: Vec<bool>,
}

impl Undecided {
    /// Records that a connection began at place `at`.
    pub(super) fn began(&mut self, at: u32, first: Instant) {
        if !self.is_on {
            return;
        }
        let place = at as usize;
        if place >= self.waits.len() {
            self.waits.resize(place + 1, false);
        }
        self.waits[place] = true;
        self.queue.push_back(Entry { due: first + QUIET, at, first });
    }

    /// Removes the attempt at `at`; returns whether it was undecided.
    pub(super) fn remove(&mut self, at: u32) -> bool {
        self.waits.get_mut(at as usize).is_some_and(std::mem::take)
    }

    /// Memory in use, bytes.
    pub(super) fn bytes(&self) -> usize {
        self.queue.capacity() * size_of::<Entry>() + self.waits.capacity()
    }

    fn waits(&self, entry: &Entry, table: &Table) -> bool {
        self.waits[entry.at as usize] && table.get(entry.at).first == entry.first
    }

    /// Removes entries of connections that were removed early, as in a flood.
    fn remove_stale(&mut self, table: &Table) {
        if self.queue.len() > table.len() * 2 + STALE {
            let mut queue = std::mem::take(&mut self.queue);
            queue.retain(|entry| self.waits(entry, table));
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

    /// Passes all attempts that are over at `now` to `sink`. `sees_all`: whether all segments between these addresses and ports
    /// (of client and server) are captured; if not, the acknowledgement of a SYN/ACK is not expected to be seen.
    pub(crate) fn decide<F: ClosedSink>(
        &mut self,
        now: Instant,
        sees_all: impl Fn([Address; 2], [u16; 2]) -> bool,
        sink: &mut F,
    ) {
        self.undecided.remove_stale(&self.table);
        while let Some(&entry) = self.undecided.queue.front().filter(|entry| entry.due <= now) {
            self.undecided.queue.pop_front();
            if !self.undecided.waits(&entry, &self.table) {
                continue;
            }
            let addresses = self.addresses(entry.at);
            let connection = self.table.get_mut(entry.at);
            if connection.flags.has(ConnectionFlags::SYN) && connection.is_undecided(now) {
                self.undecided.queue.push_back(Entry { due: now + QUIET, ..entry });
                continue;
            }
            if !connection.outcome().is_complete() && !sees_all(addresses, connection.ports()) {
                connection.assume_acknowledged();
            }
            self.undecided.remove(entry.at);
            let connection = self.table.get(entry.at);
            if connection.flags.has(ConnectionFlags::SYN) {
                sink.on_decided(Decided { connection, addresses });
            }
        }
    }
}

impl Connection {
    /// Whether a handshake packet may still come at `now`.
    fn is_undecided(&self, now: Instant) -> bool {
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
        let longest = match is_answered {
            true => Nanos::ZERO,
            false => Nanos(gap.0.saturating_mul(2)) + Nanos(gap.0 / 5) + Nanos::from_secs(1),
        };
        last < longest.max(QUIET)
    }

    /// Completes the handshake if only its acknowledgement is missing, which was not captured: after a lost SYN/ACK, the client
    /// would have repeated its SYN, and after a lost acknowledgement, the server its SYN/ACK.
    fn assume_acknowledged(&mut self) {
        if self.synacks == 0 || self.flags.has(ConnectionFlags::RST) {
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
