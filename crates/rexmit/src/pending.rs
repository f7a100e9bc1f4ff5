//! Handshakes waiting for an answer: a bounded table with a queue of deadlines.

use crate::bounded::Bounded;
use crate::frame::{Connection, Kind};
use gentle_units::Instant;
use std::collections::BTreeSet;

/// Handshake waiting for an answer.
#[derive(Debug)]
pub(crate) struct Handshake {
    pub(crate) kind: Kind,
    pub(crate) seq: u32,
    /// Data in the packet, bytes.
    pub(crate) data: u32,
    /// Frame, ready to be sent again; empty in a dry run.
    pub(crate) bytes: Box<[u8]>,
    /// Time at which the original packet was sent.
    pub(crate) first: Instant,
    /// Time at which the original packet or the latest copy was sent.
    pub(crate) last: Instant,
    /// Time at which the first copy was sent.
    pub(crate) first_copy: Option<Instant>,
    /// Number of copies sent, without the duplicate.
    pub(crate) copies: u32,
    /// Copies after the first that were due in a dry run, each with its number and time; which of them would have been
    /// sent is known at the end of the handshake.
    pub(crate) later_due: Vec<(u32, Instant)>,
    /// Retransmissions by the stack itself.
    pub(crate) stack_retransmissions: Option<StackRetransmissions>,
    /// Timestamp value, TSval, of the packet (RFC 7323, section 3).
    pub(crate) tsval: Option<u32>,
    /// Whether the kernel has timestamped the packet.
    pub(crate) exact: bool,
    /// Time of the first answer, if it came after a copy: a second answer would show that the copy was spurious.
    pub(crate) answered: Option<Instant>,
    /// Whether the handshake has been counted as unanswered by its host.
    pub(crate) counted_unanswered: bool,
    pub(crate) next: NextAction,
    /// Deadline of `next`.
    due: Instant,
}

/// Retransmissions of a packet by the stack itself; several within half an RTO count as the first of them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StackRetransmissions {
    /// Time at which the first retransmission was sent.
    pub(crate) began: Instant,
    /// Time at which the latest retransmission was sent.
    pub(crate) latest: Instant,
    /// Number of retransmissions.
    pub(crate) count: u32,
    /// Timestamp value of the latest retransmission.
    pub(crate) tsval: Option<u32>,
}

/// Next action for a handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NextAction {
    /// Send the duplicate.
    Duplicate,
    /// Send the copy with this number, from 0.
    Copy(u32),
    /// Give up waiting for an answer.
    Expire,
    /// Give up waiting for a second answer.
    Decide,
}

impl Handshake {
    pub(crate) fn new(kind: Kind, seq: u32, bytes: Box<[u8]>, now: Instant) -> Handshake {
        Handshake {
            kind,
            seq,
            data: 0,
            bytes,
            first: now,
            last: now,
            first_copy: None,
            copies: 0,
            later_due: Vec::new(),
            stack_retransmissions: None,
            tsval: None,
            exact: false,
            answered: None,
            counted_unanswered: false,
            next: NextAction::Expire,
            due: now,
        }
    }
}

/// Handshakes waiting for an answer, by connection and by deadline.
#[derive(Debug)]
pub(crate) struct Pending {
    handshakes: Bounded<Connection, Handshake>,
    deadlines: BTreeSet<(Instant, Connection)>,
}

impl Pending {
    pub(crate) fn new(capacity: usize) -> Pending {
        Pending { handshakes: Bounded::new(capacity), deadlines: BTreeSet::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.handshakes.len()
    }

    /// Adds or replaces a handshake; returns the one evicted to make room.
    pub(crate) fn insert(
        &mut self,
        connection: Connection,
        mut handshake: Handshake,
        next: NextAction,
        due: Instant,
    ) -> Option<(Connection, Handshake)> {
        self.remove(&connection);
        (handshake.next, handshake.due) = (next, due);
        self.deadlines.insert((due, connection));
        let (oldest, gone) = self.handshakes.insert(connection, handshake)?;
        self.deadlines.remove(&(gone.due, oldest));
        Some((oldest, gone))
    }

    pub(crate) fn get_mut(&mut self, connection: &Connection) -> Option<&mut Handshake> {
        self.handshakes.get_mut(connection)
    }

    pub(crate) fn get(&self, connection: &Connection) -> Option<&Handshake> {
        self.handshakes.get(connection)
    }

    pub(crate) fn remove(&mut self, connection: &Connection) -> Option<Handshake> {
        let handshake = self.handshakes.remove(connection)?;
        self.deadlines.remove(&(handshake.due, *connection));
        Some(handshake)
    }

    /// Sets the next action and its deadline.
    pub(crate) fn schedule(&mut self, connection: &Connection, next: NextAction, due: Instant) {
        if let Some(handshake) = self.handshakes.get_mut(connection) {
            self.deadlines.remove(&(handshake.due, *connection));
            (handshake.next, handshake.due) = (next, due);
            self.deadlines.insert((due, *connection));
        }
    }

    /// Earliest deadline and its connection.
    pub(crate) fn earliest(&self) -> Option<(Instant, Connection)> {
        self.deadlines.first().copied()
    }
}
