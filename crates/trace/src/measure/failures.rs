//! Attempts that were not completed, by reason: dead hosts, silent drops by firewalls, refusals, scans, floods.
//!
//! The reason depends on everything the client and the server did, so attempts are kept until the end; if memory is
//! short, it is decided early, from the connections so far ([`Failures::decide_early`]).

use super::parties::PartyCounts;
use crate::codec::Host;
use crate::connections::Classification;
use crate::results::{AttemptGroup, NamedParty};
use crate::row::Outcome;
use crate::sum::sum;
use crate::table_size::list_bytes_with_one_more;
use gentle_units::Instant;
use gentle_wire::Address;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

/// Smallest SYN flood: attempts at a server with one SYN each, by clients that completed no handshake.
const FLOOD: u64 = 1_000;
/// Smallest rate of a SYN flood, attempts per second between first and last; clients that retry a dead server are
/// slower.
const FLOOD_RATE: u64 = 10;
/// Largest number of parties named for each reason.
const NAMED: usize = 3;

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
}

/// Form in analysis records: client, server, port, start, outcome, and the flags `once`, `blackholed`, `lost`,
/// `elsewhere` and `reset` as the bits 1, 2, 4, 8 and 16.
#[derive(Serialize, Deserialize)]
struct Kept(Host, Host, u16, u32, Outcome, u8);

impl From<Failure> for Kept {
    fn from(it: Failure) -> Kept {
        let flags = [it.once, it.blackholed, it.lost, it.elsewhere, it.reset];
        let bits = flags.into_iter().enumerate();
        let flags = bits.map(|(at, flag)| u8::from(flag) << at).sum();
        let (client, server) = (Host(it.client), Host(it.server));
        Kept(client, server, it.port, it.at, it.outcome, flags)
    }
}

impl From<Kept> for Failure {
    fn from(kept: Kept) -> Failure {
        let Kept(Host(client), Host(server), port, at, outcome, flags) = kept;
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

/// Number of attempts for a reason, by server (address and port) or client (address and port 0).
type ByParty = HashMap<(Address, u16), u64>;

/// Attempts that were not completed.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Failures {
    undecided: Vec<Failure>,
    /// Decided attempts, by [`Reason`].
    decided: [Decided; REASONS],
    /// Attempts with none of the reasons: only a SYN/ACK came. `half_open_with_loss` counts those with a loss before
    /// it.
    pub(super) half_open: u64,
    pub(super) half_open_with_loss: u64,
    pub(super) decided_early: u64,
}

/// Attempts decided for one reason.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Decided {
    attempts: u64,
    #[serde(with = "by_party")]
    parties: ByParty,
    /// Number of parties forgotten because memory was short.
    forgotten: u64,
}

sum! {
    Failures { undecided, decided, half_open, half_open_with_loss, decided_early }
    Decided { attempts, parties, forgotten }
}

/// Parties in analysis records: a list in the order of the addresses.
mod by_party {
    use super::{ByParty, Host};
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(parties: &ByParty, to: S) -> Result<S::Ok, S::Error> {
        let entries = parties.iter();
        let mut list: Vec<(Host, u16, u64)> =
            entries.map(|(&(address, port), &attempts)| (Host(address), port, attempts)).collect();
        list.sort_unstable();
        to.collect_seq(list)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<ByParty, D::Error> {
        let list = Vec::<(Host, u16, u64)>::deserialize(from)?.into_iter();
        Ok(list.map(|(Host(address), port, attempts)| ((address, port), attempts)).collect())
    }
}

impl Failures {
    /// Replaces all addresses.
    pub(super) fn replace(&mut self, replacement: impl Fn(Address) -> Address) {
        for failure in &mut self.undecided {
            failure.client = replacement(failure.client);
            failure.server = replacement(failure.server);
        }
        for decided in &mut self.decided {
            let parties = std::mem::take(&mut decided.parties).into_iter();
            decided.parties =
                parties.map(|((address, port), attempts)| ((replacement(address), port), attempts)).collect();
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
            let decided = &mut self.decided[reason as usize];
            decided.attempts += 1;
            let party = if reason == Reason::Scan { (failure.client, 0) } else { server };
            *decided.parties.entry(party).or_default() += 1;
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
        for decided in &mut self.decided {
            let most = decided.most(KEPT);
            decided.forgotten += (decided.parties.len() - most.len()) as u64;
            decided.parties = most.into_iter().collect();
        }
    }

    /// Memory after one more undecided attempt, bytes.
    pub(super) fn bytes_with_one_more(&self) -> usize {
        list_bytes_with_one_more(&self.undecided)
    }

    /// Attempts decided for `reason`; `show` formats a party.
    pub(super) fn group(&self, reason: Reason, show: impl Fn(Address, u16) -> String) -> AttemptGroup {
        let decided = &self.decided[reason as usize];
        AttemptGroup {
            attempts: decided.attempts,
            parties: decided.parties.len() as u64 + decided.forgotten,
            most: decided
                .most(NAMED)
                .into_iter()
                .map(|((address, port), attempts)| NamedParty { name: show(address, port), attempts })
                .collect(),
        }
    }
}

/// Number of parties kept for each reason when memory is short.
const KEPT: usize = 100;

impl Decided {
    /// The `n` parties with most attempts, in descending order.
    fn most(&self, n: usize) -> Vec<((Address, u16), u64)> {
        let mut all: Vec<_> = self.parties.iter().map(|(&party, &attempts)| (Reverse(attempts), party)).collect();
        if n < all.len() {
            all.select_nth_unstable(n);
            all.truncate(n);
        }
        all.sort_unstable();
        all.into_iter().map(|(Reverse(attempts), party)| (party, attempts)).collect()
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
