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
const BYTES: usize =
    size_of::<(Key, Lookup)>() + size_of::<(Instant, Key)>() + size_of::<((Address, Question), Vec<u16>)>() + 8;
/// Largest number of lookups of a client's question that are compared with another query.
const SAME: usize = 64;
/// Fewest lookups and hosts that are remembered.
const LEAST: usize = 16;

/// Lookups under way.
#[derive(Debug)]
pub(crate) struct Lookups {
    lookups: HashMap<Key, Lookup>,
    /// Keys of lookups with the times at which they may end, in order.
    ends: VecDeque<(Instant, Key)>,
    /// Identifications of the lookups by client and question, oldest first.
    by_question: HashMap<(Address, Question), Vec<u16>>,
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
            by_question: HashMap::new(),
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
            return lookup.answer(time, answer);
        }
        let before = self.same(answer.client, answer.question).find(|(_, lookup)| lookup.had(answer.id));
        let key = before.map(|(key, _)| key);
        if let Some(lookup) = key.and_then(|key| self.lookups.get_mut(&key)) {
            lookup.answer_before(time);
        }
    }

    fn query(&mut self, time: Instant, query: &Message) {
        let key = (query.client, query.id);
        self.restore(time, query);
        let twin = self.twin(query);
        let known = self.lookups.get_mut(&key).filter(|lookup| lookup.question == query.question);
        let mut next = Lookup::new(time, query);
        if let Some(lookup) = known {
            match lookup.meaning(time, query, twin.as_ref().map(|(_, twin)| twin)) {
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
                    return lookup.repeat(time, query, twin.as_ref().map(|(_, twin)| twin));
                }
                Meaning::RepetitionOfPair => {
                    self.counts.queries += 1;
                    lookup.repeat_for_twin(time, query);
                    if let Some(twin) = twin.and_then(|(key, _)| self.lookups.get_mut(&key)) {
                        twin.twin_answered = true;
                    }
                    return;
                }
                Meaning::Beginning => {}
            }
        } else if let Some(mut lookup) = self.take_repeated(time, query) {
            lookup.repeat(time, query, twin.as_ref().map(|(_, twin)| twin));
            next = lookup;
        }
        self.counts.queries += 1;
        self.insert(key, next);
    }

    /// Restores the lookup of a query's identification if another lookup was taken for its repetition.
    fn restore(&mut self, time: Instant, query: &Message) {
        let other =
            self.same(query.client, query.question).find(|(key, other)| key.1 != query.id && other.had(query.id));
        let key = other.map(|(key, _)| key);
        if let Some(earlier) = key.and_then(|key| self.lookups.get_mut(&key)?.separate(time)) {
            self.insert((query.client, query.id), earlier);
        }
    }

    /// Lookups of a client's question.
    fn same(&self, client: Address, question: Question) -> impl Iterator<Item = (Key, &Lookup)> {
        let ids = self.by_question.get(&(client, question)).into_iter().flatten();
        ids.filter_map(move |&id| Some(((client, id), self.lookups.get(&(client, id))?)))
    }

    /// The other lookup of the pair to which a query belongs: of those for the other address, the one that was begun at the time
    /// of the lookup of this query.
    fn twin(&self, query: &Message) -> Option<(Key, Lookup)> {
        let twin = query.question.twin()?;
        let lookup = self.lookups.get(&(query.client, query.id)).filter(|lookup| lookup.question == query.question)?;
        let mut twins = self.same(query.client, twin);
        twins.find(|(_, twin)| lookup.is_paired_with(twin)).map(|(key, twin)| (key, *twin))
    }

    /// Removes the lookup that a query under a new identification repeats: the one whose timeout fits best.
    fn take_repeated(&mut self, time: Instant, query: &Message) -> Option<Lookup> {
        let waiting = self.same(query.client, query.question);
        let timers = waiting.filter_map(|(key, lookup)| Some((lookup.timer_error(time)?, key)));
        let (_, key) = timers.min_by_key(|(error, _)| *error)?;
        let lookup = self.lookups.remove(&key)?;
        self.forget_question(key, lookup.question);
        Some(lookup.under(query.id, key.1, time))
    }

    fn forget_question(&mut self, (client, id): Key, question: Question) {
        if let Entry::Occupied(mut ids) = self.by_question.entry((client, question)) {
            ids.get_mut().retain(|other| *other != id);
            if ids.get().is_empty() {
                ids.remove();
            }
        }
    }

    fn insert(&mut self, key: Key, mut lookup: Lookup) {
        while self.lookups.len() >= self.most || self.ends.len() >= 2 * self.most {
            let Some((_, oldest)) = self.ends.pop_front() else {
                break;
            };
            self.end(oldest);
        }
        // A lookup has the place of the one that it replaces.
        match self.lookups.get(&key).map(|before| before.ends) {
            Some(ends) => {
                lookup.ends = ends;
                self.end(key);
            }
            None => {
                lookup.ends = self.now + LINGER;
                self.ends.push_back((lookup.ends, key));
            }
        }
        let ids = self.by_question.entry((key.0, lookup.question)).or_default();
        if ids.len() == SAME {
            ids.remove(0);
        }
        ids.push(key.1);
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
        self.forget_question(key, lookup.question);
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
        self.by_question.clear();
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
