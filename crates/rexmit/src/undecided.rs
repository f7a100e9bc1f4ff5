//! Answered copies that may yet turn out to be spurious.

use crate::frame::{Connection, Kind};
use gentle_units::{Instant, Nanos};
use std::collections::VecDeque;

/// Maximum number of undecided handshakes per path; beyond it, the oldest is dropped and stays undecided.
const CAPACITY: usize = 8;

/// Handshake answered once, after a copy: the answer may have been to the original packet or to the copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UndecidedCopy {
    pub(crate) connection: Connection,
    pub(crate) kind: Kind,
    pub(crate) copies: u32,
    /// Time at which the original packet was sent.
    pub(crate) sent: Instant,
    /// Time from the original packet to the first copy.
    pub(crate) delay: Nanos,
    /// Time saved by the copy if it was needed.
    pub(crate) saved: Nanos,
    /// Whether a second answer would have been seen.
    pub(crate) second_answer_visible: bool,
}

/// Decision on the copies of a handshake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Decision {
    pub(crate) copy: UndecidedCopy,
    pub(crate) spurious: bool,
    /// Whether the decision is certain enough to be reported.
    pub(crate) certain: bool,
}

/// Outcome for the copies of an answered handshake: needed or spurious (RFC 5682).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopyOutcome {
    /// Connection of the packet.
    pub connection: Connection,
    /// Kind of the packet: SYN or SYN/ACK.
    pub kind: Kind,
    /// Number of copies sent.
    pub copies: u32,
    /// Whether the original packet was answered, so that its copies were spurious.
    pub spurious: bool,
    /// Time by which the copy preceded the stack's own retransmission; zero if the copy was spurious.
    pub saved: Nanos,
}

impl UndecidedCopy {
    pub(crate) fn outcome(&self, spurious: bool) -> CopyOutcome {
        CopyOutcome {
            connection: self.connection,
            kind: self.kind,
            copies: self.copies,
            spurious,
            saved: match spurious {
                true => Nanos::ZERO,
                false => self.saved,
            },
        }
    }
}

/// Undecided handshakes of a path, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct UndecidedCopies(VecDeque<UndecidedCopy>);

impl UndecidedCopies {
    pub(crate) fn add(&mut self, copy: UndecidedCopy) {
        if self.0.len() == CAPACITY {
            self.0.pop_front();
        }
        self.0.push_back(copy);
    }

    /// Decides earlier copies by a handshake without copies that was sent at `sent` and took `took`.
    ///
    /// If it took at least as long as a copy was delayed, the path has become slower and the copy was spurious.
    /// Otherwise the path is as fast as assumed and the original packet was lost; this is certain only if a second
    /// answer would have been seen and the delay was at least `usual`, the usual handshake time of the path. A fast
    /// handshake sent before the copied packet decides nothing: the path may have become slower since.
    pub(crate) fn decide(&mut self, sent: Instant, took: Nanos, usual: Nanos) -> Vec<Decision> {
        let mut decisions = Vec::new();
        self.0.retain(|copy| {
            let spurious = took >= copy.delay;
            let decided = spurious || sent >= copy.sent;
            if decided {
                decisions.push(Decision {
                    copy: copy.clone(),
                    spurious,
                    certain: spurious || (copy.second_answer_visible && copy.delay >= usual),
                });
            }
            !decided
        });
        decisions
    }
}
