//! One lookup: a question of a client, its queries and its answers.

use super::message::{Message, Question};
use gentle_units::{Instant, Nanos};
use gentle_wire::Address;

/// Smallest interval after which a resolver repeats a query. Queries at shorter intervals go to several servers at once, or
/// are copies made by the capture.
const SHORTEST_TIMER: Nanos = Nanos::from_millis(200);
/// Timeouts of resolvers, milliseconds, after which some repeat a query under another identification:
///
/// - 5 s: glibc (`RES_TIMEOUT` in resolv.h), systemd-resolved (`DNS_TIMEOUT_USEC`), Go's `net`;
/// - 2.5 s: musl (`retry_interval` in `res_msend.c`);
/// - 1, 2, 4, 8 s: Windows (KB 2834226); 1 and 3 s: macOS (`InitialQuestionInterval` of mDNSResponder);
/// - 2 s: c-ares 1.20; 10 s: the second round of glibc with two servers.
const TIMEOUTS_MS: [u64; 8] = [1_000, 2_000, 2_500, 3_000, 4_000, 5_000, 8_000, 10_000];
/// Time by which a timer may be early, in its clock's resolution, and late on a busy host.
const EARLY: Nanos = Nanos::from_millis(5);
const LATE: Nanos = Nanos::from_millis(25);
/// Time between the two queries for addresses of a name that a resolver sends together.
const TOGETHER: Nanos = Nanos::from_millis(50);
/// Largest number of rounds of a lookup; three servers of glibc with five attempts each (resolv.conf(5)) have fifteen. A program
/// that repeats a query for ever makes a new lookup after as many.
const ROUNDS: u32 = 16;

/// Meaning of a query that has the client, identification and question of a lookup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    /// A copy made by the capture.
    Copy,
    /// One of several queries sent at once, to several servers.
    Parallel,
    /// A repetition by a timer.
    Repetition,
    /// A repetition because the other lookup of the pair has no answer: glibc repeats both.
    RepetitionOfPair,
    /// Another lookup.
    Beginning,
}

/// Lookup of a client.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lookup {
    pub(super) question: Question,
    /// Port and server of the newest query.
    port: u16,
    last_server: Address,
    /// Server of the first query.
    pub(super) server: Address,
    pub(super) first: Instant,
    pub(super) last: Instant,
    /// Port of the first query.
    first_port: u16,
    /// State before the query under another identification that was taken for a repetition.
    before: Option<Before>,
    /// Newest answer that counts: its time, server, and port of the client.
    answered: Option<(Instant, Address, u16)>,
    /// First answer after the newest query.
    answer: Option<Instant>,
    answers: u32,
    /// Whether an answer was lost between the capture point and the client.
    answer_lost: bool,
    /// Whether an answer came under the identification of an earlier query.
    earlier_answer: bool,
    /// Times at which the resolver sent queries, without those sent again only for the other lookup of the pair.
    pub(super) rounds: u32,
    /// Times at which it sent queries again only for the other lookup.
    for_twin: u32,
    /// Time at which its place among the ends comes.
    pub(super) ends: Instant,
    /// Whether the other lookup of the pair had its answer when this one's query was repeated.
    pub(super) twin_answered: bool,
}

/// State of a lookup before a query under another identification.
#[derive(Debug, Clone, Copy)]
struct Before {
    id: u16,
    first: Instant,
    last: Instant,
    server: Address,
    rounds: u32,
    answers: u32,
    /// Time of the query under the other identification.
    until: Instant,
}

impl Lookup {
    pub(super) fn new(time: Instant, query: &Message) -> Lookup {
        Lookup {
            question: query.question,
            port: query.client_port,
            last_server: query.server,
            server: query.server,
            first: time,
            last: time,
            first_port: query.client_port,
            before: None,
            answered: None,
            answer: None,
            answers: 0,
            answer_lost: false,
            earlier_answer: false,
            rounds: 1,
            for_twin: 0,
            ends: time,
            twin_answered: false,
        }
    }

    /// Meaning of a query with the same client, identification and question; `twin` is the other lookup of the pair.
    pub(super) fn meaning(&self, time: Instant, query: &Message, twin: Option<&Lookup>) -> Meaning {
        let interval = time.saturating_since(self.last);
        let is_answered = self.is_answered();
        if interval < SHORTEST_TIMER {
            match (query.client_port, query.server) == (self.port, self.last_server) {
                true => Meaning::Copy,
                // If the server could not answer, the next one is asked at once.
                false if is_answered => Meaning::Beginning,
                false => Meaning::Parallel,
            }
        } else if self.rounds == ROUNDS {
            Meaning::Beginning
        } else if is_answered && twin.is_some_and(|twin| self.is_repeated_for(twin)) {
            Meaning::RepetitionOfPair
        } else if is_answered && timer_error(interval).is_none() {
            Meaning::Beginning
        } else {
            Meaning::Repetition
        }
    }

