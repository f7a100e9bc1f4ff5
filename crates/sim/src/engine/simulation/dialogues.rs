//! The part of a simulation that users of dialogues and their servers have.

use super::{Simulation, rank_on_host};
use crate::engine::connection::Connection;
use crate::engine::dialogue::Talk;
use crate::engine::events::Event;
use crate::engine::outgoing::Outgoing;
use crate::engine::tap::Tap;
use gentle_experiment::application::dialogue::{Action, User};
use gentle_experiment::{Arrival, Initiator, Span};
use gentle_tcp::Endpoint;
use gentle_units::{Instant, Nanos};

impl<T: Tap> Simulation<T> {
    /// Plans the first event of each user.
    pub(super) fn wake_users(&mut self) {
        for number in 0..self.users.len() as u32 {
            self.plan_user(number);
        }
    }

    /// A user begins what is due.
    #[inline(never)]
    pub(super) fn wake_user(&mut self, number: u32) {
        let now = self.now;
        self.users[number as usize].planned = Instant::NEVER;
        self.act_for(number, |user, actions| user.wake(now, actions));
    }

    /// Counts transactions that are under way at the end of the run as unfinished.
    pub(super) fn dismiss_users(&mut self) {
        for number in 0..self.users.len() as u32 {
            self.act_for(number, User::finish);
        }
    }

    /// One side of the connection at `place` has taken a segment: its application reads, writes and closes.
    // Out of line, because other traffic does not come here.
    #[inline(never)]
    pub(super) fn converse(&mut self, place: u32, to_responder: bool) {
        if to_responder {
            self.serve(place);
        } else {
            self.hear(place);
        }
        self.follow(place, to_responder);
    }

    /// The user learns what has arrived.
    fn hear(&mut self, place: u32) {
        let now = self.now;
        let Some(connection) = self.connections.get_mut(place as usize) else {
            return;
        };
        let end = &connection.initiator;
        let (established, received) = (end.is_established(), end.received());
        let Some(talk) = &mut connection.talk else {
            return;
        };
        let number = talk.user;
        let current = Some((place, connection.path.serial));
        if !established || self.users[number as usize].connection != current {
            return;
        }
        if !std::mem::replace(&mut talk.connected, true) {
            self.act_for(number, |user, actions| user.connected(now, actions));
        } else if std::mem::replace(&mut talk.heard, received) < received {
            self.act_for(number, |user, actions| {
                user.received(now, received, actions);
            });
        }
    }

    /// The server takes the requests that are complete, answers what is due, and closes after the user.
    fn serve(&mut self, place: u32) {
        let now = self.now;
        let Some(connection) = self.connections.get_mut(place as usize) else {
            return;
        };
        let (Some(end), Some(talk)) = (&mut connection.responder, &mut connection.talk) else {
            return;
        };
        talk.deliver(now, end.received());
        let bytes = talk.server.answer(now);
        if bytes > 0 {
            end.write(now, bytes, &mut self.outgoing);
        }
        if let Some(at) = talk.server.next_at()
            && at != talk.planned
        {
            talk.planned = at;
            let event = Event::Answer(place, connection.path.serial);
            self.events.plan_ranked(at, rank_on_host(now, at), event);
        }
        if end.peer_closed() && !connection.has_closed(true) {
            connection.close(now, true, &mut self.outgoing);
        }
    }

    /// The server has finished its work on an answer.
    #[inline(never)]
    pub(super) fn answer(&mut self, place: u32, serial: u32) {
        let connection = self.connections.get_mut(place as usize);
        if connection.is_some_and(|connection| connection.path.serial == serial) {
            self.converse(place, true);
        }
    }

    /// Takes the measurements of a connection that has ended, or is open at the end of the run.
    pub(super) fn conclude_dialogue(&mut self, connection: &Connection) {
        let now = self.now;
        if now >= self.record.warmup() {
            for (stats, before) in connection.stats() {
                self.record.endpoint(connection.workload, stats, before);
            }
        }
        let Some(talk) = &connection.talk else {
            return;
        };
        let current = Some((connection.path.place, connection.path.serial));
        if connection.is_failed() && self.users[talk.user as usize].connection == current {
            self.users[talk.user as usize].connection = None;
            self.act_for(talk.user, |user, actions| user.lost(now, actions));
        }
    }

    /// Lets a user decide, carries out its requests, and plans its next event.
    fn act_for(&mut self, number: u32, decide: impl FnOnce(&mut User, &mut Vec<Action>)) {
        let mut actions = Vec::new();
        decide(&mut self.users[number as usize].user, &mut actions);
        for action in actions {
            let workload = self.users[number as usize].plan.workload;
            match action {
                Action::Connect => self.connect(number),
                Action::Ask(requests) => self.with_connection(number, |connection, now, out| {
                    if let Some(talk) = &mut connection.talk {
                        let bytes = talk.ask(&requests);
                        Endpoint::write(&mut connection.initiator, now, bytes, out);
                    }
                }),
                Action::Close => {
                    self.with_connection(number, |connection, now, out| {
                        connection.close(now, false, out);
                    });
                    self.users[number as usize].connection = None;
                }
                Action::Note(note) => note.record(workload, &mut self.record),
            }
        }
        self.plan_user(number);
    }

    fn plan_user(&mut self, number: u32) {
        let seat = &mut self.users[number as usize];
        if let Some(at) = seat.user.wake_at()
            && at < seat.planned
        {
            seat.planned = at;
            self.plan(at.max(self.now), Event::User(number));
        }
    }

    fn connect(&mut self, number: u32) {
        let seat = &self.users[number as usize];
        let arrival = Arrival {
            at: self.now,
            span: Span::Until(Instant::NEVER),
            direction: seat.direction,
            initiator: Initiator::Receiver,
            extra_rtt: Nanos(seat.plan.extra_rtt_ns),
            workload: seat.plan.workload,
        };
        let mut connection = self.open(&arrival);
        connection.talk = Some(Box::new(Talk::of(number)));
        let serial = connection.path.serial;
        let place = self.connections.insert(connection) as u32;
        self.users[number as usize].connection = Some((place, serial));
        self.follow(place, false);
    }

    /// Changes the user's connection and sends what comes of it.
    fn with_connection(&mut self, number: u32, change: impl FnOnce(&mut Connection, Instant, &mut Outgoing)) {
        let Some((place, _)) = self.users[number as usize].connection else {
            return;
        };
        if let Some(connection) = self.connections.get_mut(place as usize) {
            change(connection, self.now, &mut self.outgoing);
            self.follow(place, false);
        }
    }
}
