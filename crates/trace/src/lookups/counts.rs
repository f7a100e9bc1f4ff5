//! Counts of lookups, which add up with the counts of other traces, and their results.

use crate::measure::Group;
use crate::results::{Cause, CauseKind, Lookups};
use crate::sum::sum;
use crate::tally::Distribution;
use gentle_units::Nanos;
use gentle_wire::Address;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Number of servers from which on each group keeps only those that may be named.
const SERVERS: usize = 1 << 14;

/// Lookups that ended.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LookupCounts {
    pub(super) queries: u64,
    pub(super) copies: u64,
    answered: u64,
    unanswered: u64,
    pub(super) unseen: u64,
    pub(super) undecided: u64,
    /// Time from the query to its answer, of lookups with a single query.
    answer: Distribution,
    /// By place in [`KINDS`].
    slow: [Group; KINDS.len()],
}

sum! {
    LookupCounts { queries, copies, answered, unanswered, unseen, undecided, answer, slow }
}

/// Causes of slow lookups.
const KINDS: [CauseKind; 4] =
    [CauseKind::DnsPairLoss, CauseKind::DnsLoss, CauseKind::DnsLate, CauseKind::DnsUnanswered];

impl LookupCounts {
    /// Counts for a window, in little memory.
    pub(crate) fn coarse() -> LookupCounts {
        LookupCounts { answer: Distribution::coarse(), ..LookupCounts::default() }
    }

    /// Counts a lookup answered `took` after its only query.
    pub(super) fn answered(&mut self, took: Nanos) {
        self.answered += 1;
        self.answer.record(took);
    }

    /// Counts a slow lookup, which waited `waited` because of `server`.
    pub(super) fn slow(&mut self, kind: CauseKind, server: Address, waited: Nanos) {
        match kind {
            CauseKind::DnsUnanswered => self.unanswered += 1,
            _ => self.answered += 1,
        }
        if let Some(place) = KINDS.iter().position(|known| *known == kind) {
            let group = &mut self.slow[place];
            group.record((server, super::message::PORT), waited);
            if group.parties.len() >= SERVERS {
                group.keep_most();
            }
        }
    }

    /// Frees memory: of causes with more servers than this, keeps only those that may be named.
    pub(crate) fn limit_servers(&mut self, servers: usize) {
        self.slow.iter_mut().filter(|group| group.parties.len() > servers).for_each(Group::keep_most);
    }

    /// Replaces all addresses.
    pub(crate) fn replace(&mut self, replacement: impl Fn(Address) -> Address) {
        self.slow.iter_mut().for_each(|group| group.replace(&replacement));
    }

    /// Results; `None` without a lookup.
    pub(crate) fn result(&self, show: impl Fn(Address, u16) -> String) -> Option<Lookups> {
        let decided = self.answered.saturating_add(self.unanswered);
        let slow = KINDS.iter().zip(&self.slow).filter(|(_, group)| group.all.attempts > 0);
        let causes = slow.map(|(&kind, group)| Cause {
            kind,
            group: group.result(&show),
            share: group.all.attempts as f64 / decided.max(1) as f64,
            direction: None,
            evidence: BTreeMap::new(),
            sentence: String::new(),
            remedy: String::new(),
            check: String::new(),
        });
        let mut causes: Vec<Cause> = causes.collect();
        causes.sort_by_key(|it| Reverse((Nanos::from_secs_f64(it.group.waited_s), it.group.attempts)));
        let lookups = [decided, self.unseen, self.undecided].into_iter().fold(0, u64::saturating_add);
        (lookups > 0).then(|| Lookups {
            lookups,
            queries: self.queries,
            copies: self.copies,
            answered: self.answered,
            unanswered: self.unanswered,
            unseen: self.unseen,
            undecided: self.undecided,
            answer_s: self.answer.quantiles(),
            causes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sum::Sum;

    #[test]
    fn sums_of_many_servers_keep_those_with_most_lookups() {
        let mut sum = LookupCounts::coarse();
        for part in 0..100_u8 {
            let mut more = LookupCounts::coarse();
            let server = |a, b| Address::v4([192, 0, a, b]);
            (0..100).for_each(|n| more.slow(CauseKind::DnsLoss, server(part, n), Nanos::from_secs(5)));
            more.slow(CauseKind::DnsLoss, server(200, 53), Nanos::from_secs(5));
            sum.add(more);
            sum.limit_servers(200);
            assert!(sum.slow.iter().all(|group| group.parties.len() <= 200));
        }
        let found = sum.result(|address, _| address.to_string()).expect("lookups");
        let [cause] = found.causes.as_slice() else { panic!("{:?}", found.causes) };
        assert_eq!((cause.group.attempts, cause.group.most[0].attempts), (10_100, 100));
        assert_eq!(cause.group.most[0].name, "192.0.200.53");
    }
}
