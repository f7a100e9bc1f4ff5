//! Causes of slow and failed attempts: what the attempts show alone, and what they show together.

use super::data_counts::DataCounts;
use super::failures::{Failures, Reason};
use super::group::{Group, Party, Share};
use super::parties::PartyCounts;
use super::toward::Toward;
use crate::connections::{Classification, Trouble};
use crate::results::{Cause, CauseKind, DroppedFor, LossDirection};
use crate::row::Outcome;
use crate::segment::SynExtras;
use crate::sum::{Sum, sum};
use gentle_units::Nanos;
use gentle_wire::Address;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

/// Fewest attempts from which a middlebox is inferred. Hosts leave out what a SYN carried when they send it again, so one
/// SYN lost by chance looks alike.
const FEWEST_DROPPED: u64 = 3;
/// Factor by which losses of one kind exceed those of the other if nearly all, or most, are of one kind.
const NEARLY_ALL: u64 = 9;
const MOST: u64 = 2;
/// Largest number of losses of unknown kind for which one in a queue speaks.
const SPEAKS_FOR: u64 = 3;

/// Slow attempts that were completed.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CauseCounts {
    /// By [`Key`].
    groups: BTreeMap<u32, Group>,
    with_loss: u64,
}

sum! {
    CauseCounts { groups, with_loss }
}

/// Half of the path in which packets were lost, their direction, parts of the SYN for which it may have been dropped, and the
/// reason that the attempt shows.
#[derive(Debug, Clone, Copy)]
struct Key {
    half: usize,
    direction: Option<LossDirection>,
    parts: SynExtras,
    trouble: Trouble,
}

/// Directions by their numbers in a [`Key`].
const DIRECTIONS: [Option<LossDirection>; 4] =
    [None, Some(LossDirection::ToServer), Some(LossDirection::ToClient), Some(LossDirection::Both)];

impl Key {
    fn pack(self) -> u32 {
        let direction = DIRECTIONS.iter().position(|known| *known == self.direction).unwrap_or(0);
        (direction as u32) << 17 | (self.half as u32) << 16 | self.parts.bits() << 8 | self.trouble as u32
    }

    /// `None` for a number that no key has.
    fn unpack(number: u32) -> Option<Key> {
        let trouble = *Trouble::ALL.get(number as usize & 0xff)?;
        let (half, direction) = (number as usize >> 16 & 1, DIRECTIONS[number as usize >> 17 & 3]);
        Some(Key { half, direction, parts: SynExtras::from_bits(number >> 8 & 0xff), trouble })
    }
}

impl CauseCounts {
    /// Records a completed attempt at `server`.
    pub(super) fn record(&mut self, class: &Classification, server: Party) {
        self.with_loss += u64::from(class.has_loss());
        if let Some(trouble) = class.trouble {
            let (half, direction) = (class.lost_half, class.lost_direction);
            let key = Key { half, direction, parts: class.dropped_for, trouble };
            self.groups.entry(key.pack()).or_default().record(server, class.waited + class.waited_with_data);
        }
    }

    /// Replaces all addresses.
    pub(super) fn replace(&mut self, replacement: impl Fn(Address) -> Address) {
        self.groups.values_mut().for_each(|group| group.replace(&replacement));
    }

    /// Frees memory when it is short: keeps only the parties that may be named.
    pub(super) fn keep_most(&mut self) {
        self.groups.values_mut().for_each(Group::keep_most);
    }

    /// Memory after one more attempt, bytes.
    pub(super) fn bytes_with_one_more(&self) -> usize {
        self.groups.values().map(Group::bytes_with_one_more).sum()
    }

    fn all(&self) -> impl Iterator<Item = (Key, &Group)> {
        self.groups.iter().filter_map(|(&key, group)| Some((Key::unpack(key)?, group)))
    }

    /// Parts for which SYNs are dropped: no SYN with the part was answered by the same server.
    pub(super) fn dropped_for(&self, parties: &PartyCounts) -> Vec<DroppedFor> {
        let of_part = |part: usize| {
            let mut sum = Share::default();
            for (_, group) in self.all().filter(|(key, _)| key.trouble.is_loss() && key.parts.has(part)) {
                let shares = group.parties.iter().filter(|(party, _)| !parties.answered_extras(**party).has(part));
                shares.for_each(|(_, share)| sum.add(*share));
            }
            sum
        };
        let parts = SynExtras::NAMES.into_iter().enumerate().map(|(part, name)| (name, of_part(part)));
        let is_dropped = |(_, share): &(_, Share)| share.attempts >= FEWEST_DROPPED;
        let dropped = parts.filter(is_dropped);
        dropped
            .map(|(name, share)| DroppedFor { name, attempts: share.attempts, waited_s: share.waited.as_secs_f64() })
            .collect()
    }

