//! Windows over the last seconds, minute and hour. Each is a row of slots that move on one by one; the sum of the slots of a
//! shorter window becomes a slot of the next longer one.

use super::results::{Span, Window};
use crate::connections::{Classification, Connection, ConnectionFlags, SERVER};
use crate::lookups::LookupCounts;
use crate::measure::Outcomes;
use crate::names::PlaceNames;
use crate::options::Options;
use crate::sum::Sum;
use crate::tally::Distribution;
use gentle_units::{Instant, Nanos};
use gentle_wire::Address;
use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};

/// Slot lengths, and the number of complete slots that are kept, of the windows by [`Span`].
const LEVELS: [(Nanos, usize); 3] = [(Nanos::from_secs(1), 10), (Nanos::from_secs(10), 6), (Nanos::from_secs(300), 12)];

/// Divisor of the memory limit for [`Outcomes`], which use a sixteenth of theirs: 31 slots take a quarter of the memory.
const SHARE: u64 = 8;

/// Largest number of servers of each cause of slow lookups in a slot: all slots together take at most some megabytes.
const LOOKUP_SERVERS: usize = 512;

/// Attempts of a slot.
#[derive(Debug, Clone)]
struct Slot {
    outcomes: Outcomes,
    /// Time from the first SYN to the handshake's completion.
    connect: Distribution,
    completed: u64,
    slow: u64,
    failed: u64,
    lookups: LookupCounts,
}

impl Slot {
    fn new(options: &Options) -> Slot {
        Slot {
            outcomes: Outcomes::coarse(options),
            connect: Distribution::coarse(),
            completed: 0,
            slow: 0,
            failed: 0,
            lookups: LookupCounts::coarse(),
        }
    }

    /// Adds the attempts of another slot, within the memory limit of one.
    fn add(&mut self, more: Slot) {
        let Slot { outcomes, connect, completed, slow, failed, lookups } = more;
        self.outcomes.add(outcomes);
        self.connect.add(connect);
        self.completed += completed;
        self.slow += slow;
        self.failed += failed;
        self.add_lookups(lookups);
    }

    fn add_lookups(&mut self, lookups: LookupCounts) {
        self.lookups.add(lookups);
        self.lookups.limit_servers(LOOKUP_SERVERS);
    }
}

/// Slots of one length.
#[derive(Debug)]
struct Level {
    running: Slot,
    /// Begin of the running slot.
    since: Instant,
    complete: VecDeque<Slot>,
}

impl Level {
    /// Levels without attempts, whose first slots begin at `since`.
    fn all(options: &Options, since: Instant) -> [Level; 3] {
        LEVELS.map(|_| Level { running: Slot::new(options), since, complete: VecDeque::new() })
    }
}

/// Windows of all spans.
#[derive(Debug)]
pub(super) struct Windows {
    options: Options,
    begin: Instant,
    now: Instant,
    levels: [Level; 3],
    /// Sockets of this host whose listen queues overflowed, and when, oldest first.
    overflows: VecDeque<(SocketAddr, Instant)>,
}

/// Largest number of sockets in [`Windows::overflows`].
const OVERFLOWS: usize = 256;
/// Time by which attempts are decided after the overflow that they met: SYNs repeat for some seconds.
const OVERFLOW_KEPT: Nanos = Nanos::from_secs(60);

impl Windows {
    pub(super) fn new(options: &Options, now: Instant) -> Windows {
        let memory_limit = (options.memory_limit / SHARE).max(Options::LEAST_MEMORY);
        let options = Options { memory_limit, ..options.clone() };
        Windows { begin: now, now, levels: Level::all(&options, now), overflows: VecDeque::new(), options }
    }

    /// Moves to `now`.
    pub(super) fn advance(&mut self, now: Instant) {
        self.now = now.max(self.now);
        let [(slot, _), .., (longest, slots)] = LEVELS;
        // After a pause longer than all windows, as of a suspended machine, everything is old.
        if now.saturating_since(self.levels[0].since) > Nanos(longest.0 * (slots as u64 + 1)) {
            let since_step = Nanos(now.saturating_since(self.begin).0 % longest.0);
            self.levels = Level::all(&self.options, now - since_step);
        }
        while now.saturating_since(self.levels[0].since) >= slot {
            self.complete(0);
        }
    }

    /// Ends the running slot of a level.
    fn complete(&mut self, at: usize) {
        let (length, kept) = LEVELS[at];
        let empty = Slot::new(&self.options);
        let level = &mut self.levels[at];
        let slot = std::mem::replace(&mut level.running, empty);
        level.since += length;
        let end = level.since;
        if let Some(next) = self.levels.get_mut(at + 1) {
            next.running.add(slot.clone());
            if end.saturating_since(next.since) >= LEVELS[at + 1].0 {
                self.complete(at + 1);
            }
        }
        let complete = &mut self.levels[at].complete;
        complete.push_back(slot);
        if complete.len() > kept {
            complete.pop_front();
        }
    }

