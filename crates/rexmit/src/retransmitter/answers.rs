//! Evaluation of answers: handshake times, and the need for copies.
//!
//! A handshake time is learned only if it is certain which packet was answered (Karn's algorithm, RFC 6298, section 3):
//! no copy was sent; or the answer followed the copy sooner than the path allows; or a second answer shows that both
//! packet and copy have arrived; or the echoed timestamp identifies the packet (RFC 7323, section 3). The time is then
//! learned however long it was: otherwise a path that has become slower would never be recognized. Every other answer
//! doubles the delay until the next certain handshake time (RFC 6298, 5.5 to 5.7).

use super::Retransmitter;
use crate::claims::{Claim, Settled};
use crate::classify::Answer;
use crate::due::Answered;
use crate::frame::{Connection, Kind};
use crate::paths::network;
use crate::pending::{Handshake, Next};
use gentle_units::Nanos;

/// Packet that an answer acknowledges.
enum Sent {
    /// Original packet, or a copy of it.
    First,
    /// Retransmission by the stack, sent at this time.
    Again(Nanos),
    /// Original packet, copy or retransmission: ambiguous.
    Either,
}

impl Retransmitter {
    /// Processes an incoming answer; `exact`: its time is the kernel's timestamp.
    pub(super) fn answer(&mut self, now: Nanos, exact: bool, answer: &Answer) -> Option<Answered> {
        let connection = answer.connection;
        if answer.to == Kind::Syn {
            self.silent.answered(connection.dst.0);
        }
        let handshake = self.pending.get(&connection)?;
        let acknowledged = answer.ack.wrapping_sub(handshake.seq.wrapping_add(1));
        let fits = match answer.to {
            // Only the SYN and its data have been sent.
            Kind::Syn => acknowledged <= handshake.data,
            // The server may have sent more data since (RFC 7413).
            Kind::SynAck => acknowledged < 1 << 31,
        };
        if handshake.kind != answer.to || !fits {
            return None;
        }
        if let Some(answered) = handshake.answered {
            // A copied SYN/ACK is answered by an ACK without data (RFC 5961, section 4) that acknowledges only the SYN.
            let second = answer.to == Kind::Syn || (answer.bare && acknowledged == 0);
            // Duplicates and retransmissions by the stack cause a second answer whatever became of the copy.
            let repeated = self.config.duplicate.is_some() || handshake.by_stack.is_some();
            if second && !repeated {
                self.paths.answered_again(now, connection.dst.0);
                let took = answered.saturating_sub(handshake.first);
                self.needless(now, connection, took);
            }
            return None;
        }
        self.silent.answered(connection.dst.0);
        let took = now.saturating_sub(handshake.first);
        let copies = handshake.copies;
        let exact = exact && self.seen_whole(handshake);
        let sent = answered_packet(handshake, answer.echo);
        if copies == 0 {
            self.counters.answered += 1;
            self.certain(now, connection, exact, sent);
            self.pending.remove(&connection);
            return None;
        }
        self.counters.answered_after_copy += 1;
        match self.config.dry_run {
            true => self.answered_in_dry_run(now, connection, exact, sent),
            false => self.answered_after_copy(now, connection, exact, sent),
        }
        Some(Answered {
            connection,
            kind: answer.to,
            copies,
            took,
        })
    }

    /// Processes a later packet of the local end on a connection whose answer was not captured: the answer took another
    /// route.
    pub(super) fn confirmed(&mut self, now: Nanos, exact: bool, connection: Connection, seq: u32) {
        let Some(handshake) = self.pending.get(&connection) else {
            return;
        };
        let behind = seq.wrapping_sub(handshake.seq.wrapping_add(1)) < 1 << 31;
        if !behind || handshake.answered.is_some() {
            return;
        }
        self.silent.answered(connection.dst.0);
        let (kind, copies) = (handshake.kind, handshake.copies);
        let exact = exact && self.seen_whole(handshake);
        let sent = answered_packet(handshake, None);
        if copies > 0 {
            self.counters.answered_after_copy += 1;
            if self.config.dry_run {
                return self.answered_in_dry_run(now, connection, exact, sent);
            }
            self.paths.doubt(now, connection.dst.0, copies);
            return self.settle(now, &connection, false);
        }
        self.counters.answered_unseen += 1;
        if kind == Kind::Syn {
            // The ACK follows the answer at once; the next packet of a server may have waited for a request.
            self.certain(now, connection, exact, sent);
        }
        self.pending.remove(&connection);
    }