    /// Whether that explains half of the attempts with a loss, so that a model of independent losses does not hold.
    pub(super) fn has_middlebox(&self, parties: &PartyCounts) -> bool {
        let most = self.dropped_for(parties).into_iter().map(|it| it.attempts).max();
        most.is_some_and(|most| most * 2 >= self.with_loss)
    }

    /// Attempts with a loss in a half of the path: in a queue, without one, and without a sign of either.
    fn losses(&self, half: usize) -> [u64; 3] {
        let of = |trouble: Trouble| -> u64 {
            let keys = self.all().filter(|(key, _)| (key.half, key.trouble) == (half, trouble));
            keys.map(|(_, group)| group.all.attempts).sum()
        };
        [Trouble::LostInQueue, Trouble::LostWithoutQueue, Trouble::Lost].map(of)
    }

    /// Causes, longest wait first.
    pub(super) fn result(&self, of: &Evidence<'_>) -> Vec<Cause> {
        let mut found = Found::default();
        let decided = self.dropped_for(of.parties);
        let is_decided = |part: usize| decided.iter().any(|dropped| dropped.name == SynExtras::NAMES[part]);
        let losses = [0, 1].map(|half| self.losses(half));
        for (key, group) in self.all() {
            let is_dropped_at = |party: Party| {
                let answered = of.parties.answered_extras(party);
                let mut parts = (0..SynExtras::COUNT).filter(|part| key.parts.has(*part));
                key.trouble.is_loss() && parts.any(|part| is_decided(part) && !answered.has(part))
            };
            let (dropped, others) = group.partition(is_dropped_at);
            found.source = (key.half, key.direction);
            found.add(CauseKind::DroppedOptions, &dropped);
            let [queue, idle, unknown] = losses[key.half];
            // Most losses of this half show the state of its path. A long round trip by chance must not speak for many others.
            let is_queue = queue > idle * NEARLY_ALL && queue * SPEAKS_FOR >= unknown;
            match key.trouble {
                Trouble::Lost if is_queue => found.add(CauseKind::Congestion, &others),
                Trouble::LostWithoutQueue if queue > idle * MOST => found.add(CauseKind::LossWithoutQueue, &others),
                Trouble::LostWithoutQueue => found.compare(key.half, &others, CauseKind::Loss, of.parties),
                Trouble::Lost if idle > queue * NEARLY_ALL => {
                    found.compare(key.half, &others, CauseKind::Loss, of.parties);
                }
                Trouble::IgnoredSyn => {
                    found.compare(key.half, &others, CauseKind::NewConnectionsDropped, of.parties);
                }
                Trouble::ListenQueue => found.compare(key.half, &others, CauseKind::ListenQueue, of.parties),
                trouble => found.add(kind(trouble), &others),
            }
        }
        found.source = Source::default();
        for (reason, kind) in FAILURES {
            found.add(kind, of.failures.group(reason));
        }
        let losses = found.losses();
        let rejected = of.failures.group(Reason::Rejected);
        found.split(of.failures.group(Reason::Blackholed), CauseKind::Filtered, |party| {
            if of.parties.has_answered(party) {
                losses.get(&party).map_or(CauseKind::DroppedInPart, |(_, kind)| *kind)
            } else if rejected.parties.contains_key(&party) {
                // Routers limit the rate of ICMP errors (RFC 1812, 4.3.2.8).
                CauseKind::Rejected
            } else {
                CauseKind::Filtered
            }
        });
        found.prefer_overflows(of.has_overflowed);
        found.causes(of)
    }
}

/// Cause of a reason that needs no comparison with other attempts.
fn kind(trouble: Trouble) -> CauseKind {
    match trouble {
        Trouble::LostInQueue => CauseKind::Congestion,
        Trouble::LostWithoutQueue => CauseKind::LossWithoutQueue,
        Trouble::Lost => CauseKind::Loss,
        Trouble::IgnoredSyn => CauseKind::NewConnectionsDropped,
        Trouble::ListenQueue => CauseKind::ListenQueue,
        Trouble::DeferredAccept => CauseKind::DeferredAccept,
        Trouble::Deferred => CauseKind::Deferred,
        Trouble::LateAnswer => CauseKind::LateAnswer,
        Trouble::PortReuse => CauseKind::PortReuse,
        Trouble::Refused => CauseKind::Refused,
        Trouble::Reset => CauseKind::ResetByClient,
        Trouble::HeldUp => CauseKind::HeldUp,
    }
}

