//! Copies that were answered, until it is known whether they were needed.

use crate::frame::{Connection, Kind};
use gentle_units::Nanos;
use std::collections::VecDeque;

/// As many wait for each path; beyond them, the oldest remains undecided.
const MOST: usize = 8;

/// A handshake that was answered behind its copy, once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Claim {
    pub(crate) connection: Connection,
    pub(crate) kind: Kind,
    pub(crate) copies: u32,
    /// When the packet itself was sent.
    pub(crate) sent: Nanos,
    /// From then to the first copy.
    pub(crate) delay: Nanos,
    /// What the copy has saved if it was needed.
    pub(crate) saved: Nanos,
    /// A second answer would have been seen.
    pub(crate) seen: bool,
}

/// What has come of a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Decision {
    pub(crate) claim: Claim,
    pub(crate) needless: bool,
    /// Whether that is sure enough to be told.
    pub(crate) sure: bool,
}

/// Whether the copies of an answered handshake were needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settled {
    /// Of the packet.
    pub connection: Connection,
    /// SYN or SYN/ACK.
    pub kind: Kind,
    /// Copies that were sent.
    pub copies: u32,
    /// The packet itself was answered.
    pub needless: bool,
    /// How much earlier the copy was than the stack's own retransmission; zero where it was needless.
    pub saved: Nanos,
}

impl Claim {
    pub(crate) fn settle(&self, needless: bool) -> Settled {
        Settled {
            connection: self.connection,
            kind: self.kind,
            copies: self.copies,
            needless,
            saved: match needless {
                true => Nanos::ZERO,
                false => self.saved,
            },
        }
    }
}

/// Those of a path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Claims(VecDeque<Claim>);

impl Claims {
    pub(crate) fn add(&mut self, claim: Claim) {
        if self.0.len() == MOST {
            self.0.pop_front();
        }
        self.0.push_back(claim);
    }

    /// What a handshake without copies, sent then, says of them. If it took as long as they waited, the path has become slower:
    /// they came too soon. If not, it is as fast as it was taken to be, and their packets were lost. That is sure only where a
    /// second answer would have been seen, or they waited longer than handshakes of this path usually take. One sent before them
    /// says nothing of a path that has become slower since.
    pub(crate) fn decide(&mut self, sent: Nanos, took: Nanos, usual: Nanos) -> Vec<Decision> {
        let mut decisions = Vec::new();
        self.0.retain(|claim| {
            let needless = took >= claim.delay;
            let decided = needless || sent >= claim.sent;
            if decided {
                decisions.push(Decision {
                    claim: claim.clone(),
                    needless,
                    sure: needless || (claim.seen && claim.delay >= usual),
                });
            }
            !decided
        });
        decisions
    }
}
