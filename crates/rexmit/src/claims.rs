//! Answered copies for which it is still unknown whether they were needed.

use crate::frame::{Connection, Kind};
use gentle_units::Nanos;
use std::collections::VecDeque;

/// Maximum number of undecided claims per path; the oldest is dropped and remains undecided.
const MOST: usize = 8;

/// Handshake that was answered once, after a copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Claim {
    pub(crate) connection: Connection,
    pub(crate) kind: Kind,
    pub(crate) copies: u32,
    /// Time at which the original packet was sent.
    pub(crate) sent: Nanos,
    /// Time from the original packet to the first copy.
    pub(crate) delay: Nanos,
    /// Time saved by the copy if it was needed.
    pub(crate) saved: Nanos,
    /// Whether a second answer would have been seen.
    pub(crate) seen: bool,
}

/// Decision on a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Decision {
    pub(crate) claim: Claim,
    pub(crate) needless: bool,
    /// Whether the decision is certain enough to be reported.
    pub(crate) sure: bool,
}

/// Result for the copies of an answered handshake: needed or needless.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settled {
    /// Connection of the packet.
    pub connection: Connection,
    /// Kind of the packet: SYN or SYN/ACK.
    pub kind: Kind,
    /// Number of copies sent.
    pub copies: u32,
    /// Whether the original packet was answered, so that the copies were not needed.
    pub needless: bool,
    /// Time by which the copy preceded the stack's own retransmission; zero if the copy was needless.
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

/// Undecided claims of a path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Claims(VecDeque<Claim>);

impl Claims {
    pub(crate) fn add(&mut self, claim: Claim) {
        if self.0.len() == MOST {
            self.0.pop_front();
        }
        self.0.push_back(claim);
    }

    /// Decides the claims of a path from a handshake without copies that was sent at `sent` and took `took`. If it took
    /// at least as long as the delay of a claim, the path has become slower and the copies were sent too early.
    /// Otherwise the path is as fast as assumed and the original packets were lost; this is certain only if a second
    /// answer would have been seen and the delay was at least `usual`, the usual handshake time of the path. A fast
    /// handshake sent before a claim decides nothing: the path may have become slower since.
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
