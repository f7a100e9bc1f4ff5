//! Frames and the time come in, copies go out.

use crate::budget::{Budget, Exhausted};
use crate::classify::{Opening, Seen, classify};
use crate::config::Config;
use crate::copy::copy;
use crate::counters::Counters;
use crate::frame::{Connection, Direction, Frame, Kind};
use crate::paths::{PathRecord, Paths};
use crate::pending::{Handshake, Next, Pending};
use crate::silent::Silent;
use gentle_units::Nanos;
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

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
    silent: Silent,
    budget: Budget,
    rng: Xoshiro256PlusPlus,
    counters: Counters,
}

/// Something that was due.
#[derive(Debug, PartialEq, Eq)]
pub enum Due<'a> {
    /// To be sent as it is; in a dry run it would have been.
    Copy(Copy<'a>),
    /// A copy was due and is not sent.
    Held {
        /// Of which packet.
        connection: Connection,
        /// Of which kind it is.
        kind: Kind,
        /// Why not.
        reason: Held,
    },
    /// Nothing came back for as long as it was awaited.
    Unanswered {
        /// To which packet.
        connection: Connection,
        /// Of which kind it is.
        kind: Kind,
        /// Copies that were sent.
        copies: u32,
    },
}

impl Due<'_> {
    /// Between which ends.
    pub fn connection(&self) -> Connection {
        match self {
            Due::Copy(copy) => copy.connection,
            Due::Held { connection, .. } | Due::Unanswered { connection, .. } => *connection,
        }
    }
}

/// A packet that is sent again.
#[derive(Debug, PartialEq, Eq)]
pub struct Copy<'a> {
    /// Its two ends.
    pub connection: Connection,
    /// SYN or SYN/ACK.
    pub kind: Kind,
    /// 1 for the first copy; 0 for the duplicate that every packet gets on request.
    pub number: u32,
    /// Time since the packet itself was sent.
    pub waited: Nanos,
    /// The frame.
    pub bytes: &'a [u8],
}

/// Why a copy is not sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    /// Enough were sent in this second.
    Rate,
    /// Enough were sent for the number of handshakes.
    Share,
    /// The host does not answer.
    Silence,
}

impl Held {
    /// As it is written in logs.
    pub const fn name(self) -> &'static str {
        match self {
            Held::Rate => "rate",
            Held::Share => "share",
            Held::Silence => "silence",
        }
    }
}

/// An answer to a packet that was sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answered {
    /// Of the packet.
    pub connection: Connection,
    /// SYN or SYN/ACK.
    pub kind: Kind,
    /// Copies that were sent.
    pub copies: u32,
    /// Time since the packet itself was sent.
    pub took: Nanos,
    /// The answer came too soon behind the last copy to be one to it.
    pub unneeded: bool,
    /// How much earlier the copy was than the stack's own retransmission.
    pub saved: Nanos,
}

impl Retransmitter {
    /// `seed`: of the jitter.
    pub fn new(config: Config, seed: u64) -> Retransmitter {
        Retransmitter {
            pending: Pending::new(config.table),
            paths: Paths::new(config.paths, config.age),
            silent: Silent::new(config.give_up),
            budget: Budget::new(config.limits),
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
            counters: Counters::default(),
            config,
        }
    }

    /// A frame has passed. `Some`: it answers a packet that was sent again.
    pub fn frame(
        &mut self,
        now: Nanos,
        direction: Direction,
        frame: &Frame<'_>,
    ) -> Option<Answered> {
        self.counters.frames += 1;
        match classify(frame, direction, &self.config.selection) {
            Seen::Opening(opening) => self.opening(now, frame, &opening),
            Seen::Answer {
                connection,
                to,
                ack,
            } => return self.answer(now, connection, to, ack),
            Seen::Reset(connection) => {
                for connection in [connection, connection.reversed()] {
                    if self.pending.remove(&connection).is_some() {
                        self.silent.answered(connection.dst.0);
                        self.counters.resets += 1;
                    }
                }
            }
            Seen::Undeliverable { connection, seq } => {
                // RFC 5927, 4.1: whoever does not know the sequence number has made it up.
                let ours = |handshake: &Handshake| handshake.seq == seq;
                if self.pending.get(&connection).is_some_and(ours) {
                    self.pending.remove(&connection);
                    self.counters.undeliverable += 1;
                }
            }
            Seen::Malformed => self.counters.malformed += 1,
            Seen::Other => {}
        }
        None
    }

    /// When [`poll`](Retransmitter::poll) has something to do.
    pub fn next_deadline(&self) -> Option<Nanos> {
        self.pending.earliest().map(|(due, _)| due)
    }

