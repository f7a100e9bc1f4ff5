//! Core of the wire engine: frames and times as input, copies as output.

mod answers;
mod dry_run;

use crate::budget::Budgets;
use crate::classify::{FrameClass, Opening, classify};
use crate::config::Config;
use crate::copy::copy;
use crate::counters::Counters;
use crate::event::{Answered, Event, FrameCopy, SuppressReason};
use crate::frame::{Connection, Direction, Frame, Kind};
use crate::paths::{PathRecord, Paths, network};
use crate::pending::{Handshake, NextAction, Pending, StackRetransmissions};
use crate::spurious_budget::SpuriousBudget;
use crate::unresponsive::UnresponsiveHosts;
use gentle_units::{Instant, Nanos};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::VecDeque;

/// Minimum time to wait for an answer after the last copy: longer than the longest initial RTO in use, so that the
/// stack's own retransmission is recognized as one.
const MIN_FINAL_WAIT: Nanos = Nanos::from_secs(10);

/// Wait after a retransmission by the stack, as a multiple of the time since the original packet: the stack doubles its
/// RTO (RFC 6298, 5.5), so its next retransmission is twice that time away.
const STACK_WAIT_FACTOR: u64 = 3;

/// Core of the wire engine. It has no clock, no socket and no source of randomness: `now` is the time since any fixed
/// moment and must be monotonic.
#[derive(Debug)]
pub struct Retransmitter {
    config: Config,
    pending: Pending,
    paths: Paths,
    spurious_budget: SpuriousBudget,
    unresponsive: UnresponsiveHosts,
    budgets: Budgets,
    rng: Xoshiro256PlusPlus,
    counters: Counters,
    /// Events that frames have caused, to be returned by [`Retransmitter::poll`].
    events: VecDeque<Event<'static>>,
    /// Time until which some packets were not seen by the socket.
    missed: Option<Instant>,
}

impl Retransmitter {
    /// Creates an engine; `seed` is the seed of the jitter.
    pub fn new(config: Config, seed: u64) -> Retransmitter {
        Retransmitter {
            pending: Pending::new(config.table),
            paths: Paths::new(config.paths, config.age),
            spurious_budget: SpuriousBudget::new(),
            unresponsive: UnresponsiveHosts::new(config.give_up),
            budgets: Budgets::new(config.limits),
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
            counters: Counters::default(),
            events: VecDeque::new(),
            missed: None,
            config,
        }
    }

    /// Processes a frame that passed at `now`. Returns the answer if the frame is the first answer to a packet that was
    /// copied.
    pub fn frame(&mut self, now: Instant, direction: Direction, frame: &Frame<'_>) -> Option<Answered> {
        self.counters.frames += 1;
        match classify(frame, direction, &self.config.selection) {
            FrameClass::Opening(opening) => self.opening(now, frame, &opening),
            FrameClass::Answer(answer) => return self.answer(now, frame.exact_time, &answer),
            FrameClass::LocalProgress { connection, seq } => {
                self.local_progress(now, frame.exact_time, connection, seq);
            }
            FrameClass::IncomingReset(connection) => self.incoming_reset(now, connection),
            FrameClass::OutgoingReset(connection) => self.outgoing_reset(now, connection),
            FrameClass::Undeliverable { connection, seq } => {
                // RFC 5927, 4.1: an ICMP error with a wrong sequence number is forged.
                let ours = |handshake: &Handshake| handshake.seq == seq && handshake.answered.is_none();
                if self.pending.get(&connection).is_some_and(ours) {
                    self.forget(now, &connection);
                    self.counters.undeliverable += 1;
                }
            }
            FrameClass::Malformed => self.counters.malformed += 1,
            FrameClass::Other => {}
        }
        None
    }

    /// Records that packets before `now` were not seen. Handshakes in progress may have been answered: they get no
    /// copies, and nothing is learned from them.
    pub fn missed(&mut self, now: Instant) {
        self.missed = Some(now);
    }

    /// Whether a handshake waits for an answer.
    pub fn is_waiting(&self) -> bool {
        self.pending.len() > 0
    }

    /// Earliest time at which [`poll`](Retransmitter::poll) has an event; `None` if nothing is scheduled.
    pub fn next_deadline(&self) -> Option<Instant> {
        match self.events.is_empty() {
            true => self.pending.earliest().map(|(due, _)| due),
            false => Some(Instant::ZERO),
        }
    }

