//! Attempts with a common fate, by server or client.

use crate::codec::Host;
use crate::results::{AttemptGroup, NamedParty};
use crate::sum::{Sum, sum};
use crate::table_size::hash_table_bytes;
use gentle_units::Nanos;
use gentle_wire::Address;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::HashMap;

/// Largest number of parties named for each group.
const NAMED: usize = 3;
/// Number of parties kept in each group when memory is short.
const KEPT: usize = 100;

/// Server (address and port) or client (address and port 0).
pub(crate) type Party = (Address, u16);

/// Attempts of one party.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Share {
    pub(crate) attempts: u64,
    pub(super) waited: Nanos,
}

/// Attempts with a common fate.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Group {
    pub(crate) all: Share,
    #[serde(with = "by_party")]
    pub(crate) parties: HashMap<Party, Share>,
    /// Number of parties forgotten because memory was short.
    forgotten: u64,
}

sum! {
    Share { attempts, waited }
    Group { all, parties, forgotten }
}

/// Parties in analysis records: a list in the order of the addresses.
mod by_party {
    use super::{HashMap, Host, Party, Share};
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(parties: &HashMap<Party, Share>, to: S) -> Result<S::Ok, S::Error> {
        let entries = parties.iter();
        let mut list: Vec<(Host, u16, Share)> =
            entries.map(|(&(address, port), &share)| (Host(address), port, share)).collect();
        list.sort_unstable();
        to.collect_seq(list)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<HashMap<Party, Share>, D::Error> {
        let list = Vec::<(Host, u16, Share)>::deserialize(from)?.into_iter();
        Ok(list.map(|(Host(address), port, share)| ((address, port), share)).collect())
    }
}

impl Group {
    /// Adds an attempt of `party`, which waited `waited`.
    pub(crate) fn record(&mut self, party: Party, waited: Nanos) {
        let one = Share { attempts: 1, waited };
        self.add_share(party, one);
    }

    /// Adds attempts of `party`.
    pub(super) fn add_share(&mut self, party: Party, share: Share) {
        self.all.add(share);
        self.parties.entry(party).or_default().add(share);
    }

    /// The attempts of parties for which `is_first` holds, and all others, with those of forgotten parties.
    pub(super) fn partition(&self, is_first: impl Fn(Party) -> bool) -> (Group, Group) {
        let mut first = Group::default();
        let mut others = self.clone();
        for (&party, &share) in self.parties.iter().filter(|(party, _)| is_first(**party)) {
            first.add_share(party, share);
            others.parties.remove(&party);
            others.all.attempts = others.all.attempts.saturating_sub(share.attempts);
            others.all.waited = others.all.waited.saturating_sub(share.waited);
        }
        (first, others)
    }

    /// Replaces all addresses.
    pub(crate) fn replace(&mut self, replacement: impl Fn(Address) -> Address) {
        let parties = std::mem::take(&mut self.parties).into_iter();
        self.parties = parties.map(|((address, port), share)| ((replacement(address), port), share)).collect();
    }

    /// Frees memory when it is short: keeps only the parties that may be named.
    pub(crate) fn keep_most(&mut self) {
        let most = self.most(KEPT);
        self.forgotten += (self.parties.len() - most.len()) as u64;
        self.parties = most.into_iter().collect();
    }

    /// Memory after one more party, bytes.
    pub(super) fn bytes_with_one_more(&self) -> usize {
        match self.parties.len() {
            0 => 0,
            parties => hash_table_bytes(parties + 1, size_of::<(Party, Share)>()),
        }
    }

    /// The `n` parties with most attempts, in descending order.
    fn most(&self, n: usize) -> Vec<(Party, Share)> {
        let mut all: Vec<_> = self.parties.iter().map(|(&party, &share)| (Reverse(share), party)).collect();
        if n < all.len() {
            all.select_nth_unstable(n);
            all.truncate(n);
        }
        all.sort_unstable();
        all.into_iter().map(|(Reverse(share), party)| (party, share)).collect()
    }

    /// The group in results; `show` formats a party.
    pub(crate) fn result(&self, show: impl Fn(Address, u16) -> String) -> AttemptGroup {
        let named = self.most(NAMED).into_iter();
        AttemptGroup {
            attempts: self.all.attempts,
            waited_s: self.all.waited.as_secs_f64(),
            parties: self.parties.len() as u64 + self.forgotten,
            most: named
                .map(|((address, port), share)| NamedParty { name: show(address, port), attempts: share.attempts })
                .collect(),
        }
    }
}