    /// Whether a query after the answer is sent because of `twin`, which has no answer, or whose query was repeated since.
    fn is_repeated_for(&self, twin: &Lookup) -> bool {
        let is_ahead = twin.rounds > self.rounds && twin.last > self.last;
        !twin.is_answered() || is_ahead
    }

    /// Records another query of the same round.
    pub(super) fn send(&mut self, time: Instant, query: &Message) {
        (self.port, self.last_server) = (query.client_port, query.server);
        self.last = self.last.max(time);
    }

    /// Records a repetition of both queries of a pair of which this one has an answer.
    pub(super) fn repeat_for_twin(&mut self, time: Instant, query: &Message) {
        self.for_twin += 1;
        self.send(time, query);
    }

    /// Records a repetition by a timer; `twin` is the other lookup of the pair.
    pub(super) fn repeat(&mut self, time: Instant, query: &Message, twin: Option<&Lookup>) {
        if let Some(answer) = self.answer.take() {
            // It was lost beyond the capture point, unless it came late.
            self.answer_lost |= answer.saturating_since(self.last).0 * 2 < time.saturating_since(self.last).0;
        }
        self.twin_answered |= twin.is_some_and(Lookup::is_answered);
        self.rounds += 1;
        self.send(time, query);
    }

    /// Time by which a resolver's timeout differs from the time since the newest query; `None` if it has an answer, or no timeout is
    /// near.
    pub(super) fn timer_error(&self, time: Instant) -> Option<Nanos> {
        let is_open = self.answer.is_none() && self.rounds < ROUNDS;
        timer_error(time.saturating_since(self.last)).filter(|_| is_open)
    }

    /// Handles an answer.
    pub(super) fn answer(&mut self, time: Instant, answer: &Message) {
        self.answer.get_or_insert(time);
        // Answers that come together are of several servers, or copies; those of a server to two ports answer two queries.
        let is_another = self.answered.is_none_or(|(before, server, port)| {
            time.saturating_since(before) >= SHORTEST_TIMER || (server == answer.server && port != answer.client_port)
        });
        if is_another {
            self.answered = Some((time, answer.server, answer.client_port));
            self.answers = self.answers.saturating_add(1);
        }
    }

    /// Handles an answer under another identification, which the lookup may have had before.
    pub(super) fn answer_before(&mut self, time: Instant) {
        self.earlier_answer |= self.rounds > 1 && time >= self.last;
    }

    /// Whether the newest query was answered.
    pub(super) fn is_answered(&self) -> bool {
        self.answer.is_some()
    }

    /// Whether this lookup and `twin` were begun together by one socket.
    pub(super) fn is_paired_with(&self, twin: &Lookup) -> bool {
        let (earlier, later) = (self.first.min(twin.first), self.first.max(twin.first));
        self.first_port == twin.first_port && later.saturating_since(earlier) <= TOGETHER
    }

    /// The lookup of the identification `before`, continued by a query at `time` under the identification `now`.
    pub(super) fn under(self, now: u16, before: u16, time: Instant) -> Lookup {
        let Lookup { first, last, server, rounds, answers, .. } = self;
        let before = Before { id: before, first, last, server, rounds, answers, until: time };
        Lookup { before: (now != before.id).then_some(before), ..self }
    }

    /// Whether the query before the newest one had this identification.
    pub(super) fn had(&self, id: u16) -> bool {
        self.before.is_some_and(|before| before.id == id)
    }

    /// Separates the lookup of the earlier identification, whose query is sent again at `time`: this one did not repeat it.
    pub(super) fn separate(&mut self, time: Instant) -> Option<Lookup> {
        let Before { first, last, server, rounds, answers, until, .. } =
            self.before.take_if(|before| time.saturating_since(before.last) >= SHORTEST_TIMER)?;
        let earlier = Lookup { first, last, server, rounds, answers, answer: None, earlier_answer: false, ..*self };
        self.first = until;
        self.server = self.last_server;
        self.rounds = self.rounds.saturating_sub(rounds).max(1);
        self.answers = self.answers.saturating_sub(answers);
        self.first_port = self.port;
        Some(earlier)
    }

    /// Time from the first query to the answer.
    pub(super) fn took(&self) -> Option<Nanos> {
        self.answer.map(|answer| answer.saturating_since(self.first))
    }

    /// Whether each round of queries was answered, so that the answers were late.
    pub(super) fn is_each_answered(&self) -> bool {
        let answers = self.answers.saturating_add(self.earlier_answer.into());
        !self.answer_lost && answers >= self.rounds + self.for_twin
    }
}

/// Smallest difference between an interval and a timeout of a resolver, if that is near.
fn timer_error(interval: Nanos) -> Option<Nanos> {
    let timeouts = TIMEOUTS_MS.iter().map(|ms| Nanos::from_millis(*ms));
    let near = timeouts.filter(|timeout| interval + EARLY >= *timeout && interval <= *timeout + LATE);
    near.map(|timeout| interval.max(timeout).saturating_sub(interval.min(timeout))).min()
}
