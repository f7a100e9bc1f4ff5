//! Users of dialogues and their servers, on sockets. Their decisions are shared with the simulator
//! (`gentle_experiment::application`).

use super::super::observations::{Connection, UserNote};
use super::active::Active;
use super::outgoing::Outgoing;
use super::socket::receive;
use super::{End, EventContext, Host, Status};
use crate::experiment::Flow;
use gentle_experiment::application::dialogue::{Action, User, UserPlan};
use gentle_experiment::application::{Decoder, Request, Server};
use gentle_units::Instant;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::Ordering;

/// A user of this host.
struct Seat {
    user: User,
    /// Index in the experiment's list of flows.
    flow: u32,
    /// Token of its connection; `None`: it has none, or has closed it.
    token: Option<u64>,
    /// Connections that it has opened and whose end is not known.
    open: u32,
    /// The next time at which it is looked after.
    planned_ns: u64,
    /// Whether everything that it will do has been done.
    done: bool,
}

/// Users of a host.
#[derive(Default)]
pub(super) struct Users {
    seats: Vec<Seat>,
    /// Times at which a user may have to do something, with its index.
    wakes: BinaryHeap<Reverse<(u64, usize)>>,
}

impl Users {
    /// Adds a user, whose flow has the index `flow`.
    pub(super) fn add(&mut self, plan: &UserPlan, flow: u32) {
        self.seats.push(Seat { user: User::new(plan), flow, token: None, open: 0, planned_ns: 0, done: false });
        // A user who does nothing within the run is found to be done then.
        self.wakes.push(Reverse((0, self.seats.len() - 1)));
    }

    /// Time at which a user may have to do something.
    pub(super) fn next_ns(&self) -> Option<u64> {
        self.wakes.peek().map(|Reverse((at, _))| *at)
    }

    /// Takes a user who may have to do something at `now`.
    pub(super) fn take_due(&mut self, now: u64) -> Option<usize> {
        self.next_ns().filter(|at| *at <= now)?;
        let Reverse((_, seat)) = self.wakes.pop()?;
        self.seats[seat].planned_ns = u64::MAX;
        Some(seat)
    }

    /// Ends the run: adds what is under way to `notes`.
    pub(super) fn finish(&mut self, notes: &mut Vec<UserNote>) {
        for seat in &mut self.seats {
            let mut actions = Vec::new();
            seat.user.finish(&mut actions);
            notes.extend(actions.into_iter().filter_map(|action| match action {
                Action::Note(note) => Some(UserNote { flow: seat.flow, note }),
                _ => None,
            }));
        }
    }
}

/// Event on a user's connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum News {
    Connected,
    /// Payload received so far.
    Received(u64),
    Lost,
}

/// The user's end of a connection.
pub(super) struct Asker {
    end: Active,
    /// Index of the user.
    seat: usize,
    /// Whether to close once everything is written, and whether that has been done.
    closing: bool,
    closed: bool,
    news: Vec<News>,
}

impl Asker {
    fn connect(flow: &Flow, number: u32, seat: usize, paces: bool, now_ns: u64) -> io::Result<Asker> {
        let end = Active::open(flow, number, Outgoing::Nothing, paces, now_ns)?;
        end.stream().set_nodelay(true)?;
        Ok(Asker { end, seat, closing: false, closed: false, news: Vec::new() })
    }

    pub(super) fn stream(&self) -> &TcpStream {
        self.end.stream()
    }

    /// Queues requests, which [`Asker::ready`] writes.
    fn ask(&mut self, requests: &[Request]) {
        let outgoing = self.end.outgoing();
        let mut bytes = match std::mem::replace(outgoing, Outgoing::Nothing) {
            Outgoing::Request(bytes) => bytes,
            _ => Vec::new(),
        };
        for request in requests {
            request.encode(&mut bytes);
        }
        *outgoing = Outgoing::Request(bytes);
    }

    pub(super) fn ready(&mut self, context: &mut EventContext<'_>) -> Status {
        let result = self.proceed(context);
        let status = self.end.conclude(result, context.now_ns);
        // A server that closes first has lost the connection, too.
        if status == Status::Over && !self.closed {
            self.news.push(News::Lost);
        }
        status
    }

    fn proceed(&mut self, context: &mut EventContext<'_>) -> io::Result<Status> {
        let connecting = self.end.is_connecting();
        if !self.end.establish(context.now_ns)? {
            return Ok(Status::Open);
        }
        if connecting {
            self.news.push(News::Connected);
        }
        self.end.write(context.now_ns)?;
        if self.closing && !self.closed && self.end.has_written_all() {
            self.closed = true;
            self.end.stream().shutdown(Shutdown::Write)?;
        }
        let before = self.end.received();
        let peer_closed = self.end.receive(context)?;
        if self.end.received() > before {
            self.news.push(News::Received(self.end.received()));
        }
        Ok(if peer_closed { Status::Over } else { Status::Open })
    }

    /// Record of a connection that is still open at the end of the run.
    pub(super) fn unfinished(self) -> Connection {
        self.end.unfinished()
    }
}

