//! The user of a dialogue, as a state machine.

use super::{Action, Drawn, Note, NoteEvent, Script, UserPlan};
use crate::application::Request;
use crate::draw::Stream;
use gentle_units::{Instant, Nanos};
use rand::SeedableRng;
use std::collections::VecDeque;

/// Connection of a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Link {
    Closed,
    /// Since this time.
    Connecting(Instant),
    Open,
}

/// A transaction under way.
#[derive(Debug, Clone)]
struct Running {
    began: Instant,
    /// Payload requested on the connection when its current stage is complete.
    complete_at: u64,
    /// Payload of its answers so far.
    bytes: u64,
    /// Stages not yet requested.
    stages: VecDeque<Vec<u64>>,
    last: bool,
}

/// State of a user. Its memory holds the current transactions; for a typist, all keystrokes without echo.
#[derive(Debug, Clone)]
pub struct User {
    script: Script,
    service: Nanos,
    mss: u16,
    end: Instant,
    rng: Stream,
    link: Link,
    next: Drawn,
    /// When the next transaction begins, or the connection for it; `Instant::NEVER`: not before something else happens.
    next_at: Instant,
    running: VecDeque<Running>,
    /// Payload of the answers requested on the current connection.
    asked: u64,
}

impl User {
    /// The user of `plan` at the start of the run. The first transaction begins after a pause.
    pub fn new(plan: &UserPlan) -> User {
        let mut rng = Stream::seed_from_u64(plan.seed);
        let next = plan.script.draw(plan.mss, &mut rng);
        User {
            script: plan.script,
            service: Nanos(plan.service_ns),
            mss: plan.mss,
            end: Instant(plan.end_ns),
            rng,
            link: Link::Closed,
            next_at: Instant::ZERO + next.pause,
            next,
            running: VecDeque::new(),
            asked: 0,
        }
    }

    /// Time at which [`User::wake`] has to be called; `None`: at no time, as things are.
    pub fn wake_at(&self) -> Option<Instant> {
        (self.next_at < self.end).then_some(self.next_at)
    }

    /// Whether the user has done everything and has no connection.
    pub fn is_done(&self) -> bool {
        self.wake_at().is_none() && self.link == Link::Closed
    }

    /// Begins what is due at `now`. Does nothing if nothing is.
    pub fn wake(&mut self, now: Instant, actions: &mut Vec<Action>) {
        if self.wake_at().is_none_or(|at| now < at) {
            return;
        }
        match self.link {
            Link::Closed => {
                self.link = Link::Connecting(now);
                actions.push(Action::Connect);
                if self.script.waits() {
                    self.begin(now);
                } else {
                    self.next_at = Instant::NEVER;
                }
            }
            Link::Open => {
                self.begin(now);
                self.ask(self.running.len() - 1, actions);
            }
            Link::Connecting(_) => {}
        }
    }

    /// The connection was established.
    pub fn connected(&mut self, now: Instant, actions: &mut Vec<Action>) {
        let Link::Connecting(since) = self.link else {
            return;
        };
        actions.push(Action::Note(Note {
            began_ns: since.0,
            event: NoteEvent::Connected { took_ns: now.saturating_since(since).0 },
        }));
        self.link = Link::Open;
        self.asked = 0;
        if self.script.waits() {
            for index in 0..self.running.len() {
                self.ask(index, actions);
            }
        } else {
            self.next_at = now + self.next.pause;
        }
        self.close_if_done(actions);
    }

    /// `received` bytes of payload have arrived on the connection so far.
    pub fn received(&mut self, now: Instant, received: u64, actions: &mut Vec<Action>) {
        if self.link != Link::Open {
            return;
        }
        while let Some(first) = self.running.front()
            && first.complete_at <= received
        {
            if !first.stages.is_empty() {
                self.ask(0, actions);
                continue;
            }
            let (began_ns, bytes, last) = (first.began.0, first.bytes, first.last);
            self.running.pop_front();
            let took_ns = now.0.saturating_sub(began_ns);
            let event = NoteEvent::Completed { took_ns, bytes };
            actions.push(Action::Note(Note { began_ns, event }));
            if self.script.waits() {
                self.next_at = now + self.next.pause;
            }
            if last {
                self.link = Link::Closed;
                return actions.push(Action::Close);
            }
        }
        self.close_if_done(actions);
    }

    /// TCP gave up on the connection. The user tries again after a pause.
    pub fn lost(&mut self, now: Instant, actions: &mut Vec<Action>) {
        if self.link == Link::Closed {
            return;
        }
        self.link = Link::Closed;
        self.give_up(NoteEvent::Failed, actions);
        self.next_at = now + self.next.pause;
    }

    /// The run ends.
    pub fn finish(&mut self, actions: &mut Vec<Action>) {
        self.give_up(NoteEvent::Unfinished, actions);
    }

    fn give_up(&mut self, event: NoteEvent, actions: &mut Vec<Action>) {
        actions.extend(self.running.drain(..).map(|running| {
            let began_ns = running.began.0;
            Action::Note(Note { began_ns, event })
        }));
    }

