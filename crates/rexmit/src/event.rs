//! Output of the core: events that are due.

use crate::budget::Exhausted;
use crate::frame::{Connection, Kind};
use crate::undecided::CopyOutcome;
use gentle_units::Nanos;

/// Event that is due, as returned by [`Retransmitter::poll`](crate::Retransmitter::poll).
#[derive(Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// Copy to be sent unchanged; in a dry run, a copy that would have been sent, with no bytes. Copies after the first
    /// are then returned at the end of the handshake.
    Copy(FrameCopy<'a>),
    /// A copy was due and is suppressed.
    Suppressed {
        /// Connection of the packet.
        connection: Connection,
        /// Kind of the packet.
        kind: Kind,
        /// Reason for the suppression.
        reason: SuppressReason,
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
    Decided(CopyOutcome),
}

impl Event<'_> {
    /// Connection that the event is about.
    pub fn connection(&self) -> Connection {
        match self {
            Event::Copy(copy) => copy.connection,
            Event::Suppressed { connection, .. } | Event::Unanswered { connection, .. } => *connection,
            Event::Decided(outcome) => outcome.connection,
        }
    }
}

/// Copy of a frame, to be sent unchanged.
#[derive(Debug, PartialEq, Eq)]
pub struct FrameCopy<'a> {
    /// Connection of the packet.
    pub connection: Connection,
    /// Kind of the packet: SYN or SYN/ACK.
    pub kind: Kind,
    /// Number of the copy from 1; 0 for the optional duplicate that every packet gets.
    pub number: u32,
    /// Time since the original packet was sent.
    pub waited: Nanos,
    /// Bytes of the frame; empty in a dry run.
    pub bytes: &'a [u8],
}

/// Reason why a copy is suppressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SuppressReason {
    /// The limit per second is reached.
    Rate,
    /// The share of the opened connections is used up.
    Share,
    /// The host does not answer.
    Unresponsive,
    /// The network has used up its budget of spurious copies.
    Spurious,
    /// The socket dropped packets since the handshake began; the answer may be among them.
    Missed,
}

impl SuppressReason {
    /// Name used in logs; part of their format.
    pub const fn name(self) -> &'static str {
        match self {
            SuppressReason::Rate => "rate",
            SuppressReason::Share => "share",
            SuppressReason::Unresponsive => "silence",
            SuppressReason::Spurious => "needless",
            SuppressReason::Missed => "missed",
        }
    }
}

/// First answer to a packet that was copied. A later [`Event::Decided`] reports whether it answered the original packet
/// or a copy, if that can be known.
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

impl From<Exhausted> for SuppressReason {
    fn from(exhausted: Exhausted) -> SuppressReason {
        match exhausted {
            Exhausted::Rate => SuppressReason::Rate,
            Exhausted::Share => SuppressReason::Share,
        }
    }
}
