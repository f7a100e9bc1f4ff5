//! What comes out of the core.

use crate::budget::Exhausted;
use crate::claims::Settled;
use crate::frame::{Connection, Kind};
use gentle_units::Nanos;

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
    /// It is known now whether the copies of an answered packet were needed.
    Settled(Settled),
}

impl Due<'_> {
    /// Between which ends.
    pub fn connection(&self) -> Connection {
        match self {
            Due::Copy(copy) => copy.connection,
            Due::Held { connection, .. } | Due::Unanswered { connection, .. } => *connection,
            Due::Settled(settled) => settled.connection,
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
    /// Too many copies to this network were needless, or may have been.
    Needless,
    /// The socket had no room for some packets since the handshake began; its answer may be among them.
    Missed,
}

impl Held {
    /// As it is written in logs.
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

/// The first answer to a packet that was sent again. Whether it answers the packet or a copy is told later, by
/// [`Due::Settled`], where it can be known.
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
}

impl From<Exhausted> for Held {
    fn from(exhausted: Exhausted) -> Held {
        match exhausted {
            Exhausted::Rate => Held::Rate,
            Exhausted::Share => Held::Share,
        }
    }
}