    /// Processes an incoming reset. Nothing is learned: it may answer the packet or a copy, and may come from a
    /// firewall.
    pub(super) fn refused(&mut self, now: Nanos, connection: Connection) {
        let Some(handshake) = self.pending.remove(&connection) else {
            return;
        };
        self.silent.answered(connection.dst.0);
        if handshake.answered.is_none() {
            self.counters.resets += 1;
            self.paths.doubt(now, connection.dst.0, handshake.copies);
        }
    }

    /// Processes an outgoing reset: a copy would arrive after the end of the connection.
    pub(super) fn abandoned(&mut self, connection: Connection) {
        let waits = |handshake: &Handshake| handshake.answered.is_none();
        if !self.pending.get(&connection).is_some_and(waits) {
            return;
        }
        let Some(handshake) = self.pending.remove(&connection) else {
            return;
        };
        self.counters.abandoned += 1;
        if !handshake.noted {
            self.silent.unanswered(connection.dst.0);
        }
    }

    /// Ends the wait for a second answer to a handshake answered after its copies. The copies are presumed needed if
    /// the answer came within the time that an answer to a copy takes and the next handshake finds the path as fast as
    /// before; this is certain only if a second answer would have been seen (`seen`).
    pub(super) fn settle(&mut self, now: Nanos, connection: &Connection, seen: bool) {
        let Some(handshake) = self.pending.remove(connection) else {
            return;
        };
        let Some(first_copy) = handshake.first_copy else {
            return;
        };
        let answered = handshake.answered.unwrap_or(now);
        let behind_copy = answered.saturating_sub(handshake.last);
        let late = self
            .paths
            .learned(now, connection.dst.0)
            .is_some_and(|learned| behind_copy > self.config.timing.timeout(&learned));
        if late {
            return;
        }
        let saved = match handshake.by_stack {
            None => {
                let waited = handshake.last.saturating_sub(handshake.first);
                self.config.stack_rto.saturating_sub(waited)
            }
            Some(_) => Nanos::ZERO,
        };
        let claim = Claim {
            connection: *connection,
            kind: handshake.kind,
            copies: handshake.copies,
            sent: handshake.first,
            delay: first_copy.saturating_sub(handshake.first),
            saved,
            seen,
        };
        self.paths.claim(now, claim);
    }

    fn answered_after_copy(&mut self, now: Nanos, connection: Connection, exact: bool, sent: Sent) {
        let host = connection.dst.0;
        let shortest = self.paths.shortest(now, host);
        let Some(handshake) = self.pending.get_mut(&connection) else {
            return;
        };
        let (copies, first) = (handshake.copies, handshake.first);
        let first_copy = handshake.first_copy.unwrap_or(first);
        match sent {
            Sent::First => {
                // Half of the shortest time: on a path with few samples, faster handshakes are possible.
                let too_soon = |shortest: Nanos| now.saturating_sub(first_copy).0 < shortest.0 / 2;
                if exact && shortest.is_some_and(too_soon) {
                    return self.needless(now, connection, now.saturating_sub(first));
                }
                self.paths.doubt(now, host, copies);
                if !exact {
                    self.pending.remove(&connection);
                    return;
                }
                // Answers are spaced as packet and copies were; the wait adds the time of the first answer for a path
                // that varies. After its RTO the remote end may retransmit by itself.
                let apart = handshake.last.saturating_sub(first);
                let wait = Nanos(apart.0.saturating_add(now.saturating_sub(first).0));
                let due = now.saturating_add(wait.min(self.config.stack_rto));
                handshake.answered = Some(now);
                self.pending.schedule(&connection, Next::Settle, due);
            }
            Sent::Again(_) => {
                // Packet and copies were lost.
                self.certain(now, connection, exact, sent);
                self.forget(&connection);
            }
            Sent::Either => {
                self.paths.doubt(now, host, copies);
                self.settle(now, &connection, false);
            }
        }
    }

