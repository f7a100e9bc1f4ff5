//! Evaluation of answers: handshake times, and spurious copies (RFC 5682).
//!
//! A handshake time is learned only if it is certain which packet was answered (Karn's algorithm, RFC 6298, section 3):
//! no copy was sent; or the answer followed the copy sooner than the path allows; or a second answer shows that both
//! packet and copy have arrived; or the echoed timestamp identifies the packet (RFC 7323, section 3). The time is then
//! learned however long it was: otherwise a path that has become slower would never be recognized. Every other answer
//! doubles the delay until the next certain handshake time (RFC 6298, 5.5 to 5.7).

use super::Retransmitter;
use super::dry_run::Resent;
use crate::classify::Answer;
use crate::event::{Answered, Event};
use crate::frame::{Connection, Kind};
use crate::paths::network;
use crate::pending::{Handshake, NextAction};
use crate::undecided::{CopyOutcome, UndecidedCopy};
use gentle_units::{Instant, Nanos};

/// Packet that an answer acknowledges.
pub(super) enum AnsweredPacket {
    /// Original packet, or a copy of it.
    Original,
    /// Retransmission by the stack, sent at this time.
    StackRetransmission(Instant),
    /// Original packet, copy or retransmission: nothing shows which.
    Ambiguous,
}

impl Retransmitter {
    /// Processes an incoming answer; `exact`: its time is the kernel's timestamp.
    pub(super) fn answer(&mut self, now: Instant, exact: bool, answer: &Answer) -> Option<Answered> {
        let connection = answer.connection;
        if answer.to == Kind::Syn {
            self.unresponsive.answered(connection.dst.0);
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
            let second = answer.to == Kind::Syn || (answer.without_data && acknowledged == 0);
            let shows_spurious = match self.config.dry_run {
                // Duplicates and retransmissions by the stack cause a second answer whatever became of the copy.
                false => self.config.duplicate.is_none() && handshake.stack_retransmissions.is_none(),
                true => self.answers_both(connection.dst.0, handshake, answered, now),
            };
            if second && shows_spurious {
                self.paths.second_answer(now, connection.dst.0);
                let took = answered.saturating_since(handshake.first);
                self.record_spurious(now, connection, took);
            }
            return None;
        }
        self.unresponsive.answered(connection.dst.0);
        let took = now.saturating_since(handshake.first);
        let copies = handshake.copies;
        let exact = exact && self.fully_observed(handshake);
        let sent = answered_packet(handshake, answer.echo);
        if copies == 0 {
            self.counters.answered += 1;
            self.learn_if_unambiguous(now, connection, exact, sent);
            self.pending.remove(&connection);
            return None;
        }
        self.counters.answered_after_copy += 1;
        let copies = match self.config.dry_run {
            true => self.answered_in_dry_run(now, connection, exact, sent),
            false => {
                self.answered_after_copy(now, connection, exact, sent);
                copies
            }
        };
        Some(Answered { connection, kind: answer.to, copies, took })
    }

    /// Processes a later packet of the local end on a connection whose answer was not captured: the answer took another
    /// route.
    pub(super) fn local_progress(&mut self, now: Instant, exact: bool, connection: Connection, seq: u32) {
        let Some(handshake) = self.pending.get(&connection) else {
            return;
        };
        let behind = seq.wrapping_sub(handshake.seq.wrapping_add(1)) < 1 << 31;
        if !behind || handshake.answered.is_some() {
            return;
        }
        self.unresponsive.answered(connection.dst.0);
        let (kind, copies) = (handshake.kind, handshake.copies);
        let exact = exact && self.fully_observed(handshake);
        let sent = answered_packet(handshake, None);
        if copies > 0 {
            self.counters.answered_after_copy += 1;
            if self.config.dry_run {
                self.answered_in_dry_run(now, connection, exact, sent);
                return;
            }
            self.paths.back_off(now, connection.dst.0, copies);
            return self.end_answer_wait(now, &connection, false, None);
        }
        self.counters.answered_unseen += 1;
        if kind == Kind::Syn {
            // The ACK follows the answer at once; the next packet of a server may have waited for a request.
            self.learn_if_unambiguous(now, connection, exact, sent);
        }
        self.pending.remove(&connection);
    }