    /// What is due; to be called until there is nothing more.
    pub fn poll(&mut self, now: Nanos) -> Option<Due<'_>> {
        let (_, connection) = self.pending.earliest().filter(|(due, _)| *due <= now)?;
        let handshake = self.pending.get(&connection)?;
        let (kind, next) = (handshake.kind, handshake.next);
        let permit = match next {
            Next::Forget => {
                let handshake = self.pending.remove(&connection)?;
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
            _ if self.silent.is_left_alone(connection.dst.0) => Err(Held::Silence),
            Next::Duplicate => self.budget.duplicate(now).map_err(Held::from),
            Next::Copy(_) => self.budget.copy(now).map_err(Held::from),
        };
        let number = match next {
            Next::Copy(number) => number + 1,
            Next::Duplicate | Next::Forget => 0,
        };
        let (following, due) = self.following(now, &connection, number);
        self.pending.schedule(&connection, following, due);
        if let Err(reason) = permit {
            *match reason {
                Held::Rate => &mut self.counters.held_by_rate,
                Held::Share => &mut self.counters.held_by_share,
                Held::Silence => &mut self.counters.held_by_silence,
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

    /// The system has not taken a copy.
    pub fn not_sent(&mut self) {
        self.counters.send_errors += 1;
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
        if let Some(handshake) = self.pending.get_mut(&connection)
            && (handshake.kind, handshake.seq) == (opening.kind, seq)
        {
            self.sent_by_stack(now, connection);
            return;
        }
        // A new attempt between the same ends: the old one is over.
        self.pending.remove(&connection);
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
        self.budget.opened();
        let handshake = Handshake::new(opening.kind, seq, data, bytes, now);
        let (next, due) = match self.config.duplicate {
            Some(gap) => (Next::Duplicate, now.saturating_add(gap)),
            None => self.attempt(now, connection, 0),
        };
        if self.pending.insert(connection, handshake, next, due) {
            self.counters.evicted += 1;
        }
    }

    /// The stack is about it itself: no more copies.
    fn sent_by_stack(&mut self, now: Nanos, connection: Connection) {
        let Some(handshake) = self.pending.get_mut(&connection) else {
            return;
        };
        if !handshake.by_stack {
            self.counters.stack_retransmissions += 1;
            if let (true, Some(copied)) = (self.config.dry_run, handshake.first_copy) {
                self.counters.saved_ms += now.saturating_sub(copied).as_millis();
            }
        }
        handshake.by_stack = true;
        if handshake.copies > 0 && !handshake.noted {
            handshake.noted = true;
            self.silent.unanswered(connection.dst.0);
        }
        let tried = now.saturating_sub(handshake.first);
        let patience = Nanos(tried.0.saturating_mul(PATIENCE)).max(LINGER);
        let due = now.saturating_add(patience);
        self.pending.schedule(&connection, Next::Forget, due);
    }

    fn answer(
        &mut self,
        now: Nanos,
        connection: Connection,
        to: Kind,
        ack: u32,
    ) -> Option<Answered> {
        if to == Kind::Syn {
            self.silent.answered(connection.dst.0);
        }
        let handshake = self.pending.get(&connection)?;
        let acknowledged = ack.wrapping_sub(handshake.seq.wrapping_add(1));
        let fits = match to {
            // Nothing but the SYN and the data in it has been sent.
            Kind::Syn => acknowledged <= handshake.data,
            // The server may have sent more since (RFC 7413).
            Kind::SynAck => acknowledged < 1 << 31,
        };
        if handshake.kind != to || !fits {
            return None;
        }
        let handshake = self.pending.remove(&connection)?;
        self.silent.answered(connection.dst.0);
        let took = now.saturating_sub(handshake.first);
        let unneeded = self.learn(now, connection, &handshake);
        if handshake.copies == 0 {
            self.counters.answered += 1;
            return None;
        }
        self.counters.answered_after_copy += 1;
        self.counters.unneeded += u64::from(unneeded);
        let by_copy = !unneeded && !handshake.by_stack && !self.config.dry_run;
        let saved = match by_copy {
            true => self
                .config
                .stack_rto
                .saturating_sub(handshake.last.saturating_sub(handshake.first)),
            false => Nanos::ZERO,
        };
        self.counters.saved_ms += saved.as_millis();
        Some(Answered {
            connection,
            kind: handshake.kind,
            copies: handshake.copies,
            took,
            unneeded,
            saved,
        })
    }

    /// Learns from an answer what it tells without doubt (Karn's rule, RFC 6298, 3); whether the copies were sent in vain.
    fn learn(&mut self, now: Nanos, connection: Connection, handshake: &Handshake) -> bool {
        let host = connection.dst.0;
        let took = now.saturating_sub(handshake.first);
        let known = self.paths.estimate(now, host);
        if handshake.by_stack {
            return false;
        }
        if handshake.copies == 0 || self.config.dry_run {
            self.paths.sample(now, host, took);
            return handshake.copies > 0;
        }
        let behind_copy = now.saturating_sub(handshake.last);
        match known {
            Some(estimate) if behind_copy.0 < estimate.srtt.0 / 2 => {
                // It was on its way when the copy was sent; with one copy only, it answers the packet itself.
                if handshake.copies == 1 {
                    self.paths.sample(now, host, took);
                }
                true
            }
            Some(_) => false,
            None => {
                self.paths.doubt(now, host);
                false
            }
        }
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
        let host = connection.dst.0;
        let estimate = self.paths.estimate(from, host);
        let doubled = self.paths.doubled(from, host);
        let delay = self
            .config
            .timing
            .delay(estimate, doubled, number, &mut self.rng);
        (Next::Copy(number), from.saturating_add(delay))
    }
}

impl From<Exhausted> for Held {
    fn from(exhausted: Exhausted) -> Held {
        match exhausted {
            Exhausted::Rate => Held::Rate,
            Exhausted::Share => Held::Share,
        }
    }
}