    /// Next event that is due; call until `None`.
    pub fn poll(&mut self, now: Instant) -> Option<Event<'_>> {
        let ready = self.ready(now);
        if let Some(event) = self.events.pop_front() {
            return Some(event);
        }
        let (connection, kind, next) = ready?;
        let number = match next {
            NextAction::Expire | NextAction::Decide => {
                self.count_later_copies(now, &connection, u32::MAX);
                if let Some(event) = self.events.pop_front() {
                    // The handshake is still due.
                    return Some(event);
                }
                let handshake = self.forget(now, &connection)?;
                if !handshake.counted_unanswered {
                    self.unresponsive.unanswered(connection.dst.0);
                }
                self.counters.unanswered += 1;
                return Some(Event::Unanswered { connection, kind, copies: handshake.copies });
            }
            NextAction::Duplicate => 0,
            NextAction::Copy(number) => number + 1,
        };
        let permit = self.permit(now, &connection, kind, number);
        let (following, due) = self.following(now, &connection, number);
        self.pending.schedule(&connection, following, due);
        if let Err(reason) = permit {
            return Some(self.suppressed(connection, kind, reason));
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
        Some(Event::Copy(FrameCopy {
            connection,
            kind,
            number,
            waited: now.saturating_since(handshake.first),
            bytes: &handshake.bytes,
        }))
    }

