//! Frames and the time come in, copies go out.

mod answers;

use crate::budget::Budgets;
use crate::claims::Settled;
use crate::classify::{Opening, Seen, classify};
use crate::config::Config;
use crate::copy::copy;
use crate::counters::Counters;
use crate::credit::Credit;
use crate::due::{Answered, Copy, Due, Held};
use crate::frame::{Connection, Direction, Frame, Kind};
use crate::paths::{PathRecord, Paths, network};
use crate::pending::{Handshake, Next, Pending, Repeated};
use crate::silent::Silent;
use gentle_units::Nanos;
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::VecDeque;

/// How long an answer is awaited behind the last copy, at least: longer than the longest initial timeout, so that the
/// stack's own retransmission is known for one.
const LINGER: Nanos = Nanos::from_secs(10);

/// Behind a retransmission of the stack, so many times as long as it has tried: it doubles its waits.
const PATIENCE: u64 = 3;

/// The core of the wire engine. It has no clock, no socket and no randomness of its own: `now` is the time since any
/// fixed moment and must not go back.
#[derive(Debug)]
pub struct Retransmitter {
    config: Config,
    pending: Pending,
    paths: Paths,
    credit: Credit,
    silent: Silent,
    budgets: Budgets,
    rng: Xoshiro256PlusPlus,
    counters: Counters,
    /// Told by [`Retransmitter::poll`].
    settled: VecDeque<Settled>,
    /// Of what passed until then, some packets were not seen.
    missed: Option<Nanos>,
}

impl Retransmitter {
    /// `seed`: of the jitter.
    pub fn new(config: Config, seed: u64) -> Retransmitter {
        Retransmitter {
            pending: Pending::new(config.table),
            paths: Paths::new(config.paths, config.age),
            credit: Credit::new(),
            silent: Silent::new(config.give_up),
            budgets: Budgets::new(config.limits),
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
            counters: Counters::default(),
            settled: VecDeque::new(),
            missed: None,
            config,
        }
    }

    /// A frame has passed at `now`. `Some`: it answers a packet that was sent again.
    pub fn frame(
        &mut self,
        now: Nanos,
        direction: Direction,
        frame: &Frame<'_>,
    ) -> Option<Answered> {
        self.counters.frames += 1;
        match classify(frame, direction, &self.config.selection) {
            Seen::Opening(opening) => self.opening(now, frame, &opening),
            Seen::Answer(answer) => return self.answer(now, frame.exact_time, &answer),
            Seen::Confirmed { connection, seq } => {
                self.confirmed(now, frame.exact_time, connection, seq);
            }
            Seen::Refused(connection) => self.refused(now, connection),
            Seen::Abandoned(connection) => self.abandoned(connection),
            Seen::Undeliverable { connection, seq } => {
                // RFC 5927, 4.1: whoever does not know the sequence number has made it up.
                let ours =
                    |handshake: &Handshake| handshake.seq == seq && handshake.answered.is_none();
                if self.pending.get(&connection).is_some_and(ours) {
                    self.forget(&connection);
                    self.counters.undeliverable += 1;
                }
            }
            Seen::Malformed => self.counters.malformed += 1,
            Seen::Other => {}
        }
        None
    }

    /// Packets have passed that were not seen, the last of them before `now`. Handshakes that wait may have been answered: they
    /// get no copies, and nothing is learned from them.
    pub fn missed(&mut self, now: Nanos) {
        self.missed = Some(now);
    }

    /// Whether a handshake waits for its answer.
    pub fn is_waiting(&self) -> bool {
        self.pending.len() > 0
    }

    /// When [`poll`](Retransmitter::poll) has something to do.
    pub fn next_deadline(&self) -> Option<Nanos> {
        match self.settled.is_empty() {
            true => self.pending.earliest().map(|(due, _)| due),
            false => Some(Nanos::ZERO),
        }
    }

