//! Lookups of names by DNS over UDP, whose lost queries and answers delay the connections that follow.
//!
//! A lookup is a question of a client with its repetitions. Its state is in a table of fixed size; when that is full, the
//! oldest lookup ends early.

mod counts;
mod lookup;
mod message;
#[cfg(test)]
mod tests;

pub(crate) use counts::LookupCounts;

use crate::results::CauseKind;
use crate::table_size::hash_table_room;
use gentle_units::{Instant, Nanos};
use gentle_wire::{Address, Ip, Udp};
use hashbrown::hash_map::Entry;
use hashbrown::{DefaultHashBuilder, HashMap, HashSet};
use lookup::{Lookup, Meaning};
use message::{Message, Question};
use std::collections::VecDeque;

/// Time after its newest query at which a lookup ends: longer than the timeouts of resolvers.
const LINGER: Nanos = Nanos::from_secs(12);
/// Time after which a query counts as unanswered at the end of the capture: glibc's timeout.
const PATIENCE: Nanos = Nanos::from_secs(5);

/// Time by which the clock must go back for times before and after to be unrelated.
const CLOCK_STEP: Nanos = Nanos::from_secs(60);

/// Client and identification of queries.
type Key = (Address, u16);

/// Bytes of a lookup in all tables: its state, its place in the order of ends, and the index of its question.
const BYTES: usize = size_of::<(Key, Lookup)>() + size_of::<(Instant, Key)>() + size_of::<((Address, Question), u16)>();
/// Fewest lookups and hosts that are remembered.
const LEAST: usize = 16;

/// Lookups under way.
#[derive(Debug)]
pub(crate) struct Lookups {
    lookups: HashMap<Key, Lookup>,
    /// Keys of lookups with the times at which they may end, in order.
    ends: VecDeque<(Instant, Key)>,
    /// Identification of the newest lookup by client and question.
    newest: HashMap<(Address, Question), u16>,
    /// Servers that answered, and clients that were answered, in two generations.
    answered: [HashSet<Address>; 2],
    hasher: DefaultHashBuilder,
    most: usize,
    now: Instant,
    counts: LookupCounts,
}

impl Lookups {
    /// Remembers lookups in about `memory_limit_bytes`. Nothing is allocated before the first.
    pub(crate) fn new(memory_limit_bytes: usize) -> Lookups {
        Lookups {
            lookups: HashMap::new(),
            ends: VecDeque::new(),
            newest: HashMap::new(),
            answered: [HashSet::new(), HashSet::new()],
            hasher: DefaultHashBuilder::default(),
            most: hash_table_room(memory_limit_bytes / 2, BYTES).max(LEAST),
            now: Instant::ZERO,
            counts: LookupCounts::default(),
        }
    }

    /// Handles a datagram. Datagrams come in the order of the capture; their times may go back.
    pub(crate) fn observe(&mut self, time: Instant, ip: &Ip, udp: &Udp<'_>) {
        let Some(message) = Message::read(ip, udp, &self.hasher) else {
            return;
        };
        if time + CLOCK_STEP < self.now {
            self.forget();
            self.now = time;
        }
        self.advance(time);
        match message.is_answer {
            true => self.answer(time, &message),
            false => self.query(time, &message),
        }
    }

    fn answer(&mut self, time: Instant, answer: &Message) {
        let [newer, older] = &mut self.answered;
        if newer.len() + 2 > self.most {
            std::mem::swap(newer, older);
            newer.clear();
        }
        newer.extend([answer.server, answer.client]);
        let key = (answer.client, answer.id);
        if let Some(lookup) = self.lookups.get_mut(&key).filter(|lookup| lookup.question == answer.question) {
            lookup.answer(time);
        } else if let Some(&id) = self.newest.get(&(answer.client, answer.question))
            && let Some(lookup) = self.lookups.get_mut(&(answer.client, id))
        {
            lookup.answer_before(time);
        }
    }

