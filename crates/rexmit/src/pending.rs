//! Handshakes that wait for their answer: a fixed number at most, in the order of what is to be done next.

use crate::bounded::Bounded;
use crate::frame::{Connection, Kind};
use gentle_units::Nanos;
use std::collections::BTreeSet;

/// One of them.
#[derive(Debug)]
pub(crate) struct Handshake {
    pub(crate) kind: Kind,
    pub(crate) seq: u32,
    /// Bytes of data in the packet.
    pub(crate) data: u32,
    /// The packet, ready to be sent again.
    pub(crate) bytes: Box<[u8]>,
    /// When it was sent.
    pub(crate) first: Nanos,
    /// When it or the latest copy was.
    pub(crate) last: Nanos,
    /// When the first copy was.
    pub(crate) first_copy: Option<Nanos>,
    /// Copies so far, without the duplicate.
    pub(crate) copies: u32,
    /// The stack has sent it again itself.
    pub(crate) by_stack: Option<Repeated>,
    /// Its timestamp value (RFC 7323, section 3).
    pub(crate) tsval: Option<u32>,
    /// The kernel has said when it was sent.
    pub(crate) exact: bool,
    /// When it was answered, behind a copy: a second answer would show that the copy was needless.
    pub(crate) answered: Option<Nanos>,
    /// It has been noted that its host does not answer.
    pub(crate) noted: bool,
    pub(crate) next: Next,
    /// When that is due.
    due: Nanos,
}

/// Retransmissions of the stack itself.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Repeated {
    /// When the first was sent.
    pub(crate) began: Nanos,
    /// When the latest was.
    pub(crate) latest: Nanos,
    /// The timestamp value of the latest.
    pub(crate) tsval: Option<u32>,
}

/// What is to be done next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// Send the duplicate.
    Duplicate,
    /// Send the copy of this number, from 0.
    Copy(u32),
    /// Give up.
    Forget,
    /// No second answer has come.
    Settle,
}

impl Handshake {
    pub(crate) fn new(kind: Kind, seq: u32, bytes: Box<[u8]>, now: Nanos) -> Handshake {
        Handshake {
            kind,
            seq,
            data: 0,
            bytes,
            first: now,
            last: now,
            first_copy: None,
            copies: 0,
            by_stack: None,
            tsval: None,
            exact: false,
            answered: None,
            noted: false,
            next: Next::Forget,
            due: now,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Pending {
    handshakes: Bounded<Connection, Handshake>,
    deadlines: BTreeSet<(Nanos, Connection)>,
}

impl Pending {
    pub(crate) fn new(capacity: usize) -> Pending {
        Pending {
            handshakes: Bounded::new(capacity),
            deadlines: BTreeSet::new(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.handshakes.len()
    }

    /// Adds or replaces; what had to go for it.
    pub(crate) fn insert(
        &mut self,
        connection: Connection,
        mut handshake: Handshake,
        next: Next,
        due: Nanos,
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

    /// Sets what is to be done next.
    pub(crate) fn schedule(&mut self, connection: &Connection, next: Next, due: Nanos) {
        if let Some(handshake) = self.handshakes.get_mut(connection) {
            self.deadlines.remove(&(handshake.due, *connection));
            (handshake.next, handshake.due) = (next, due);
            self.deadlines.insert((due, *connection));
        }
    }

    /// The earliest deadline, and whose it is.
    pub(crate) fn earliest(&self) -> Option<(Nanos, Connection)> {
        self.deadlines.first().copied()
    }
}