/// The server's end of a connection.
pub(super) struct Answerer {
    stream: TcpStream,
    decoder: Decoder,
    server: Server,
    outgoing: Outgoing,
    /// Time at which the next answer is due, for which the host has to set a timer.
    wake_ns: Option<u64>,
}

impl Answerer {
    pub(super) fn new(stream: TcpStream) -> io::Result<Answerer> {
        stream.set_nodelay(true)?;
        Ok(Answerer {
            stream,
            decoder: Decoder::default(),
            server: Server::default(),
            outgoing: Outgoing::Nothing,
            wake_ns: None,
        })
    }

    pub(super) fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Takes the time at which the connection has to be polled.
    pub(super) fn take_wake(&mut self) -> Option<u64> {
        self.wake_ns.take()
    }

    pub(super) fn ready(&mut self, context: &mut EventContext<'_>) -> Status {
        // The other end reports errors, since it has the record of the connection.
        self.proceed(context).unwrap_or(Status::Over)
    }

    fn proceed(&mut self, context: &mut EventContext<'_>) -> io::Result<Status> {
        let now = Instant(context.now_ns);
        let (decoder, server) = (&mut self.decoder, &mut self.server);
        let closed = receive(&self.stream, context.buffer, |bytes| {
            decoder.take(bytes, |request| server.request(now, &request));
        })?;
        if closed {
            return Ok(Status::Over);
        }
        let more = self.server.answer(now);
        if more > 0 {
            let left = match self.outgoing {
                Outgoing::Answer(left) => left,
                _ => 0,
            };
            self.outgoing = Outgoing::Answer(left.saturating_add(more));
        }
        self.wake_ns = self.server.next_at().map(|at| at.0);
        self.outgoing.write(&self.stream, context.now_ns)?;
        Ok(Status::Open)
    }
}

impl Host<'_> {
    /// Lets a user begin what is due.
    pub(super) fn wake_user(&mut self, seat: usize, buffer: &mut [u8]) -> io::Result<()> {
        let now = Instant(self.now_ns()?);
        let mut actions = Vec::new();
        self.users.seats[seat].user.wake(now, &mut actions);
        self.perform(seat, actions, buffer)
    }

    /// Passes the events of the connection `token` to its user.
    pub(super) fn hear(&mut self, token: u64, status: Status, buffer: &mut [u8]) -> io::Result<()> {
        let Some(End::Asker(end)) = self.ends.get_mut(&token) else {
            return Ok(());
        };
        let (seat, news) = (end.seat, std::mem::take(&mut end.news));
        let mut actions = Vec::new();
        let now = Instant(self.now_ns()?);
        let current = self.users.seats[seat].token == Some(token);
        for news in news.into_iter().filter(|_| current) {
            let user = &mut self.users.seats[seat].user;
            match news {
                News::Connected => user.connected(now, &mut actions),
                News::Received(bytes) => user.received(now, bytes, &mut actions),
                News::Lost => user.lost(now, &mut actions),
            }
        }
        if status == Status::Over
            && let Some(End::Asker(end)) = self.ends.remove(&token)
        {
            self.findings.connections.push(end.end.into_connection());
            let seat = &mut self.users.seats[seat];
            seat.open -= 1;
            if seat.token == Some(token) {
                seat.token = None;
            }
        }
        self.perform(seat, actions, buffer)
    }

    /// Carries out a user's requests.
    fn perform(&mut self, seat: usize, actions: Vec<Action>, buffer: &mut [u8]) -> io::Result<()> {
        for action in actions {
            let number = self.users.seats[seat].flow;
            match action {
                Action::Connect => {
                    let flow = &self.experiment.flows[number as usize];
                    let now = self.now_ns()?;
                    let end = Asker::connect(flow, number, seat, self.experiment.pacing, now)?;
                    let token = self.insert(End::Asker(end), None)?;
                    self.users.seats[seat].token = Some(token);
                    self.users.seats[seat].open += 1;
                }
                Action::Ask(requests) => {
                    let token = self.users.seats[seat].token;
                    self.with_asker(token, buffer, |end| end.ask(&requests))?;
                }
                Action::Close => {
                    let token = self.users.seats[seat].token.take();
                    self.with_asker(token, buffer, |end| end.closing = true)?;
                }
                Action::Note(note) => self.findings.notes.push(UserNote { flow: number, note }),
            }
        }
        let users = &mut self.users;
        let at = &mut users.seats[seat];
        if let Some(wake) = at.user.wake_at() {
            if wake.0 < at.planned_ns {
                at.planned_ns = wake.0;
                users.wakes.push(Reverse((wake.0, seat)));
            }
        } else if at.user.is_done() && at.open == 0 && !at.done {
            at.done = true;
            self.open.fetch_sub(1, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Changes a connection, then lets it write.
    fn with_asker(&mut self, token: Option<u64>, buffer: &mut [u8], change: impl FnOnce(&mut Asker)) -> io::Result<()> {
        let Some(token) = token else {
            return Ok(());
        };
        if let Some(End::Asker(end)) = self.ends.get_mut(&token) {
            change(end);
        }
        self.ready(token, buffer)
    }
}
