//! Dry run: copies that a real run would have sent, and their outcome, which the stack's retransmissions show.
//!
//! A copy is assumed to have the fate of the stack's retransmission with its number: if the second retransmission is
//! answered, the first copy would have been lost, and the second would have been answered. The copies that would have
//! been sent are therefore known when the handshake ends; only the first is certain when it is due.

use super::Retransmitter;
use super::answers::AnsweredPacket;
use crate::event::{Event, FrameCopy};
use crate::frame::{Connection, Kind};
use crate::pending::{Handshake, NextAction};
use crate::undecided::CopyOutcome;
use gentle_units::{Instant, Nanos};
use gentle_wire::Address;

/// Longest times by which a kernel's timer of one second fires early and late: one tick, and the eight ticks to which it
/// is rounded up (kernel/time/timer.c), at the lowest frequency (`CONFIG_HZ_100`).
const TIMER_EARLY: Nanos = Nanos::from_millis(10);
const TIMER_LATE: Nanos = Nanos::from_millis(80);

/// Retransmissions by either end that take the place of copies in a dry run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Resent {
    pub(super) began: Instant,
    pub(super) latest: Instant,
    count: u32,
}

impl Resent {
    /// Time by which a copy sent at `copy` would have preceded the stack's first retransmission; zero if its answer
    /// would have come later than that. `answered`: time of the answer to the latest retransmission.
    pub(super) fn saved(&self, copy: Instant, answered: Instant) -> Nanos {
        match copy + answered.saturating_since(self.latest) < self.began {
            true => self.began.saturating_since(copy),
            false => Nanos::ZERO,
        }
    }
}

impl Retransmitter {
    /// Records that a copy after the first is due.
    pub(super) fn later_copy_due(&mut self, now: Instant, connection: &Connection, number: u32) {
        if let Some(handshake) = self.pending.get_mut(connection) {
            handshake.later_due.push((number, now));
            handshake.last = now;
        }
        let (next, due) = self.following(now, connection, number);
        self.pending.schedule(connection, next, due);
    }

    /// Counts the copies after the first that a real run would have sent: those that were due, up to `most` with the
    /// first.
    pub(super) fn count_later_copies(&mut self, now: Instant, connection: &Connection, most: u32) {
        let Some(handshake) = self.pending.get_mut(connection) else {
            return;
        };
        let (kind, first, due) = (handshake.kind, handshake.first, std::mem::take(&mut handshake.later_due));
        if !due.is_empty() {
            handshake.last = handshake.first_copy.unwrap_or(first);
        }
        for (number, at) in due {
            if self.pending.get(connection).is_none_or(|handshake| handshake.copies >= most) {
                return;
            }
            let event = match self.permit(now, connection, kind, number) {
                Err(reason) => self.suppressed(*connection, kind, reason),
                Ok(()) => {
                    self.counters.copies += 1;
                    if let Some(handshake) = self.pending.get_mut(connection) {
                        handshake.copies += 1;
                        handshake.last = at;
                    }
                    let waited = at.saturating_since(first);
                    Event::Copy(FrameCopy { connection: *connection, kind, number, waited, bytes: &[] })
                }
            };
            self.events.push_back(event);
        }
    }

    /// Retransmissions before the answer that arrived at `answered`; `None` if the original packet was answered.
    ///
    /// A server whose SYN/ACK was lost may retransmit it just before this host retransmits the SYN, if both timers
    /// have the same RTO.
    pub(super) fn resent(&self, host: Address, handshake: &Handshake, answered: Instant) -> Option<Resent> {
        let own = handshake.stack_retransmissions.map(|own| Resent {
            began: own.began,
            latest: own.latest,
            count: own.count,
        });
        let timer = own.map_or(handshake.first, |own| own.latest) + self.config.stack_rto;
        let latest = self.paths.learned(answered, host).map(|learned| {
            let handshake_time = self.config.timing.timeout(&learned);
            timer + TIMER_LATE + handshake_time
        });
        let by_server = handshake.kind == Kind::Syn
            && answered + TIMER_EARLY >= timer
            && latest.is_some_and(|latest| answered <= latest);
        if !by_server {
            return own;
        }
        let (began, count) = own.map_or((timer, 0), |own| (own.began, own.count));
        Some(Resent { began, latest: answered, count: count.saturating_add(1) })
    }

    /// Whether an answer at `now` and the first one, at `answered`, are as far apart as the original packet and its
    /// retransmission, so that each of these was answered.
    pub(super) fn answers_both(&self, host: Address, handshake: &Handshake, answered: Instant, now: Instant) -> bool {
        let Some(resent) = self.resent(host, handshake, answered) else {
            return false;
        };
        let apart = resent.began.saturating_since(handshake.first);
        now.saturating_since(answered).0 >= apart.0 / 2
    }

    /// Processes the answer to a packet with copies; returns their number.
    pub(super) fn answered_in_dry_run(
        &mut self,
        now: Instant,
        connection: Connection,
        exact: bool,
        sent: AnsweredPacket,
    ) -> u32 {
        let host = connection.dst.0;
        let Some(handshake) = self.pending.get(&connection) else {
            return 0;
        };
        let (kind, first) = (handshake.kind, handshake.first);
        let Some(resent) = self.resent(host, handshake, now) else {
            let copies = self.count_and_get(now, &connection, u32::MAX);
            match exact {
                true => self.record_spurious(now, connection, now.saturating_since(first)),
                false => drop(self.pending.remove(&connection)),
            }
            return copies;
        };
        // The latest retransmission may be too recent to have been answered.
        let too_soon = |shortest: Nanos| now.saturating_since(resent.latest).0 < shortest.0 / 2;
        let unanswered = resent.count > 1 && self.paths.shortest(now, host).is_some_and(too_soon);
        let needed = resent.count - u32::from(unanswered);
        let copies = self.count_and_get(now, &connection, needed);
        if copies < needed {
            // All copies would have been lost.
            match sent {
                AnsweredPacket::StackRetransmission(_) => {
                    self.learn_if_unambiguous(now, connection, exact, sent);
                    self.forget(now, &connection);
                }
                _ => {
                    self.paths.back_off(now, host, copies);
                    self.end_answer_wait(now, &connection, false, None);
                }
            }
            return copies;
        }
        self.paths.back_off(now, host, copies);
        let Some(handshake) = self.pending.get_mut(&connection) else {
            return copies;
        };
        match sent {
            AnsweredPacket::StackRetransmission(_) => {
                let saved = resent.saved(handshake.last, now);
                self.forget(now, &connection);
                self.report(CopyOutcome { connection, kind, copies, spurious: false, saved });
            }
            // Hosts echo the timestamp of the first packet that they received, whichever they answer. A second answer
            // then decides, or the next handshake, as in a real run.
            _ if exact => {
                handshake.answered = Some(now);
                let wait = now.saturating_since(first);
                self.pending.schedule(&connection, NextAction::Decide, now + wait);
            }
            _ => drop(self.pending.remove(&connection)),
        }
        copies
    }

    fn count_and_get(&mut self, now: Instant, connection: &Connection, most: u32) -> u32 {
        self.count_later_copies(now, connection, most);
        self.pending.get(connection).map_or(0, |handshake| handshake.copies)
    }
}