    /// Processes an incoming reset. Nothing is learned: it may answer the packet or a copy, and may come from a
    /// firewall.
    pub(super) fn incoming_reset(&mut self, now: Instant, connection: Connection) {
        self.count_later_copies(now, &connection, u32::MAX);
        let Some(handshake) = self.pending.remove(&connection) else {
            return;
        };
        self.unresponsive.answered(connection.dst.0);
        if handshake.answered.is_none() {
            self.counters.resets += 1;
            self.paths.back_off(now, connection.dst.0, handshake.copies);
        }
    }

    /// Processes an outgoing reset: a copy would arrive after the end of the connection.
    pub(super) fn outgoing_reset(&mut self, now: Instant, connection: Connection) {
        let waits = |handshake: &Handshake| handshake.answered.is_none();
        if !self.pending.get(&connection).is_some_and(waits) {
            return;
        }
        self.count_later_copies(now, &connection, u32::MAX);
        let Some(handshake) = self.pending.remove(&connection) else {
            return;
        };
        self.counters.abandoned += 1;
        if !handshake.counted_unanswered {
            self.unresponsive.unanswered(connection.dst.0);
        }
    }

    /// Ends the wait for a second answer to a handshake answered after its copies. The copies are presumed needed if
    /// the answer came within the time that an answer to a copy takes and the next handshake finds the path as fast as
    /// before; this is certain only if a second answer would have been seen (`second_answer_visible`).
    /// In a dry run, retransmissions by the stack (`resent`) take the place of the copies.
    pub(super) fn end_answer_wait(
        &mut self,
        now: Instant,
        connection: &Connection,
        second_answer_visible: bool,
        resent: Option<Resent>,
    ) {
        let Some(handshake) = self.pending.remove(connection) else {
            return;
        };
        let Some(first_copy) = handshake.first_copy else {
            return;
        };
        let answered = handshake.answered.unwrap_or(now);
        let after_copy = answered.saturating_since(resent.map_or(handshake.last, |resent| resent.latest));
        // On the shortest paths, a host that is busy for a moment delays answers by more than their time varies.
        let timing = &self.config.timing;
        let late = self
            .paths
            .learned(now, connection.dst.0)
            .is_some_and(|learned| after_copy > timing.timeout(&learned).max(timing.min));
        if late {
            return;
        }
        let saved = match (resent, handshake.stack_retransmissions) {
            (Some(resent), _) => resent.saved(handshake.last, answered),
            (None, None) => {
                let waited = handshake.last.saturating_since(handshake.first);
                self.config.stack_rto.saturating_sub(waited)
            }
            (None, Some(_)) => Nanos::ZERO,
        };
        let sent_again = resent.map_or(first_copy, |resent| resent.began);
        let copy = UndecidedCopy {
            connection: *connection,
            kind: handshake.kind,
            copies: handshake.copies,
            sent: handshake.first,
            delay: sent_again.saturating_since(handshake.first),
            saved,
            second_answer_visible,
        };
        self.counters.saved_undecided_ms += saved.as_millis();
        self.paths.add_undecided(now, copy);
    }

