//! Attempts that were not completed, by reason: dead hosts, silent drops by firewalls, refusals, scans, floods.
//!
//! The reason depends on everything the client and the server did, so attempts are kept until the end; if memory is
//! short, it is decided early, from the connections so far ([`Failures::decide_early`]).

use super::group::Group;
use super::parties::PartyCounts;
use crate::codec::Host;
use crate::connections::Classification;
use crate::row::Outcome;
use crate::sum::sum;
use crate::table_size::list_bytes_with_one_more;
use gentle_units::{Instant, Nanos};
use gentle_wire::Address;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};

/// Smallest SYN flood: attempts at a server with one SYN each, by clients that completed no handshake.
const FLOOD: u64 = 1_000;
/// Smallest rate of a SYN flood, attempts per second between first and last; clients that retry a dead server are
/// slower.
const FLOOD_RATE: u64 = 10;

/// Attempt that was not completed.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(from = "Kept", into = "Kept")]
struct Failure {
    client: Address,
    server: Address,
    port: u16,
    outcome: Outcome,
    /// Whether it had only one SYN.
    once: bool,
    blackholed: bool,
    lost: bool,
    elsewhere: bool,
    reset: bool,
    /// Start, seconds since 1970.
    at: u32,
    waited: Nanos,
}

/// Form in analysis records: client, server, port, start, outcome, the flags `once`, `blackholed`, `lost`, `elsewhere` and
/// `reset` as the bits 1, 2, 4, 8 and 16, and the time waited.
#[derive(Serialize, Deserialize)]
struct Kept(Host, Host, u16, u32, Outcome, u8, Nanos);

impl From<Failure> for Kept {
    fn from(it: Failure) -> Kept {
        let flags = [it.once, it.blackholed, it.lost, it.elsewhere, it.reset];
        let bits = flags.into_iter().enumerate();
        let flags = bits.map(|(at, flag)| u8::from(flag) << at).sum();
        let (client, server) = (Host(it.client), Host(it.server));
        Kept(client, server, it.port, it.at, it.outcome, flags, it.waited)
    }
}

impl From<Kept> for Failure {
    fn from(kept: Kept) -> Failure {
        let Kept(Host(client), Host(server), port, at, outcome, flags, waited) = kept;
        Failure {
            client,
            server,
            port,
            outcome,
            once: flags & 1 != 0,
            blackholed: flags & 2 != 0,
            lost: flags & 4 != 0,
            elsewhere: flags & 8 != 0,
            reset: flags & 16 != 0,
            at,
            waited,
        }
    }
}

/// Reason why an attempt was not completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
    Blackholed,
    Dead,
    Refused,
    Rejected,
    Challenged,
    Elsewhere,
    Scan,
    Flood,
    Unseen,
    /// Of the attempts with none of the reasons: the client reset each SYN/ACK and sent its SYN again; once, and did not.
    Reset,
    Abandoned,
}

/// Number of variants of [`Reason`].
const REASONS: usize = 11;

/// Attempts that were not completed.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Failures {
    undecided: Vec<Failure>,
    /// Decided attempts, by [`Reason`].
    decided: [Group; REASONS],
    /// Attempts with none of the reasons: only a SYN/ACK came. `half_open_with_loss` counts those with a loss before
    /// it.
    pub(super) half_open: u64,
    pub(super) half_open_with_loss: u64,
    pub(super) decided_early: u64,
}

sum! {
    Failures { undecided, decided, half_open, half_open_with_loss, decided_early }
}

impl Failures {
    /// Replaces all addresses.
    pub(super) fn replace(&mut self, replacement: impl Fn(Address) -> Address) {
        for failure in &mut self.undecided {
            failure.client = replacement(failure.client);
            failure.server = replacement(failure.server);
        }
        for group in &mut self.decided {
            group.replace(&replacement);
        }
    }