    /// Processes an answer in a dry run: only the packet and the stack's retransmissions were sent, so the decision is
    /// immediate.
    fn answered_in_dry_run(&mut self, now: Nanos, connection: Connection, exact: bool, sent: Sent) {
        let shortest = self.paths.shortest(now, connection.dst.0);
        let Some(handshake) = self.pending.get(&connection) else {
            return;
        };
        let (kind, copies) = (handshake.kind, handshake.copies);
        let first_copy = handshake.first_copy.unwrap_or(handshake.first);
        let too_soon = |at: Nanos| {
            let behind = now.saturating_sub(at);
            shortest.is_some_and(|shortest| behind.0 < shortest.0 / 2)
        };
        let needless = match (&sent, handshake.by_stack) {
            (Sent::First, _) | (_, None) => true,
            (Sent::Again(_), _) => false,
            (Sent::Either, Some(repeated)) => too_soon(repeated.latest),
        };
        let saved = match handshake.by_stack {
            Some(repeated) if !needless => repeated.began.saturating_sub(first_copy),
            _ => Nanos::ZERO,
        };
        let sent = if needless { Sent::First } else { sent };
        self.certain(now, connection, exact, sent);
        self.pending.remove(&connection);
        if !needless {
            self.credit.refund(network(connection.dst.0), copies);
        }
        self.tell(Settled {
            connection,
            kind,
            copies,
            needless,
            saved,
        });
    }

    /// Records that the original packet was answered after `took`: its copies were needless, and the path is slower
    /// than assumed.
    fn needless(&mut self, now: Nanos, connection: Connection, took: Nanos) {
        let Some(handshake) = self.pending.remove(&connection) else {
            return;
        };
        self.learn(now, connection, handshake.first, took);
        self.tell(Settled {
            connection,
            kind: handshake.kind,
            copies: handshake.copies,
            needless: true,
            saved: Nanos::ZERO,
        });
    }

    /// Learns the handshake time if the answered packet is known.
    fn certain(&mut self, now: Nanos, connection: Connection, exact: bool, sent: Sent) {
        let Some(handshake) = self.pending.get(&connection).filter(|_| exact) else {
            return;
        };
        let sent = match sent {
            Sent::First => handshake.first,
            Sent::Again(at) => at,
            Sent::Either => return,
        };
        self.learn(now, connection, sent, now.saturating_sub(sent));
    }

    fn learn(&mut self, now: Nanos, connection: Connection, sent: Nanos, took: Nanos) {
        for decision in self.paths.sample(now, connection.dst.0, sent, took) {
            let claim = &decision.claim;
            if !decision.needless {
                self.credit
                    .refund(network(claim.connection.dst.0), claim.copies);
            }
            if decision.sure {
                self.tell(claim.settle(decision.needless));
            }
        }
    }

    fn tell(&mut self, settled: Settled) {
        if settled.needless {
            self.counters.unneeded += 1;
        } else {
            self.counters.rescued += 1;
            self.counters.saved_ms += settled.saved.as_millis();
        }
        self.settled.push_back(settled);
    }

    /// Whether the kernel has timestamped the packet and the socket has missed no packet since.
    fn seen_whole(&self, handshake: &Handshake) -> bool {
        handshake.exact && self.missed.is_none_or(|at| handshake.first > at)
    }
}

/// Packet answered, by the echoed timestamp (RFC 7323, section 3): copies have the timestamp of the original packet,
/// retransmissions by the stack a later one.
fn answered_packet(handshake: &Handshake, echo: Option<u32>) -> Sent {
    let Some(repeated) = handshake.by_stack else {
        return Sent::First;
    };
    match echo {
        Some(_) if handshake.tsval == repeated.tsval => Sent::Either,
        Some(_) if echo == handshake.tsval => Sent::First,
        Some(_) if echo == repeated.tsval => Sent::Again(repeated.latest),
        _ => Sent::Either,
    }
}