/// Cause of an attempt, as far as the attempt alone shows it: of losses without a queue and of SYNs that were ignored, only others
/// show the kind.
pub(crate) fn cause_of(class: &Classification) -> Option<CauseKind> {
    if class.outcome.is_complete() {
        return class.trouble.map(|trouble| match trouble {
            Trouble::LostWithoutQueue | Trouble::IgnoredSyn => CauseKind::Loss,
            trouble => kind(trouble),
        });
    }
    match class.outcome {
        Outcome::Refused => Some(CauseKind::Refused),
        Outcome::Rejected => Some(CauseKind::Rejected),
        Outcome::Challenged => Some(CauseKind::PortReuse),
        Outcome::Unanswered if class.elsewhere => Some(CauseKind::NatNotUndone),
        Outcome::HalfOpen if class.blackholed => Some(CauseKind::Filtered),
        Outcome::HalfOpen if class.reset => Some(CauseKind::ResetByClient),
        Outcome::Unanswered | Outcome::HalfOpen | Outcome::Succeeded | Outcome::OneSided => None,
    }
}

/// Causes from which a server loses some attempts altogether.
const LOSSES: [CauseKind; 7] = [
    CauseKind::Congestion,
    CauseKind::RandomLoss,
    CauseKind::BurstLoss,
    CauseKind::LossWithoutQueue,
    CauseKind::NewConnectionsDropped,
    CauseKind::ListenQueue,
    CauseKind::Loss,
];

/// Losses on the path, which have a direction.
const ON_THE_PATH: [CauseKind; 5] =
    [CauseKind::Congestion, CauseKind::RandomLoss, CauseKind::BurstLoss, CauseKind::LossWithoutQueue, CauseKind::Loss];

/// Causes of SYNs without an answer that may be those of an overflowing listen queue.
const UNANSWERED: [CauseKind; 9] = [
    CauseKind::NewConnectionsDropped,
    CauseKind::RandomLoss,
    CauseKind::BurstLoss,
    CauseKind::LossWithoutQueue,
    CauseKind::Loss,
    CauseKind::Deferred,
    CauseKind::Filtered,
    CauseKind::DroppedInPart,
    CauseKind::DeadHost,
];

const FAILURES: [(Reason, CauseKind); 9] = [
    (Reason::Dead, CauseKind::DeadHost),
    (Reason::Refused, CauseKind::Refused),
    (Reason::Rejected, CauseKind::Rejected),
    (Reason::Challenged, CauseKind::PortReuse),
    (Reason::Elsewhere, CauseKind::NatNotUndone),
    (Reason::Scan, CauseKind::Scan),
    (Reason::Flood, CauseKind::Flood),
    (Reason::Reset, CauseKind::ResetByClient),
    (Reason::Abandoned, CauseKind::ResetByClient),
];

/// Counts with which those of the causes are compared.
pub(super) struct Evidence<'a> {
    pub(super) attempts: u64,
    pub(super) failures: &'a Failures,
    pub(super) parties: &'a PartyCounts,
    /// Whether the server's host has counted overflows of its listen queue.
    pub(super) has_overflowed: &'a dyn Fn(Party) -> bool,
    pub(super) show: &'a dyn Fn(Address) -> String,
    pub(super) show_server: &'a dyn Fn(Address, u16) -> String,
}

/// Half of the path with most losses of an attempt, and their direction.
type Source = (usize, Option<LossDirection>);

/// Attempts of a cause, the data of the same servers, and the direction of the losses.
#[derive(Default)]
struct FoundCause {
    group: Group,
    data: DataCounts,
    toward: Toward,
}

/// Attempts by cause.
#[derive(Default)]
struct Found {
    causes: BTreeMap<CauseKind, FoundCause>,
    /// Source of the attempts that are being added.
    source: Source,
}

impl Found {
    fn add(&mut self, kind: CauseKind, group: &Group) {
        if group.all.attempts > 0 {
            let attempts = group.all.attempts;
            self.of(kind, attempts).add(group.clone());
        }
    }