    fn query(&mut self, time: Instant, query: &Message) {
        let key = (query.client, query.id);
        let twin_key =
            query.question.twin().and_then(|twin| Some((query.client, *self.newest.get(&(query.client, twin))?)));
        let twin = twin_key.and_then(|key| self.lookups.get(&key)).copied();
        let known = self.lookups.get_mut(&key).filter(|lookup| lookup.question == query.question);
        let mut next = Lookup::new(time, query);
        if let Some(lookup) = known {
            match lookup.meaning(time, query, twin.as_ref()) {
                Meaning::Copy => {
                    self.counts.copies += 1;
                    return;
                }
                Meaning::Parallel => {
                    self.counts.queries += 1;
                    return lookup.send(time, query);
                }
                Meaning::Repetition => {
                    self.counts.queries += 1;
                    return lookup.repeat(time, query, twin.as_ref());
                }
                Meaning::RepetitionOfPair => {
                    next = lookup.again(time, query);
                    if let Some(twin) = twin_key.and_then(|key| self.lookups.get_mut(&key)) {
                        twin.twin_answered = true;
                    }
                }
                Meaning::Beginning => {}
            }
        } else if let Some(mut lookup) = self.take_repeated(time, query) {
            lookup.repeat(time, query, twin.as_ref());
            next = lookup;
        }
        self.counts.queries += 1;
        self.insert(key, next);
    }

    /// Removes the lookup that a query under a new identification repeats.
    fn take_repeated(&mut self, time: Instant, query: &Message) -> Option<Lookup> {
        let id = *self.newest.get(&(query.client, query.question))?;
        let lookup = self.lookups.entry((query.client, id));
        match lookup {
            Entry::Occupied(lookup) if lookup.get().is_repeated_by(time) => Some(lookup.remove()),
            _ => None,
        }
    }

    fn insert(&mut self, key: Key, mut lookup: Lookup) {
        while self.lookups.len() >= self.most || self.ends.len() >= 2 * self.most {
            let Some((_, oldest)) = self.ends.pop_front() else {
                break;
            };
            self.end(oldest);
        }
        self.newest.insert((key.0, lookup.question), key.1);
        // A lookup has the place of the one that it replaces.
        match self.lookups.get(&key).map(|before| before.ends) {
            Some(ends) => {
                lookup.ends = ends;
                self.end(key);
                self.newest.insert((key.0, lookup.question), key.1);
            }
            None => {
                lookup.ends = self.now + LINGER;
                self.ends.push_back((lookup.ends, key));
            }
        }
        self.lookups.insert(key, lookup);
    }

    /// Moves to `now`: ends lookups whose time has come.
    pub(crate) fn advance(&mut self, now: Instant) {
        self.now = self.now.max(now);
        while let Some(&(time, key)) = self.ends.front().filter(|(time, _)| *time <= self.now) {
            self.ends.pop_front();
            match self.lookups.get_mut(&key).filter(|lookup| lookup.ends == time) {
                Some(lookup) if lookup.last + LINGER > self.now => {
                    lookup.ends = self.now + LINGER;
                    self.ends.push_back((lookup.ends, key));
                }
                Some(_) => self.end(key),
                // It had another place when it was repeated under another identification.
                None => {}
            }
        }
    }

    /// Ends a lookup, and counts it.
    fn end(&mut self, key: Key) {
        let Some(lookup) = self.lookups.remove(&key) else {
            return;
        };
        if let Entry::Occupied(newest) = self.newest.entry((key.0, lookup.question))
            && *newest.get() == key.1
        {
            newest.remove();
        }
        let has_answered = |host: &Address| self.answered.iter().any(|hosts| hosts.contains(host));
        match lookup.took() {
            Some(took) if lookup.rounds == 1 => self.counts.answered(took),
            Some(took) => {
                let kind = match (lookup.twin_answered, lookup.is_each_answered()) {
                    (_, true) => CauseKind::DnsLate,
                    (true, false) => CauseKind::DnsPairLoss,
                    (false, false) => CauseKind::DnsLoss,
                };
                self.counts.slow(kind, lookup.server, took);
            }
            None if self.now.saturating_since(lookup.last) < PATIENCE => self.counts.undecided += 1,
            None if has_answered(&lookup.server) || has_answered(&key.0) => {
                let waited = lookup.last.saturating_since(lookup.first);
                self.counts.slow(CauseKind::DnsUnanswered, lookup.server, waited);
            }
            None => self.counts.unseen += 1,
        }
    }

    /// Forgets lookups under way.
    fn forget(&mut self) {
        self.counts.undecided += self.lookups.len() as u64;
        self.lookups.clear();
        self.newest.clear();
        self.ends.clear();
    }

    /// Counts since the last call, of lookups that ended until `now`.
    pub(crate) fn take(&mut self, now: Instant) -> LookupCounts {
        self.advance(now);
        std::mem::replace(&mut self.counts, LookupCounts::coarse())
    }

    /// Counts of all lookups, which end now.
    pub(crate) fn finish(mut self) -> LookupCounts {
        for key in self.lookups.keys().copied().collect::<Vec<Key>>() {
            self.end(key);
        }
        self.counts
    }
}