    /// Counts a suppressed copy.
    fn suppressed(&mut self, connection: Connection, kind: Kind, reason: SuppressReason) -> Event<'static> {
        *match reason {
            SuppressReason::Rate => &mut self.counters.held_by_rate,
            SuppressReason::Share => &mut self.counters.held_by_share,
            SuppressReason::Unresponsive => &mut self.counters.held_by_silence,
            SuppressReason::Spurious => &mut self.counters.held_by_spurious,
            SuppressReason::Missed => &mut self.counters.held_by_missed,
        } += 1;
        Event::Suppressed { connection, kind, reason }
    }

    /// Records that the system failed to send copy `number` (0: the duplicate) of this connection's packet.
    pub fn not_sent(&mut self, connection: &Connection, number: u32) {
        self.counters.send_errors += 1;
        if let Some(handshake) = self.pending.get_mut(connection).filter(|_| number > 0) {
            handshake.copies -= 1;
            if handshake.copies == 0 {
                handshake.first_copy = None;
            }
            self.spurious_budget.refund(network(connection.dst.0), 1);
        }
    }

    /// Counters since the start.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Number of handshakes that wait for an answer.
    pub fn pending(&self) -> usize {
        self.pending.len()
    }

    /// Learned paths that have not expired.
    pub fn paths(&self, now: Instant) -> Vec<PathRecord> {
        self.paths.records(now)
    }

    /// Restores the paths learned by an earlier run; `now` is in the clock of the records.
    pub fn restore(&mut self, now: Instant, records: Vec<PathRecord>) {
        self.paths.restore(now, records);
    }

    fn opening(&mut self, now: Instant, frame: &Frame<'_>, opening: &Opening<'_>) {
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
        // A new attempt between the same endpoints: the old one is over.
        self.forget(now, &connection);
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
        self.spurious_budget.opened(network(connection.dst.0));
        let bytes = if self.config.dry_run { Box::default() } else { bytes };
        let mut handshake = Handshake::new(opening.kind, seq, bytes, now);
        handshake.data = data;
        handshake.tsval = tsval;
        handshake.exact = frame.exact_time;
        let (next, due) = match self.config.duplicate {
            Some(gap) => (NextAction::Duplicate, now + gap),
            None => self.attempt(now, connection, 0),
        };
        if let Some((gone, handshake)) = self.pending.insert(connection, handshake, next, due)
            && handshake.answered.is_none()
        {
            self.counters.evicted += 1;
            self.spurious_budget.refund(network(gone.dst.0), handshake.copies);
        }
    }

    /// Handles a retransmission by the stack: no more copies are sent.
    fn sent_by_stack(&mut self, now: Instant, connection: Connection, tsval: Option<u32>) {
        let Some(handshake) = self.pending.get_mut(&connection) else {
            return;
        };
        let (began, count) = match handshake.stack_retransmissions {
            // A server's timer and the SYN that its client retransmits cause a SYN/ACK each, at nearly the same time.
            Some(retransmissions) if now.saturating_since(retransmissions.latest).0 < self.config.stack_rto.0 / 2 => {
                return;
            }
            Some(retransmissions) => (retransmissions.began, retransmissions.count.saturating_add(1)),
            None => {
                self.counters.stack_retransmissions += 1;
                (now, 1)
            }
        };
        handshake.stack_retransmissions = Some(StackRetransmissions { began, latest: now, count, tsval });
        if handshake.copies > 0 && !handshake.counted_unanswered {
            handshake.counted_unanswered = true;
            self.unresponsive.unanswered(connection.dst.0);
        }
        let tried = now.saturating_since(handshake.first);
        let wait = Nanos(tried.0.saturating_mul(STACK_WAIT_FACTOR)).max(MIN_FINAL_WAIT);
        let due = now + wait;
        self.pending.schedule(&connection, NextAction::Expire, due);
    }

    /// Connection that is due and its next action. Actions internal to the core are carried out here and not returned.
    fn ready(&mut self, now: Instant) -> Option<(Connection, Kind, NextAction)> {
        loop {
            let (_, connection) = self.pending.earliest().filter(|(due, _)| *due <= now)?;
            let handshake = self.pending.get(&connection)?;
            let (kind, next) = (handshake.kind, handshake.next);
            match next {
                NextAction::Decide => {
                    let second_answer_visible = self.config.dry_run || handshake.stack_retransmissions.is_none();
                    let answered = handshake.answered.unwrap_or(now);
                    let resent = match self.config.dry_run {
                        true => self.resent(connection.dst.0, handshake, answered),
                        false => None,
                    };
                    self.end_answer_wait(now, &connection, second_answer_visible, resent);
                }
                NextAction::Copy(number) => {
                    // Other handshakes may have been answered in the meantime and have raised the delay.
                    let from = match number {
                        0 => handshake.first,
                        _ => handshake.last,
                    };
                    let due = from + self.delay(now, &connection, number);
                    if due > now {
                        self.pending.schedule(&connection, next, due);
                    } else if self.config.dry_run && handshake.copies > 0 {
                        self.later_copy_due(now, &connection, number + 1);
                    } else {
                        return Some((connection, kind, next));
                    }
                }
                NextAction::Expire | NextAction::Duplicate => {
                    return Some((connection, kind, next));
                }
            }
        }
    }

    /// Checks whether copy `number` (0: the duplicate) may be sent, and charges for it.
    fn permit(&mut self, now: Instant, connection: &Connection, kind: Kind, number: u32) -> Result<(), SuppressReason> {
        let host = connection.dst.0;
        let opener = opener(connection, kind);
        if self.unresponsive.is_suppressed(host) {
            return Err(SuppressReason::Unresponsive);
        }
        if number == 0 {
            return Ok(self.budgets.duplicate(now, opener)?);
        }
        let unseen = |handshake: &Handshake| self.missed.is_some_and(|at| handshake.first <= at);
        if self.pending.get(connection).is_some_and(unseen) {
            return Err(SuppressReason::Missed);
        }
        // A user who sets a fixed delay has accepted the number of copies that follows.
        let learned = self.config.timing.is_learned();
        if learned && !self.spurious_budget.copy(network(host)) {
            return Err(SuppressReason::Spurious);
        }
        self.budgets.copy(now, opener).map_err(|exhausted| {
            self.spurious_budget.refund(network(host), 1);
            SuppressReason::from(exhausted)
        })
    }

    /// Next action after `done` copies have been tried.
    fn following(&mut self, now: Instant, connection: &Connection, done: u32) -> (NextAction, Instant) {
        let from = match (done, self.pending.get(connection)) {
            // The delay counts from the original packet, not from its duplicate.
            (0, Some(handshake)) => handshake.first,
            _ => now,
        };
        let (next, due) = self.attempt(from, *connection, done);
        (next, due.max(now))
    }

    /// Action and deadline for copy `number` (from 0), or for giving up after the last one.
    fn attempt(&mut self, from: Instant, connection: Connection, number: u32) -> (NextAction, Instant) {
        if number >= self.config.copies {
            return (NextAction::Expire, from + MIN_FINAL_WAIT);
        }
        let delay = self.delay(from, &connection, number);
        let delay = self.config.timing.jitter(delay, &mut self.rng);
        (NextAction::Copy(number), from + delay)
    }

    /// Delay of copy `number` (from 0) after the previous packet, without jitter. The delay follows RFC 6298 until that
    /// has led to spurious copies; from then on it is at least the tail of the recent handshake times. (With the tail
    /// always included, a path that was slow for a while would be served slowly for the next hour.)
    fn delay(&self, now: Instant, connection: &Connection, number: u32) -> Nanos {
        let host = connection.dst.0;
        let mut learned = self.paths.learned(now, host);
        let uncharged = self.pending.get(connection).map_or(0, |handshake| handshake.later_due.len() as u32);
        if !self.spurious_budget.has_deficit(network(host), uncharged)
            && let Some(learned) = &mut learned
        {
            learned.tail = Nanos::ZERO;
        }
        let backoffs = self.paths.backoffs(now, host);
        self.config.timing.delay(learned, backoffs, number)
    }

    /// Removes a handshake whose copies can no longer be decided. Copies of an unanswered one were not spurious, and are
    /// refunded.
    fn forget(&mut self, now: Instant, connection: &Connection) -> Option<Handshake> {
        self.count_later_copies(now, connection, u32::MAX);
        let handshake = self.pending.remove(connection)?;
        if handshake.answered.is_none() {
            let network = network(connection.dst.0);
            self.spurious_budget.refund(network, handshake.copies);
        }
        Some(handshake)
    }
}

/// Address that opened a connection, to whose budget copies are charged.
fn opener(connection: &Connection, kind: Kind) -> gentle_wire::Address {
    match kind {
        Kind::Syn => connection.src.0,
        Kind::SynAck => connection.dst.0,
    }
}