    /// Group of a cause to which `attempts` are about to be added.
    fn of(&mut self, kind: CauseKind, attempts: u64) -> &mut Group {
        let found = self.causes.entry(kind).or_default();
        found.toward.add(self.source.0, self.source.1, attempts);
        &mut found.group
    }

    /// Adds the attempts of each party to the cause that `kind` returns, and the attempts of forgotten parties to `rest`.
    fn split(&mut self, group: &Group, rest: CauseKind, kind: impl Fn(Party) -> CauseKind) {
        let mut left = group.all;
        for (&party, &share) in &group.parties {
            left.attempts = left.attempts.saturating_sub(share.attempts);
            left.waited = left.waited.saturating_sub(share.waited);
            self.of(kind(party), share.attempts).add_share(party, share);
        }
        if left.attempts > 0 {
            self.of(rest, left.attempts).all.add(left);
        }
    }

    /// Adds losses in this half of a path without a queue, by the losses of data: of the same server, or, if it has too little
    /// data, of all servers with such losses; `rest` if all have too little.
    fn compare(&mut self, half: usize, group: &Group, rest: CauseKind, parties: &PartyCounts) {
        let (mut attempts, mut data) = (0, DataCounts::default());
        for &party in group.parties.keys() {
            let of_party = parties.data_of(party);
            attempts += of_party.0;
            data.add(of_party.1);
        }
        let together = data.kind_of_loss(half, group.all.attempts, attempts);
        let kind = |party: Party| {
            let (attempts, data) = parties.data_of(party);
            let lost = group.parties.get(&party).map_or(0, |share| share.attempts);
            let alone = data.kind_of_loss(half, lost, attempts).filter(|kind| *kind != CauseKind::LossWithoutQueue);
            match alone.or(together) {
                // The ignored ACKs show that packets had reached the server.
                Some(CauseKind::NewConnectionsDropped) if rest == CauseKind::ListenQueue => rest,
                kind => kind.unwrap_or(rest),
            }
        };
        let kinds: HashMap<Party, CauseKind> = group.parties.keys().map(|&party| (party, kind(party))).collect();
        self.split(group, rest, |party| kinds[&party]);
        for (party, kind) in kinds {
            if let Some(found) = self.causes.get_mut(&kind) {
                found.data.add(parties.data_of(party).1);
            }
        }
    }

    /// Moves attempts without an answer to the listen queue of their server where that has overflowed.
    fn prefer_overflows(&mut self, has_overflowed: &dyn Fn(Party) -> bool) {
        for kind in UNANSWERED {
            if let Some(found) = self.causes.get_mut(&kind) {
                let (overflowed, others) = found.group.partition(has_overflowed);
                found.group = others;
                self.add(CauseKind::ListenQueue, &overflowed);
            }
        }
        self.causes.retain(|_, found| found.group.all.attempts > 0);
    }

    /// Cause of most losses of each server.
    fn losses(&self) -> HashMap<Party, (u64, CauseKind)> {
        let mut losses: HashMap<Party, (u64, CauseKind)> = HashMap::new();
        for kind in LOSSES {
            for (party, share) in self.causes.get(&kind).into_iter().flat_map(|found| &found.group.parties) {
                let most = losses.entry(*party).or_insert((0, kind));
                *most = (*most).max((share.attempts, kind));
            }
        }
        losses
    }

    fn causes(self, of: &Evidence<'_>) -> Vec<Cause> {
        let causes = self.causes.into_iter().map(|(kind, FoundCause { group, data, toward })| {
            let mut evidence = match data == DataCounts::default() {
                true => BTreeMap::new(),
                false => data.evidence(),
            };
            let mut direction = None;
            if ON_THE_PATH.contains(&kind) {
                let mut data = DataCounts::default();
                group.parties.keys().for_each(|party| data.add(of.parties.data_of(*party).1));
                let (found, numbers) = toward.direction(&data);
                direction = found;
                evidence.extend(numbers);
            }
            let group = match kind {
                CauseKind::Scan => group.result(|client, _| (of.show)(client)),
                _ => group.result(of.show_server),
            };
            Cause {
                kind,
                share: group.attempts as f64 / of.attempts.max(1) as f64,
                group,
                direction,
                evidence,
                sentence: String::new(),
                remedy: String::new(),
                check: String::new(),
            }
        });
        let mut causes: Vec<Cause> = causes.collect();
        causes.sort_by_key(|it| Reverse((Nanos::from_secs_f64(it.group.waited_s), it.group.attempts)));
        causes
    }
}