    /// Records an attempt of `client` at `server` that was not completed.
    pub(super) fn record(
        &mut self,
        [client, server]: [Address; 2],
        port: u16,
        class: &Classification,
        once: bool,
        at: Instant,
        waited: Nanos,
    ) {
        self.undecided.push(Failure {
            client,
            server,
            port,
            outcome: class.outcome,
            once,
            blackholed: class.blackholed,
            lost: class.repeats.lost > 0,
            elsewhere: class.elsewhere,
            reset: class.reset,
            at: u32::try_from(at.0 / 1_000_000_000).unwrap_or(u32::MAX),
            waited,
        });
    }

    /// Decides about all undecided attempts, by the counts of `parties` so far.
    pub(super) fn decide(&mut self, parties: &PartyCounts) {
        let undecided = std::mem::take(&mut self.undecided);
        let flooded = flooded(&undecided, parties);
        for failure in &undecided {
            let server = (failure.server, failure.port);
            let reason = if parties.scans(failure.client) {
                Reason::Scan
            } else if may_flood(failure, parties) && (flooded.contains(&server) || self.is_known_flood(server)) {
                Reason::Flood
            } else {
                match failure.outcome {
                    Outcome::Refused => Reason::Refused,
                    Outcome::Rejected => Reason::Rejected,
                    Outcome::Challenged => Reason::Challenged,
                    Outcome::HalfOpen if failure.blackholed => Reason::Blackholed,
                    Outcome::Unanswered if failure.elsewhere => Reason::Elsewhere,
                    Outcome::Unanswered if parties.is_unseen(server) => Reason::Unseen,
                    Outcome::Unanswered if parties.is_alive(failure.server) => Reason::Blackholed,
                    Outcome::Unanswered => Reason::Dead,
                    Outcome::HalfOpen | Outcome::Succeeded | Outcome::OneSided => {
                        self.half_open += 1;
                        self.half_open_with_loss += u64::from(failure.lost);
                        match (failure.reset, failure.once) {
                            (true, false) => Reason::Reset,
                            (true, true) => Reason::Abandoned,
                            (false, _) => continue,
                        }
                    }
                }
            };
            let party = if reason == Reason::Scan { (failure.client, 0) } else { server };
            self.decided[reason as usize].record(party, failure.waited);
        }
    }

    /// Whether an early decision found the server to be flooded.
    fn is_known_flood(&self, server: (Address, u16)) -> bool {
        self.decided[Reason::Flood as usize].parties.contains_key(&server)
    }

    /// Frees memory when it is short: decides early, and keeps only the parties that may be named.
    pub(super) fn decide_early(&mut self, parties: &PartyCounts) {
        self.decided_early += self.undecided.len() as u64;
        self.decide(parties);
        self.decided.iter_mut().for_each(Group::keep_most);
    }

    /// Memory after one more undecided attempt, bytes.
    pub(super) fn bytes_with_one_more(&self) -> usize {
        list_bytes_with_one_more(&self.undecided)
    }

    /// Attempts decided for `reason`.
    pub(super) fn group(&self, reason: Reason) -> &Group {
        &self.decided[reason as usize]
    }
}

/// Whether the attempt may belong to a flood: one SYN, by a client that completes nothing.
fn may_flood(failure: &Failure, parties: &PartyCounts) -> bool {
    let outcome = matches!(failure.outcome, Outcome::HalfOpen | Outcome::Unanswered);
    outcome && failure.once && !parties.has_completed(failure.client)
}

/// Servers under a SYN flood.
fn flooded(failures: &[Failure], parties: &PartyCounts) -> HashSet<(Address, u16)> {
    let mut servers: HashMap<(Address, u16), (u64, u32, u32)> = HashMap::new();
    for failure in failures.iter().filter(|failure| may_flood(failure, parties)) {
        let (attempts, first, last) = servers.entry((failure.server, failure.port)).or_insert((0, u32::MAX, 0));
        *attempts += 1;
        *first = failure.at.min(*first);
        *last = failure.at.max(*last);
    }
    servers
        .into_iter()
        .filter(|&(_, (attempts, first, last))| attempts >= FLOOD && attempts >= FLOOD_RATE * u64::from(last - first))
        .map(|(server, _)| server)
        .collect()
}