    /// Records a decided attempt; returns its classification unless it is another view of an earlier one.
    pub(super) fn record(&mut self, connection: &Connection, addresses: [Address; 2]) -> Option<Classification> {
        let slot = &mut self.levels[0].running;
        let class = slot.outcomes.attempt(connection, addresses);
        if connection.flags.has(ConnectionFlags::LATER_VIEW) {
            return None;
        }
        if !class.outcome.is_complete() {
            slot.failed += 1;
        } else {
            slot.completed += 1;
            slot.slow += u64::from(class.is_slow());
            if let Some(took) = connection.connect_time() {
                slot.connect.record(took);
            }
        }
        Some(class)
    }

    /// Records lookups that ended.
    pub(super) fn record_lookups(&mut self, lookups: LookupCounts) {
        self.levels[0].running.add_lookups(lookups);
    }

    /// Memory of the records about attempts, bytes.
    pub(super) fn bytes(&self) -> usize {
        let slots = self.levels.iter().flat_map(|level| level.complete.iter().chain([&level.running]));
        slots.map(|slot| slot.outcomes.bytes_with_one_more()).sum()
    }

    /// Records that the server of an attempt has answered, which shows that it is alive.
    pub(super) fn record_answer(&mut self, connection: &Connection, addresses: [Address; 2]) {
        self.levels[0].running.outcomes.parties.record_answer(connection, addresses[SERVER]);
    }

    /// Records the data of the connection of an earlier attempt.
    pub(super) fn record_data(&mut self, connection: &Connection, addresses: [Address; 2]) {
        self.levels[0].running.outcomes.data(connection, addresses);
    }

    /// Records that a listen queue of this host overflowed lately.
    pub(super) fn overflowed(&mut self, socket: SocketAddr) {
        self.overflows.retain(|(other, _)| *other != socket);
        self.overflows.push_back((socket, self.now));
        if self.overflows.len() > OVERFLOWS {
            self.overflows.pop_front();
        }
    }

    /// Whether the listen queue of a server on this host overflowed within the last `span` and some time after.
    fn has_overflowed(&self, span: Nanos, (address, port): (Address, u16)) -> bool {
        let address = IpAddr::from(address);
        self.overflows.iter().any(|(socket, at)| {
            socket.port() == port
                && socket.ip().to_canonical() == address
                && self.now.saturating_since(*at) <= span + OVERFLOW_KEPT
        })
    }

    pub(super) fn window(&self, span: Span, top: usize) -> Window {
        let level = &self.levels[span as usize];
        let running = self.now.saturating_since(level.since);
        self.sum(span, level.running.clone(), running, top)
    }

    /// Window of the latest whole minute since the start.
    pub(super) fn minute(&self, top: usize) -> Window {
        self.sum(Span::Minute, Slot::new(&self.options), Nanos::ZERO, top)
    }

    /// Sum of the complete slots of a level and of `sum`, which covers `running`.
    fn sum(&self, span: Span, mut sum: Slot, running: Nanos, top: usize) -> Window {
        let level = &self.levels[span as usize];
        level.complete.iter().for_each(|slot| sum.add(slot.clone()));
        let length = Nanos(LEVELS[span as usize].0.0 * level.complete.len() as u64);
        sum.outcomes.decide();
        let show = |address: Address| IpAddr::from(address).to_string();
        let show_server = |address: Address, port: u16| SocketAddr::new(IpAddr::from(address), port).to_string();
        let outcomes = sum.outcomes.result(show, show_server);
        let waiting = sum.outcomes.waiting();
        let attempts = sum.completed + sum.failed;
        let parties = &sum.outcomes.parties;
        Window {
            seconds: (length + running).as_secs_f64(),
            attempts,
            completed: sum.completed,
            slow: sum.slow,
            failed: sum.failed,
            with_loss: outcomes.completed_with_loss,
            waited_s: waiting.handshake_s,
            failed_s: waiting.failed_s,
            connect_s: sum.connect.quantiles(),
            rtt_s: sum.outcomes.round_trips(),
            causes: sum.outcomes.causes(attempts, |server| self.has_overflowed(length, server), show, show_server),
            dropped_for: outcomes.dropped_for,
            top: parties.result(top, show, show_server, |network, length| format!("{}/{length}", show(network))),
            ports: parties.by_port(top),
            lookups: sum.lookups.result(show_server),
            names: PlaceNames::default(),
        }
    }
}