    /// What is due; to be called until there is nothing more.
    pub fn poll(&mut self, now: Nanos) -> Option<Due<'_>> {
        let ready = self.ready(now);
        if let Some(settled) = self.settled.pop_front() {
            return Some(Due::Settled(settled));
        }
        let (connection, kind, next) = ready?;
        let number = match next {
            Next::Forget | Next::Settle => {
                let handshake = self.forget(&connection)?;
                if !handshake.noted {
                    self.silent.unanswered(connection.dst.0);
                }
                self.counters.unanswered += 1;
                return Some(Due::Unanswered {
                    connection,
                    kind,
                    copies: handshake.copies,
                });
            }
            Next::Duplicate => 0,
            Next::Copy(number) => number + 1,
        };
        let permit = self.permit(now, &connection, kind, number);
        let (following, due) = self.following(now, &connection, number);
        self.pending.schedule(&connection, following, due);
        if let Err(reason) = permit {
            *match reason {
                Held::Rate => &mut self.counters.held_by_rate,
                Held::Share => &mut self.counters.held_by_share,
                Held::Silence => &mut self.counters.held_by_silence,
                Held::Needless => &mut self.counters.held_by_needless,
                Held::Missed => &mut self.counters.held_by_missed,
            } += 1;
            return Some(Due::Held {
                connection,
                kind,
                reason,
            });
        }
        let handshake = self.pending.get_mut(&connection)?;
        if number == 0 {
            self.counters.duplicates += 1;
        } else {
            self.counters.copies += 1;
            handshake.copies += 1;
            handshake.first_copy.get_or_insert(now);
            handshake.last = now;
        }
        Some(Due::Copy(Copy {
            connection,
            kind,
            number,
            waited: now.saturating_sub(handshake.first),
            bytes: &handshake.bytes,
        }))
    }

    /// The system has not taken a copy of this connection's packet, copy `number` (0: the duplicate).
    pub fn not_sent(&mut self, connection: &Connection, number: u32) {
        self.counters.send_errors += 1;
        if let Some(handshake) = self.pending.get_mut(connection).filter(|_| number > 0) {
            handshake.copies -= 1;
            if handshake.copies == 0 {
                handshake.first_copy = None;
            }
            self.credit.refund(network(connection.dst.0), 1);
        }
    }

    /// What was seen and done so far.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Handshakes that wait for their answer now.
    pub fn pending(&self) -> usize {
        self.pending.len()
    }

    /// What was learned of paths.
    pub fn paths(&self, now: Nanos) -> Vec<PathRecord> {
        self.paths.records(now)
    }

    /// Takes up what an earlier run has learned; the clock is that of its records.
    pub fn restore(&mut self, now: Nanos, records: Vec<PathRecord>) {
        self.paths.restore(now, records);
    }

    fn opening(&mut self, now: Nanos, frame: &Frame<'_>, opening: &Opening<'_>) {
        let (connection, seq) = (opening.connection, opening.tcp.seq);
        let tsval = opening.tcp.timestamps().map(|(value, _)| value);
        if let Some(handshake) = self.pending.get_mut(&connection)
            && (handshake.kind, handshake.seq) == (opening.kind, seq)
        {
            if handshake.answered.is_none() {
                self.sent_by_stack(now, connection, tsval);
            }
            return;
        }
        // A new attempt between the same ends: the old one is over.
        self.forget(&connection);
        let data = opening.tcp.payload_len;
        if data > 0 && !self.config.with_data {
            self.counters.with_data += 1;
            return;
        }
        let Some(bytes) = copy(frame, &opening.packet) else {
            self.counters.not_copied += 1;
            return;
        };
        match opening.kind {
            Kind::Syn => self.counters.syns += 1,
            Kind::SynAck => self.counters.synacks += 1,
        }
        self.budgets.opened(opener(&connection, opening.kind));
        self.credit.opened(network(connection.dst.0));
        let mut handshake = Handshake::new(opening.kind, seq, bytes, now);
        handshake.data = data;
        handshake.tsval = tsval;
        handshake.exact = frame.exact_time;
        let (next, due) = match self.config.duplicate {
            Some(gap) => (Next::Duplicate, now.saturating_add(gap)),
            None => self.attempt(now, connection, 0),
        };
        if let Some((gone, handshake)) = self.pending.insert(connection, handshake, next, due)
            && handshake.answered.is_none()
        {
            self.counters.evicted += 1;
            self.credit.refund(network(gone.dst.0), handshake.copies);
        }
    }

    /// The stack is about it itself: no more copies.
    fn sent_by_stack(&mut self, now: Nanos, connection: Connection, tsval: Option<u32>) {
        let Some(handshake) = self.pending.get_mut(&connection) else {
            return;
        };
        let began = match handshake.by_stack {
            Some(repeated) => repeated.began,
            None => {
                self.counters.stack_retransmissions += 1;
                now
            }
        };
        handshake.by_stack = Some(Repeated {
            began,
            latest: now,
            tsval,
        });
        if handshake.copies > 0 && !handshake.noted {
            handshake.noted = true;
            self.silent.unanswered(connection.dst.0);
        }
        let tried = now.saturating_sub(handshake.first);
        let patience = Nanos(tried.0.saturating_mul(PATIENCE)).max(LINGER);
        let due = now.saturating_add(patience);
        self.pending.schedule(&connection, Next::Forget, due);
    }

    /// Whose turn it is, and what is to be done; not what concerns the core alone, which is done.
    fn ready(&mut self, now: Nanos) -> Option<(Connection, Kind, Next)> {
        loop {
            let (_, connection) = self.pending.earliest().filter(|(due, _)| *due <= now)?;
            let handshake = self.pending.get(&connection)?;
            let (kind, next) = (handshake.kind, handshake.next);
            match next {
                Next::Settle => {
                    let seen = handshake.by_stack.is_none();
                    self.settle(now, &connection, seen);
                }
                Next::Copy(number) => {
                    // The delay may have grown since: other handshakes have been answered.
                    let from = match number {
                        0 => handshake.first,
                        _ => handshake.last,
                    };
                    let due = from.saturating_add(self.delay(now, &connection, number));
                    if due <= now {
                        return Some((connection, kind, next));
                    }
                    self.pending.schedule(&connection, next, due);
                }
                Next::Forget | Next::Duplicate => return Some((connection, kind, next)),
            }
        }
    }

    /// Whether copy `number` (0: the duplicate) may be sent; if so it is paid for.
    fn permit(
        &mut self,
        now: Nanos,
        connection: &Connection,
        kind: Kind,
        number: u32,
    ) -> Result<(), Held> {
        let host = connection.dst.0;
        let opener = opener(connection, kind);
        if self.silent.is_left_alone(host) {
            return Err(Held::Silence);
        }
        if number == 0 {
            return Ok(self.budgets.duplicate(now, opener)?);
        }
        let unseen = |handshake: &Handshake| self.missed.is_some_and(|at| handshake.first <= at);
        if self.pending.get(connection).is_some_and(unseen) {
            return Err(Held::Missed);
        }
        // Whoever fixes the delay has said how many copies it takes.
        let learned = self.config.timing.is_learned();
        if learned && !self.credit.copy(network(host)) {
            return Err(Held::Needless);
        }
        self.budgets.copy(now, opener).map_err(|exhausted| {
            self.credit.refund(network(host), 1);
            Held::from(exhausted)
        })
    }

    /// What follows when `done` copies have been tried.
    fn following(&mut self, now: Nanos, connection: &Connection, done: u32) -> (Next, Nanos) {
        let from = match (done, self.pending.get(connection)) {
            // The delay counts from the packet itself, not from its duplicate.
            (0, Some(handshake)) => handshake.first,
            _ => now,
        };
        let (next, due) = self.attempt(from, *connection, done);
        (next, due.max(now))
    }

    /// Copy `number` (from 0), if there is to be one.
    fn attempt(&mut self, from: Nanos, connection: Connection, number: u32) -> (Next, Nanos) {
        if number >= self.config.copies {
            return (Next::Forget, from.saturating_add(LINGER));
        }
        let delay = self.delay(from, &connection, number);
        let delay = self.config.timing.jitter(delay, &mut self.rng);
        (Next::Copy(number), from.saturating_add(delay))
    }

    /// Of copy `number` (from 0) behind the packet before it, without jitter. As RFC 6298 has it, until that has led to
    /// needless copies: then no shorter than the longest of recent handshakes. (Were it always so long, a path that was slow
    /// for a while would be served as slowly for the next hour.)
    fn delay(&self, now: Nanos, connection: &Connection, number: u32) -> Nanos {
        let host = connection.dst.0;
        let mut learned = self.paths.learned(now, host);
        if !self.credit.is_strained(network(host))
            && let Some(learned) = &mut learned
        {
            learned.tail = Nanos::ZERO;
        }
        let doubled = self.paths.doubled(now, host);
        self.config.timing.delay(learned, doubled, number)
    }

    /// Nothing will tell any more whether its copies were needed; those of one without answer were not needless.
    fn forget(&mut self, connection: &Connection) -> Option<Handshake> {
        let handshake = self.pending.remove(connection)?;
        if handshake.answered.is_none() {
            let network = network(connection.dst.0);
            self.credit.refund(network, handshake.copies);
        }
        Some(handshake)
    }
}

/// Who has opened a connection: to whom a budget is given.
fn opener(connection: &Connection, kind: Kind) -> gentle_wire::Address {
    match kind {
        Kind::Syn => connection.src.0,
        Kind::SynAck => connection.dst.0,
    }
}