    /// Begins the next transaction, without asking for anything yet.
    fn begin(&mut self, now: Instant) {
        let next = self.script.draw(self.mss, &mut self.rng);
        let begins = std::mem::replace(&mut self.next, next);
        self.running.push_back(Running {
            began: now,
            complete_at: u64::MAX,
            bytes: 0,
            stages: begins.stages,
            last: begins.last,
        });
        self.next_at = match self.script.waits() {
            true => Instant::NEVER,
            false => now + self.next.pause,
        };
    }

    /// Requests the next stage of a transaction.
    fn ask(&mut self, index: usize, actions: &mut Vec<Action>) {
        let Some(running) = self.running.get_mut(index) else {
            return;
        };
        let stage = running.stages.pop_front().unwrap_or_default();
        let bytes = stage.iter().fold(0_u64, |sum, one| sum.saturating_add(*one));
        running.bytes = running.bytes.saturating_add(bytes);
        self.asked = self.asked.saturating_add(bytes);
        running.complete_at = self.asked;
        let request = |answer| Request { bytes: self.script.request_bytes(), answer, service: self.service };
        actions.push(Action::Ask(stage.into_iter().map(request).collect()));
    }

    /// Closes the connection of a user who has nothing more to do.
    fn close_if_done(&mut self, actions: &mut Vec<Action>) {
        if self.link == Link::Open && self.running.is_empty() && self.next_at >= self.end {
            self.link = Link::Closed;
            actions.push(Action::Close);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::application::{Decoder, LogNormal, OnOff, Pages, Server, Ssh};
    use crate::sizes::Sizes;
    use proptest::prelude::*;

    fn plan(script: Script, seed: u64) -> UserPlan {
        UserPlan {
            workload: 0,
            extra_rtt_ns: 0,
            seed,
            end_ns: 60_000_000_000,
            service_ns: 5_000_000,
            mss: 1448,
            script,
        }
    }

    fn scripts() -> [Script; 3] {
        [
            Script::Pages(Pages {
                pages: 3.0,
                think_ns: 2_000_000_000,
                request: 300,
                document: Pages::DOCUMENT,
                objects: LogNormal { median: 5, p90: 20 },
                object: Pages::OBJECT,
            }),
            Script::Ssh(Ssh { gap_ns: 239_000_000, packet: 36 }),
            Script::OnOff(OnOff { sizes: Sizes::zipf(1.7, 6000), off_ns: 1_000_000_000 }),
        ]
    }

    /// Events between a user and a server whose every message takes `delay`; TCP gives up on the connections
    /// with the numbers `broken`, when their first answer arrives.
    #[derive(Debug, Default, PartialEq)]
    struct Story {
        notes: Vec<Note>,
        requests: Vec<Request>,
        connections: usize,
        closed: usize,
    }

    fn story(plan: &UserPlan, delay: u64, broken: &[usize]) -> Story {
        #[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
        enum Event {
            Connected(usize),
            Asked(usize, Vec<u8>),
            Serve(usize),
            Answered(usize, u64),
        }
        let mut user = User::new(plan);
        let mut story = Story::default();
        let mut due = std::collections::BTreeMap::<(u64, u64), Event>::new();
        let (mut number, mut current) = (0, 0);
        let (mut decoder, mut server) = (Decoder::default(), Server::default());
        let (mut sent, mut received) = (0, 0);
        loop {
            let mut actions = Vec::new();
            let wake = user.wake_at().map_or(u64::MAX, |at| at.0);
            let next = due.first_key_value().map_or(u64::MAX, |((at, _), _)| *at);
            let now = wake.min(next);
            if now == u64::MAX {
                break;
            }
            let mut later = Vec::new();
            if wake <= next {
                user.wake(Instant(now), &mut actions);
            } else if let Some((_, event)) = due.pop_first() {
                let (Event::Connected(of) | Event::Asked(of, _) | Event::Serve(of) | Event::Answered(of, _)) = event;
                if of != current {
                    continue;
                }
                match event {
                    Event::Connected(_) => user.connected(Instant(now), &mut actions),
                    Event::Asked(_, bytes) => {
                        decoder.take(&bytes, |request| {
                            server.request(Instant(now), &request);
                            story.requests.push(request);
                        });
                        later.push((server.next_at().unwrap().0, Event::Serve(of)));
                    }
                    Event::Serve(_) => {
                        sent += server.answer(Instant(now));
                        later.push((now + delay, Event::Answered(of, sent)));
                        if let Some(at) = server.next_at() {
                            later.push((at.0, Event::Serve(of)));
                        }
                    }
                    Event::Answered(..) if broken.contains(&of) => {
                        user.lost(Instant(now), &mut actions);
                        current = 0;
                    }
                    Event::Answered(_, so_far) => {
                        received = so_far;
                        user.received(Instant(now), received, &mut actions);
                    }
                }
            }
            for action in actions {
                match action {
                    Action::Connect => {
                        story.connections += 1;
                        current = story.connections;
                        (decoder, server) = (Decoder::default(), Server::default());
                        (sent, received) = (0, 0);
                        later.push((now + 2 * delay, Event::Connected(current)));
                    }
                    Action::Ask(requests) => {
                        let mut bytes = Vec::new();
                        requests.iter().for_each(|one| one.encode(&mut bytes));
                        later.push((now + delay, Event::Asked(current, bytes)));
                    }
                    Action::Close => {
                        assert_eq!(sent, received, "every requested byte has arrived");
                        story.closed += 1;
                        current = 0;
                    }
                    Action::Note(note) => story.notes.push(note),
                }
            }
            for (at, event) in later {
                number += 1;
                due.insert((at, number), event);
            }
        }
        assert!(user.is_done());
        let mut rest = Vec::new();
        user.finish(&mut rest);
        assert_eq!(rest, [], "nothing is under way at the end");
        story
    }

    proptest! {
        #[test]
        fn what_is_asked_for_is_answered_and_draws_do_not_depend_on_the_path(
            seed in any::<u64>(),
            delay in 1_u64..400_000_000,
            broken in prop::collection::vec(1_usize..6, 0..3),
        ) {
            for script in scripts() {
                let plan = plan(script, seed);
                let one = story(&plan, delay, &[]);
                let asked: u64 = one.requests.iter().map(|request| request.answer).sum();
                let answered = one.notes.iter().map(|note| match note.event {
                    NoteEvent::Completed { bytes, .. } => bytes,
                    _ => 0,
                });
                prop_assert_eq!(asked, answered.sum::<u64>());
                prop_assert_eq!(one.connections, one.closed);
                prop_assert!(one.notes.iter().all(|note| note.began_ns < plan.end_ns));
                // On a faster path the same requests follow each other sooner, and there are as many or more.
                let fast = story(&plan, 1, &[]);
                let same = one.requests.len().min(fast.requests.len());
                prop_assert_eq!(&one.requests[..same], &fast.requests[..same]);
                // With connections that fail, everything ends still.
                let hurt = story(&plan, delay, &broken);
                let failed = hurt.notes.iter().filter(|note| note.event == NoteEvent::Failed).count();
                let reached = broken.iter().any(|of| *of <= hurt.connections);
                prop_assert!(failed > 0 || !reached);
            }
        }
    }

    #[test]
    fn a_page_is_the_document_then_all_objects_at_once() {
        let script = Script::Pages(Pages {
            pages: 1.0,
            think_ns: 1_000_000_000,
            request: 300,
            document: LogNormal::constant(1_000),
            objects: LogNormal::constant(3),
            object: LogNormal::constant(500),
        });
        let mut user = User::new(&plan(script, 9));
        let begins = user.wake_at().unwrap();
        let ms = |ms: u64| begins + Nanos::from_millis(ms);
        let mut actions = Vec::new();
        user.wake(Instant(begins.0 - 1), &mut actions);
        assert_eq!(actions, []);
        user.wake(begins, &mut actions);
        assert_eq!(actions, [Action::Connect]);
        actions.clear();
        let request = |answer| Request { bytes: 300, answer, service: Nanos::from_millis(5) };
        user.connected(ms(10), &mut actions);
        let note = |event| Action::Note(Note { began_ns: begins.0, event });
        let took_ns = 10_000_000;
        assert_eq!(actions, [note(NoteEvent::Connected { took_ns }), Action::Ask(vec![request(1_000)])]);
        actions.clear();
        user.received(ms(20), 999, &mut actions);
        assert_eq!(actions, []);
        user.received(ms(21), 1_000, &mut actions);
        assert_eq!(actions, [Action::Ask(vec![request(500); 3])]);
        actions.clear();
        user.received(ms(30), 2_500, &mut actions);
        let event = NoteEvent::Completed { took_ns: 30_000_000, bytes: 2_500 };
        assert_eq!(actions, [note(event), Action::Close]);
        assert!(user.wake_at().unwrap() > ms(30));
    }

    #[test]
    fn a_typist_does_not_wait_for_the_echo() {
        let [_, script, _] = scripts();
        let mut user = User::new(&plan(script, 1));
        let mut actions = Vec::new();
        let connects = user.wake_at().unwrap();
        user.wake(connects, &mut actions);
        assert_eq!(user.wake_at(), None);
        user.connected(connects, &mut actions);
        actions.clear();
        for _ in 0..3 {
            user.wake(user.wake_at().unwrap(), &mut actions);
        }
        assert_eq!(actions.len(), 3, "{actions:?}");
        actions.clear();
        user.received(Instant::from_secs(50), 72, &mut actions);
        assert_eq!(actions.len(), 2, "{actions:?}");
        let mut rest = Vec::new();
        user.finish(&mut rest);
        assert!(matches!(&rest[..], [Action::Note(note)] if note.event == NoteEvent::Unfinished), "{rest:?}");
    }
}
