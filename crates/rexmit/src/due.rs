//! Output of the core.

use crate::budget::Exhausted;
use crate::claims::Settled;
use crate::frame::{Connection, Kind};
use gentle_units::Nanos;

/// Event that is due.
#[derive(Debug, PartialEq, Eq)]
pub enum Due<'a> {
    /// Copy to be sent unchanged; in a dry run, a copy that would have been sent.
    Copy(Copy<'a>),
    /// A copy was due and is suppressed.
    Held {
        /// Connection of the packet.
        connection: Connection,
        /// Kind of the packet.
        kind: Kind,
        /// Reason for the suppression.
        reason: Held,
    },
    /// No answer arrived before the handshake expired.
    Unanswered {
        /// Connection of the packet.
        connection: Connection,
        /// Kind of the packet.
        kind: Kind,
        /// Number of copies sent.
        copies: u32,
    },
    /// Decision whether the copies of an answered packet were needed.
    Settled(Settled),
}

impl Due<'_> {
    /// Connection that the event is about.
    pub fn connection(&self) -> Connection {
        match self {
            Due::Copy(copy) => copy.connection,
            Due::Held { connection, .. } | Due::Unanswered { connection, .. } => *connection,
            Due::Settled(settled) => settled.connection,
        }
    }
}

/// Packet that is sent again.
#[derive(Debug, PartialEq, Eq)]
pub struct Copy<'a> {
    /// Connection of the packet.
    pub connection: Connection,
    /// Kind of the packet: SYN or SYN/ACK.
    pub kind: Kind,
    /// Number of the copy from 1; 0 for the optional duplicate that every packet gets.
    pub number: u32,
    /// Time since the original packet was sent.
    pub waited: Nanos,
    /// Bytes of the frame.
    pub bytes: &'a [u8],
}

/// Reason why a copy is suppressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    /// The limit per second is reached.
    Rate,
    /// The share of the opened connections is used up.
    Share,
    /// The host does not answer.
    Silence,
    /// Too many copies to this network were, or may have been, needless.
    Needless,
    /// The socket dropped packets since the handshake began; the answer may be among them.
    Missed,
}

impl Held {
    /// Name used in logs.
    pub const fn name(self) -> &'static str {
        match self {
            Held::Rate => "rate",
            Held::Share => "share",
            Held::Silence => "silence",
            Held::Needless => "needless",
            Held::Missed => "missed",
        }
    }
}

/// First answer to a packet that was sent again. [`Due::Settled`] tells later, if this can be known, whether the answer
/// was to the original packet or to a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answered {
    /// Connection of the packet.
    pub connection: Connection,
    /// Kind of the packet: SYN or SYN/ACK.
    pub kind: Kind,
    /// Number of copies sent.
    pub copies: u32,
    /// Time since the original packet was sent.
    pub took: Nanos,
}

impl From<Exhausted> for Held {
    fn from(exhausted: Exhausted) -> Held {
        match exhausted {
            Exhausted::Rate => Held::Rate,
            Exhausted::Share => Held::Share,
        }
    }
}