    fn answered_after_copy(&mut self, now: Instant, connection: Connection, exact: bool, sent: AnsweredPacket) {
        let host = connection.dst.0;
        let shortest = self.paths.shortest(now, host);
        let Some(handshake) = self.pending.get_mut(&connection) else {
            return;
        };
        let (copies, first) = (handshake.copies, handshake.first);
        let first_copy = handshake.first_copy.unwrap_or(first);
        match sent {
            AnsweredPacket::Original => {
                // Half of the shortest time: on a path with few samples, faster handshakes are possible.
                let too_soon = |shortest: Nanos| now.saturating_since(first_copy).0 < shortest.0 / 2;
                if exact && shortest.is_some_and(too_soon) {
                    return self.record_spurious(now, connection, now.saturating_since(first));
                }
                self.paths.back_off(now, host, copies);
                if !exact {
                    self.pending.remove(&connection);
                    return;
                }
                // Answers are spaced as packet and copies were; the wait adds the time of the first answer for a path
                // that varies. After its RTO the remote end may retransmit on its own.
                let apart = handshake.last.saturating_since(first);
                let wait = Nanos(apart.0.saturating_add(now.saturating_since(first).0));
                let due = now + wait.min(self.config.stack_rto);
                handshake.answered = Some(now);
                self.pending.schedule(&connection, NextAction::Decide, due);
            }
            AnsweredPacket::StackRetransmission(_) => {
                // Packet and copies were lost.
                self.learn_if_unambiguous(now, connection, exact, sent);
                self.forget(now, &connection);
            }
            AnsweredPacket::Ambiguous => {
                self.paths.back_off(now, host, copies);
                self.end_answer_wait(now, &connection, false, None);
            }
        }
    }

    /// Records that the original packet was answered after `took`: its copies were spurious, and the path is slower
    /// than assumed.
    pub(super) fn record_spurious(&mut self, now: Instant, connection: Connection, took: Nanos) {
        let Some(handshake) = self.pending.remove(&connection) else {
            return;
        };
        self.learn(now, connection, handshake.first, took);
        self.report(CopyOutcome {
            connection,
            kind: handshake.kind,
            copies: handshake.copies,
            spurious: true,
            saved: Nanos::ZERO,
        });
    }

    /// Learns the handshake time if the answered packet is known and all times are the kernel's (`exact`).
    pub(super) fn learn_if_unambiguous(
        &mut self,
        now: Instant,
        connection: Connection,
        exact: bool,
        sent: AnsweredPacket,
    ) {
        let Some(handshake) = self.pending.get(&connection).filter(|_| exact) else {
            return;
        };
        let sent = match sent {
            AnsweredPacket::Original => handshake.first,
            AnsweredPacket::StackRetransmission(at) => at,
            AnsweredPacket::Ambiguous => return,
        };
        self.learn(now, connection, sent, now.saturating_since(sent));
    }

    fn learn(&mut self, now: Instant, connection: Connection, sent: Instant, took: Nanos) {
        for decision in self.paths.sample(now, connection.dst.0, sent, took) {
            let copy = &decision.copy;
            if !decision.spurious {
                self.spurious_budget.refund(network(copy.connection.dst.0), copy.copies);
            }
            if decision.certain {
                self.counters.saved_undecided_ms -= copy.saved.as_millis();
                self.report(copy.outcome(decision.spurious));
            }
        }
    }

    pub(super) fn report(&mut self, outcome: CopyOutcome) {
        if outcome.spurious {
            self.counters.spurious += 1;
        } else {
            self.counters.rescued += 1;
            self.counters.saved_ms += outcome.saved.as_millis();
        }
        self.events.push_back(Event::Decided(outcome));
    }

    /// Whether the kernel has timestamped the packet and the socket has missed no packet since.
    fn fully_observed(&self, handshake: &Handshake) -> bool {
        handshake.exact && self.missed.is_none_or(|at| handshake.first > at)
    }
}

/// Packet answered, by the echoed timestamp (RFC 7323, section 3): copies have the timestamp of the original packet,
/// retransmissions by the stack a later one.
fn answered_packet(handshake: &Handshake, echo: Option<u32>) -> AnsweredPacket {
    let Some(retransmissions) = handshake.stack_retransmissions else {
        return AnsweredPacket::Original;
    };
    match echo {
        Some(_) if handshake.tsval == retransmissions.tsval => AnsweredPacket::Ambiguous,
        Some(_) if echo == handshake.tsval => AnsweredPacket::Original,
        Some(_) if echo == retransmissions.tsval => AnsweredPacket::StackRetransmission(retransmissions.latest),
        _ => AnsweredPacket::Ambiguous,
    }
}
