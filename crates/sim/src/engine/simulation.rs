//! The event loop: which event is next, and what follows from it.

mod dialogues;

use super::access::Access;
use super::cbr_source::CbrSource;
use super::connection::Connection;
use super::datagrams::Datagrams;
use super::dialogue::Seat;
use super::events::{Event, Events};
use super::link::{Link, Queue};
use super::outgoing::Outgoing;
use super::packet::{NO_CONNECTION, Packet, Path};
use super::pipe::Pipe;
use super::tap::{DropCause, Ended, Tap};
use gentle_aqm::{Packet as _, registry};
use gentle_experiment::{Arrival, Class, Direction, Ending, Recorder, RunRecord, RunSpec, Scenario, Schedule, Span};
use gentle_tcp::Profile;
use gentle_units::{Instant, Nanos};
use slab::Slab;
use std::sync::Arc;

/// The run was cancelled before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stopped;

/// Events between two polls for cancellation.
const EVENTS_PER_POLL: u32 = 16_384;

/// Rounds between two polls; one has tens of thousands of events if a link of 10 Gb/s has a delay of 20 ms.
const ROUNDS_PER_POLL: u32 = 16;

/// The name of the simulator in run records.
pub(crate) const BACKEND: &str = "simulator";

/// Identity of the simulator: a digest of its sources (`build.rs`).
pub(crate) const ENGINE: &str = env!("GENTLE_ENGINE");

/// TCP of the hosts of a workload, and what its packets show to queues.
struct WorkloadPath {
    /// TCP of the initiators and of the responders.
    profiles: [Arc<Profile>; 2],
    dscp: u8,
    /// Number of the host on either side; `None`: connections take all hosts in turn.
    host: Option<u32>,
    /// Number of the tunnel; 0: none.
    tunnel: u8,
    /// Number of the group from 1; 0: none.
    group: u8,
}

/// A simulation under way: one scenario, one scheme, one seed, with a tap that sees what happens.
///
/// [`Simulation::run`] goes to the end at once; [`Simulation::step`] goes event by event, for pages and plots that show a
/// run while it lasts, and [`Simulation::finish`] gives the record then. Both give the same record.
pub struct Simulation<T> {
    pub(super) tap: T,
    workloads: Vec<WorkloadPath>,
    /// Payload of a full segment, in which sizes are counted.
    mss: u64,
    pub(super) now: Instant,
    /// The next points in time that are no event: the end of the warm-up and the end of arrivals.
    marks: Vec<Instant>,
    limit: Instant,
    /// The next arrival or mark; see [`Simulation::find_next_turn`].
    next_turn: Instant,
    stops_at: Instant,
    /// For each link, how long a packet travels at least after it was sent; zero in a run by steps.
    lookahead: [Nanos; 2],
    /// Until then, hosts know of all packets that reach them; see [`Simulation::round`].
    horizon: Instant,
    events: Events,
    pub(super) links: [Link; 2],
    pub(super) access: Option<Access>,
    pub(super) schedule: Schedule,
    pub(super) cbr_sources: Vec<CbrSource>,
    datagrams: Datagrams,
    users: Vec<Seat>,
    /// Packets between the hosts and either queue.
    entering: [Pipe; 2],
    outgoing: Outgoing,
    connections: Slab<Connection>,
    next_serial: u32,
    record: Recorder,
    /// Packets that each queue had marked at the end of the warm-up.
    marked_before: [u64; 2],
    /// Whether packets are counted by group as well.
    counts_groups: bool,
}

impl<T: Tap> Simulation<T> {
    /// The simulation of `run` before its first event.
    pub fn new(run: &RunSpec<'_>, tap: T) -> Simulation<T> {
        Simulation::with_queue(run, |seed| registry::build(run.scheme, seed), tap)
    }

    /// The simulation of `run` before its first event, with a queue under test that the registry of schemes need not
    /// have: `queue` makes it, given the seed of its random decisions. The scheme of `run` is its name in the record.
    pub fn with_queue(run: &RunSpec<'_>, queue: impl FnOnce(u64) -> Queue, tap: T) -> Simulation<T> {
        let RunSpec { scenario, seed, .. } = *run;
        let [down, up] = &scenario.links;
        let streams = scenario.streams(seed);
        let mut record = Recorder::new(run, BACKEND, ENGINE);
        let counts_groups = !scenario.groups().is_empty();
        if counts_groups {
            record.count_groups();
        }
        let mut events = Events::new(spacing(scenario));
        // Scenario files have at most as many groups as fit.
        let number = |workload| record.group_of(workload).and_then(|group| u8::try_from(group + 1).ok());
        let groups: Vec<u8> = (0..scenario.workloads.len()).map(|workload| number(workload).unwrap_or(0)).collect();
        let cbr_sources = CbrSource::all(scenario, seed, &groups);
        for (number, source) in cbr_sources.iter().enumerate() {
            if let Some(at) = source.next_at() {
                events.plan_ranked(at, rank_on_host(Instant::ZERO, at), Event::Cbr(number as u32));
            }
        }
        let access = scenario.access.as_ref().map(Access::new);
        let hosts = access.as_ref().map_or(1, Access::hosts);
        let path = |serial| Path {
            place: NO_CONNECTION,
            serial,
            host: (serial % hosts) as u16,
            extra_delay: Nanos::ZERO,
            dscp: 0,
            tunnel: 0,
            group: 0,
        };
        let datagrams = Datagrams::new(scenario, seed, cbr_sources.len() as u32, path, &groups);
        let mut simulation = Simulation {
            tap,
            workloads: (scenario.workloads.iter().zip(&groups))
                .map(|(workload, group)| WorkloadPath {
                    profiles: scenario.profiles(workload),
                    dscp: workload.dscp,
                    host: workload.host,
                    tunnel: workload.tunnel,
                    group: *group,
                })
                .collect(),
            mss: u64::from(scenario.profile.mss),
            now: Instant::ZERO,
            marks: vec![scenario.stops_at(), scenario.measures_from()],
            limit: scenario.ends_at(),
            next_turn: Instant::ZERO,
            stops_at: scenario.stops_at(),
            lookahead: [Nanos::ZERO; 2],
            horizon: Instant::ZERO,
            events,
            links: [
                Link::new(down, queue(streams.queue(Direction::Down)), streams.link(Direction::Down)),
                Link::new(up, registry::build(&up.qdisc, streams.queue(Direction::Up)), streams.link(Direction::Up)),
            ],
            access,
            schedule: scenario.schedule(seed),
            cbr_sources,
            datagrams,
            users: Seat::all(scenario, seed),
            entering: [Pipe::default(), Pipe::default()],
            outgoing: Outgoing::default(),
            connections: Slab::new(),
            next_serial: 0,
            record,
            marked_before: [0; 2],
            counts_groups,
        };
        for end in simulation.datagrams.ends() {
            simulation.follow_datagrams(end);
        }
        simulation.find_next_turn();
        simulation.wake_users();
        simulation
    }

    /// Runs to the end. `poll_cancel` is called every now and then with the time reached; it returns whether to
    /// continue.
    ///
    /// # Errors
    /// `poll_cancel` returned false.
    pub fn run(mut self, mut poll_cancel: impl FnMut(Instant) -> bool) -> Result<RunRecord, Stopped> {
        let (proceed, between_polls): (fn(&mut Self) -> bool, u32) = match self.look_ahead() {
            true => (Self::round, ROUNDS_PER_POLL),
            false => (Self::step, EVENTS_PER_POLL),
        };
        loop {
            if !poll_cancel(self.now) {
                return Err(Stopped);
            }
            for _ in 0..between_polls {
                if !proceed(&mut self) {
                    return Ok(self.finish());
                }
            }
        }
    }

    /// The record of what has happened so far; connections that are open then count as unfinished.
    pub fn finish(mut self) -> RunRecord {
        for place in self.places() {
            self.conclude(place);
        }
        self.datagrams.finish(&mut self.record);
        self.dismiss_users();
        for direction in Direction::BOTH {
            let index = direction.index();
            let marked = self.links[index].marked - self.marked_before[index];
            self.record.marked(direction, marked);
        }
        self.record.finish()
    }

    /// The time reached.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// The time at which the run ends at the latest.
    pub fn end(&self) -> Instant {
        self.limit
    }

    /// Numbers of the connections that are open, in order.
    fn places(&self) -> Vec<u32> {
        self.connections.iter().map(|(place, _)| place as u32).collect()
    }

    /// Connections that are open.
    pub fn open_connections(&self) -> usize {
        self.connections.len()
    }

    /// The tap.
    pub fn tap(&self) -> &T {
        &self.tap
    }

    /// The tap, to take out what it has collected.
    pub fn tap_mut(&mut self) -> &mut T {
        &mut self.tap
    }

    /// When the next thing happens, unless the run is over by then; [`Simulation::step`] does it.
    pub fn next_at(&self) -> Instant {
        self.soonest()
    }

    /// Does what is due next. False: nothing is left to do.
    pub fn step(&mut self) -> bool {
        let next = self.soonest();
        if next > self.limit || self.is_over() {
            return false;
        }
        debug_assert!(next >= self.now, "time ran back");
        self.now = next;
        // Simultaneous events happen in this order, so that it is the same in every run.
        if next == self.next_on_links() {
            self.link_event();
        } else if next == self.next_entry() {
            let direction = Direction::BOTH[usize::from(self.entering[0].next_at() != next)];
            if let Some(packet) = self.entering[direction.index()].pop() {
                self.enter(next, direction, packet);
            }
        } else if next == self.events.next_at() {
            let event = self.events.pop().expect("an event is due");
            self.dispatch(event);
        } else {
            self.turn();
        }
        true
    }

    /// Finds out how long a packet takes at least after each link has sent it. False: hosts and links have to act event by
    /// event, because that is no time at all, because what hosts send is in the queue at once, or because somebody watches.
    fn look_ahead(&mut self) -> bool {
        let [down, up] = self.links.each_ref().map(Link::lookahead);
        self.lookahead = [down, up];
        self.access.is_some() && !T::WATCHES && down.min(up) > Nanos::ZERO
    }

    /// Does all that hosts do before a packet that no link has sent yet can reach one, then all that happens on the links in
    /// the same time: conservative synchronisation, with a link's delay as its lookahead (Chandy and Misra 1979). Hosts and
    /// links then run on their own code and data for a while, which takes 5 % less time than steps. False: nothing is left
    /// to do.
    ///
    /// The record is that of steps: packets reach a queue in order of time, whenever they were sent, and events at the same
    /// time have the rank that steps would have planned them in.
    fn round(&mut self) -> bool {
        if self.soonest() > self.limit || self.is_over() {
            return false;
        }
        self.horizon = self.first_arrival();
        loop {
            // As long as the calendar's next event comes before all of these, nothing else has to be looked at.
            let last = self.limit.min(self.next_turn);
            let until = self.next_on_wires().min(last + Nanos(1));
            while self.events.next_at() < self.horizon.min(until) && !self.is_over() {
                self.now = self.events.next_at();
                if let Some(event) = self.events.pop() {
                    self.dispatch(event);
                }
            }
            let next = self.next_on_hosts();
            if next >= self.horizon || next > self.limit || self.is_over() {
                break;
            }
            self.now = next;
            if next == self.next_on_wires() {
                self.arrival();
            } else {
                // The end of the warm-up is one for the links, too.
                self.catch_up(next);
                self.turn();
            }
        }
        let until = match self.is_over() {
            true => self.now,
            false => self.horizon.min(self.next_on_hosts()).min(self.limit),
        };
        self.catch_up(until);
        true
    }

    /// Whether nothing is left to happen.
    #[inline]
    fn is_over(&self) -> bool {
        // Datagrams continue until no event is left.
        self.marks.is_empty() && self.connections.is_empty() && self.datagrams.is_empty()
    }

    /// The earliest time at which a packet that has not been sent by a link may reach a host.
    fn first_arrival(&self) -> Instant {
        let of = |index: usize| {
            let next = self.links[index].done_at.min(self.entering[index].next_at());
            next + self.lookahead[index]
        };
        of(0).min(of(1))
    }

    /// When a host does something.
    fn next_on_hosts(&self) -> Instant {
        self.next_on_wires().min(self.events.next_at()).min(self.next_turn)
    }

    /// When a packet reaches the end of a link's wire.
    #[inline]
    fn next_on_wires(&self) -> Instant {
        let [down, up] = &self.links;
        down.wire.next_at().min(up.wire.next_at())
    }

    /// A packet reaches the end of a link's wire.
    fn arrival(&mut self) {
        let [down, up] = &mut self.links;
        let link = if down.wire.next_at() == self.now { down } else { up };
        if let Some(packet) = link.wire.pop() {
            self.deliver(packet.place, packet);
        }
    }

    /// Does what happens on the links up to `until`.
    fn catch_up(&mut self, until: Instant) {
        self.advance(Direction::Down, until);
        self.advance(Direction::Up, until);
    }

    /// Does what happens on one link up to `until`.
    // Compiled for each direction.
    #[inline(always)]
    fn advance(&mut self, direction: Direction, until: Instant) {
        let index = direction.index();
        loop {
            let done = self.links[index].done_at;
            let entry = self.entering[index].next_at();
            if done.min(entry) > until {
                return;
            }
            if done <= entry {
                self.departure(done, direction);
            } else if let Some(packet) = self.entering[index].pop() {
                self.enter(entry, direction, packet);
            }
        }
    }

    /// When the next thing happens.
    #[inline]
    fn soonest(&self) -> Instant {
        self.next_on_links().min(self.next_entry()).min(self.events.next_at()).min(self.next_turn)
    }

    /// When a link has sent a packet, or one reaches the end of its wire.
    #[inline]
    fn next_on_links(&self) -> Instant {
        let [down, up] = &self.links;
        down.next_at().min(up.next_at())
    }

    /// When a packet that has crossed its access link reaches a queue.
    #[inline]
    fn next_entry(&self) -> Instant {
        let [down, up] = &self.entering;
        down.next_at().min(up.next_at())
    }

    /// A connection arrives, or a mark is passed.
    fn turn(&mut self) {
        if self.now == self.schedule.next_at() {
            self.start_connection();
        } else {
            self.marks.pop();
            self.find_next_turn();
            self.pass_mark();
        }
    }

    /// Both are rare, so that a step compares with the earlier one only.
    pub(super) fn find_next_turn(&mut self) {
        let mark = self.marks.last().copied().unwrap_or(Instant::NEVER);
        self.next_turn = self.schedule.next_at().min(mark);
    }

    /// One of the two links has sent a packet or asks its queue again, or a packet reaches the end of its wire.
    fn link_event(&mut self) {
        for direction in Direction::BOTH {
            let link = &mut self.links[direction.index()];
            if link.done_at == self.now {
                return self.departure(self.now, direction);
            }
            if link.wire.next_at() == self.now {
                if let Some(packet) = link.wire.pop() {
                    self.deliver(packet.place, packet);
                }
                return;
            }
        }
    }

    // Inlined, with only calls inlined into it, so that an event is not written to memory and read again at once, in other
    // parts: such a read waits for the write to end.
    #[inline(always)]
    fn dispatch(&mut self, event: Event) {
        match event {
            Event::Deliver(place, packet) => self.deliver(place, packet),
            Event::Timer(place, responder) => self.timer(place, responder),
            Event::Cbr(number) => self.send_cbr(number),
            Event::User(number) => self.wake_user(number),
            Event::Answer(place, serial) => self.answer(place, serial),
            Event::Datagrams(end) => self.datagram_timer(end),
            Event::Stop(place) => self.end_of_span(place),
        }
    }

    /// The time of a long-lived connection is over.
    #[inline(never)]
    fn end_of_span(&mut self, place: u32) {
        // Another connection may have taken the place of one that failed.
        let connection = self.connections.get_mut(place as usize);
        if connection.is_some_and(|c| c.span == Span::Until(self.now)) {
            self.stop_long(place);
        }
    }

    /// Plans an event of a host.
    fn plan(&mut self, at: Instant, event: Event) {
        self.events.plan_ranked(at, rank_on_host(self.now, at), event);
    }

    /// The warm-up or the arrivals end: long-lived flows are measured between the two, and stop at the latter.
    fn pass_mark(&mut self) {
        let arrivals_end = self.marks.is_empty();
        if !arrivals_end {
            for (before, link) in self.marked_before.iter_mut().zip(&self.links) {
                *before = link.marked;
            }
        }
        for place in self.places() {
            let connection = self.connections.get_mut(place as usize).expect("it is there");
            let Span::Until(stop) = connection.span else {
                continue;
            };
            if !arrivals_end {
                connection.begin_measuring();
            } else if connection.talk.is_none() {
                self.record.goodput(connection.data_direction(), connection.goodput_bytes(), connection.started, stop);
                self.stop_long(place);
            }
        }
    }

    fn start_connection(&mut self) {
        let arrival = self.schedule.next().expect("a connection is due");
        self.find_next_turn();
        let connection = self.open(&arrival);
        let place = self.connections.insert(connection) as u32;
        self.follow(place, false);
        if let Span::Until(stop) = arrival.span
            && stop < self.stops_at
        {
            self.plan(stop, Event::Stop(place));
        }
    }

    /// Opens a connection, with the next number, for a vacant place.
    fn open(&mut self, arrival: &Arrival) -> Connection {
        let serial = self.next_serial;
        self.next_serial = self.next_serial.wrapping_add(1);
        let workload = &self.workloads[arrival.workload];
        let path = Path {
            place: self.connections.vacant_key() as u32,
            serial,
            host: self.host_of(arrival.workload, serial),
            extra_delay: Nanos(arrival.extra_rtt.0 / 2),
            dscp: workload.dscp,
            tunnel: workload.tunnel,
            group: workload.group,
        };
        let [initiator, _] = &workload.profiles;
        Connection::open(arrival, path, initiator, &mut self.outgoing)
    }

    /// Sends what an end point of a connection put into `outgoing`, and sees to its timer.
    fn follow(&mut self, place: u32, responder: bool) {
        if let Some(connection) = self.connections.get_mut(place as usize) {
            let turn = Turn::of(connection, responder, self.now, &mut self.events);
            self.complete(&turn);
        }
    }

    /// Sends what the end point has put into `outgoing` in `turn`, and takes leave of the connection if it is over.
    #[inline(always)]
    fn complete(&mut self, turn: &Turn) {
        if !self.outgoing.packets.is_empty() {
            let overhead = self.links[turn.direction.index()].overhead;
            let mut packets = std::mem::take(&mut self.outgoing.packets);
            for mut packet in packets.drain(..) {
                packet.address(&turn.path, turn.direction, overhead, turn.unacked);
                self.send(packet);
            }
            self.outgoing.packets = packets;
        }
        if turn.over {
            self.conclude(turn.path.place);
        }
    }

    #[inline(never)]
    fn timer(&mut self, place: u32, responder: bool) {
        let now = self.now;
        let Some(connection) = self.connections.get_mut(place as usize) else {
            return;
        };
        let side = usize::from(responder);
        if connection.planned[side] > now {
            // Planned for an earlier connection in this place, or overtaken by an earlier one.
            return;
        }
        connection.planned[side] = Instant::NEVER;
        let serial = connection.path.serial;
        if let Some(end) = connection.end(responder) {
            end.on_timer(now, &mut self.outgoing);
        }
        self.tap.timer(now, serial, responder);
        self.follow(place, responder);
    }

    /// A packet reaches its end host.
    #[inline(never)]
    fn deliver(&mut self, place: u32, packet: Box<Packet>) {
        self.tap.delivered(self.now, packet.direction, &packet);
        let connection = self.connections.get_mut(place as usize);
        // A datagram has no connection; a late packet must not reach the one that came after its own.
        if let Some(connection) = connection.filter(|c| c.path.serial == packet.serial) {
            let to_responder = packet.direction == connection.initiator_direction;
            connection.deliver(
                self.now,
                to_responder,
                &packet.segment,
                packet.congestion_experienced(),
                &self.workloads[connection.workload].profiles[1],
                &mut self.outgoing,
            );
            if connection.talk.is_some() {
                self.outgoing.reuse(packet);
                return self.converse(place, to_responder);
            }
            let turn = Turn::of(connection, to_responder, self.now, &mut self.events);
            self.outgoing.reuse(packet);
            self.complete(&turn);
        } else {
            self.deliver_datagram(packet);
        }
    }

    /// A packet without a connection reaches its end host.
    // Out of line, because scenarios have few of them.
    #[inline(never)]
    fn deliver_datagram(&mut self, packet: Box<Packet>) {
        let end = match packet.is_udp() {
            true => (self.datagrams).receive(self.now, &packet, &mut self.record),
            false => None,
        };
        self.outgoing.reuse(packet);
        if let Some(end) = end {
            self.follow_datagrams(end);
        }
    }

    /// A timer of an end of a flow of datagrams.
    #[inline(never)]
    fn datagram_timer(&mut self, end: u32) {
        self.datagrams.on_timer(self.now, end, &mut self.record);
        self.follow_datagrams(end);
    }

    /// Sends what an end of a flow of datagrams has to send, and sees to its timer.
    fn follow_datagrams(&mut self, end: u32) {
        while let Some(packet) = self.datagrams.take(end) {
            let packet = self.outgoing.boxed(packet);
            self.send(packet);
        }
        if let Some(at) = self.datagrams.plan(end) {
            self.plan(at.max(self.now), Event::Datagrams(end));
        }
    }

    fn stop_long(&mut self, place: u32) {
        let now = self.now;
        let Some(connection) = self.connections.get_mut(place as usize) else {
            return;
        };
        if connection.stopped {
            return;
        }
        let responder = !connection.initiator_sends;
        connection.stop(now, &mut self.outgoing);
        self.follow(place, responder);
    }

    /// The host of a connection of a workload. Connections without their own hosts take all hosts in turn.
    fn host_of(&self, workload: usize, number: u32) -> u16 {
        let in_turn = || {
            let access = self.access.as_ref();
            access.map_or(0, |access| number % access.hosts())
        };
        // Scenarios have at most 65,536 hosts a side.
        self.workloads[workload].host.unwrap_or_else(in_turn) as u16
    }

    #[inline(never)]
    fn send_cbr(&mut self, number: u32) {
        let host = self.host_of(self.cbr_sources[number as usize].workload(), number);
        let source = &mut self.cbr_sources[number as usize];
        let packet = self.outgoing.boxed(source.send(host));
        let next = source.next_at();
        if let Some(at) = next {
            self.plan(at, Event::Cbr(number));
        }
        self.send(packet);
    }

    /// A host sends a packet: over its access link, or straight into the bottleneck's queue.
    #[inline(always)]
    fn send(&mut self, packet: Box<Packet>) {
        let direction = packet.direction;
        let Some(access) = &mut self.access else {
            return self.enter(self.now, direction, packet);
        };
        let at = access.cross(self.now, direction, packet.host, packet.bytes());
        let arrival = at + self.lookahead[direction.index()];
        self.horizon = self.horizon.min(arrival);
        self.entering[direction.index()].push(at, packet);
    }

    #[inline(always)]
    fn enter(&mut self, at: Instant, direction: Direction, mut packet: Box<Packet>) {
        // From here on the packet counts, or not: what entered before the end of the warm-up is left out wherever it ends.
        packet.counts = self.record.offered(at, direction, packet.class);
        if self.counts_groups
            && packet.counts
            && let Some(group) = packet.counted_group()
        {
            self.record.group_offered(group, direction);
        }
        self.tap.offered(at, direction, &packet);
        let link = &mut self.links[direction.index()];
        if link.drops_handshake && matches!(packet.class, Class::Syn | Class::SynAck) {
            link.drops_handshake = false;
            return self.lose(at, direction, packet, DropCause::Request);
        }
        link.qdisc.enqueue(at, packet, &mut link.signals);
        if link.is_idle() {
            self.transmit(at, direction);
        } else {
            self.account_for_signals(at, direction);
        }
    }

    /// Begins the next transmission of an idle link.
    #[inline(always)]
    pub(super) fn transmit(&mut self, now: Instant, direction: Direction) {
        let link = &mut self.links[direction.index()];
        let mut carried = 0;
        let sent = link.send(now, |from, to, bytes| {
            carried += self.record.carried(direction, from, to, bytes);
        });
        if let Some(arrived) = sent {
            let delay = now.saturating_since(arrived);
            self.record.left(now, direction, delay);
            if let Some(packet) = link.sending() {
                if self.counts_groups
                    && let Some(group) = packet.counted_group()
                {
                    self.record.group_left(group, direction, now, delay, carried);
                }
                if packet.congestion_experienced() {
                    self.tap.marked(now, direction, packet);
                }
                self.tap.dequeued(now, direction, packet);
            }
        }
        self.account_for_signals(now, direction);
    }

    #[inline]
    pub(super) fn account_for_signals(&mut self, now: Instant, direction: Direction) {
        if !self.links[direction.index()].signals.is_silent() {
            self.take_signals(now, direction);
        }
    }

    // Out of line, because it is rare.
    #[inline(never)]
    fn take_signals(&mut self, now: Instant, direction: Direction) {
        let link = &mut self.links[direction.index()];
        link.marked += link.signals.drain_marks().count() as u64;
        for (packet, reason) in link.signals.drain() {
            if packet.counts {
                self.record.dropped(direction, packet.class, Some(reason));
                if let Some(group) = packet.counted_group() {
                    self.record.group_dropped(group, direction);
                }
            }
            let cause = DropCause::Queue(reason);
            self.tap.dropped(now, direction, &packet, cause);
            self.outgoing.reuse(packet);
        }
    }

    /// Drops a packet outside of the queue.
    #[inline(never)]
    fn lose(&mut self, now: Instant, direction: Direction, packet: Box<Packet>, cause: DropCause) {
        if packet.counts {
            self.record.dropped(direction, packet.class, None);
            if let Some(group) = packet.counted_group() {
                self.record.group_dropped(group, direction);
            }
        }
        self.tap.dropped(now, direction, &packet, cause);
        self.outgoing.reuse(packet);
    }

    /// A packet has been sent and travels on, or an idle link has waited long enough; the next one begins.
    #[inline(always)]
    fn departure(&mut self, now: Instant, direction: Direction) {
        let link = &mut self.links[direction.index()];
        let Some(packet) = link.sent() else {
            // The queue said that nothing may leave before now.
            return self.transmit(now, direction);
        };
        if link.loses() {
            self.lose(now, direction, packet, DropCause::Loss);
        } else {
            if packet.counts {
                self.record.sent(direction);
            }
            self.tap.sent(now, direction, &packet);
            let at = link.arrival(now, &packet);
            if packet.extra_delay == Nanos::ZERO {
                link.wire.push(at, packet);
            } else {
                let event = Event::Deliver(packet.place, packet);
                self.events.plan_packet(at, rank_on_link(now, at), event);
            }
        }
        self.transmit(now, direction);
    }

    /// Takes a connection out of the table and into the record.
    fn conclude(&mut self, place: u32) {
        let Some(connection) = self.connections.try_remove(place as usize) else {
            return;
        };
        let ended = self.ended(&connection);
        self.tap.ended(self.now, &ended);
        if connection.talk.is_some() {
            return self.conclude_dialogue(&connection);
        }
        let warmup = self.record.warmup();
        if self.now < warmup {
            return;
        }
        if let Span::Until(stop) = connection.span {
            for (stats, before) in connection.stats() {
                self.record.endpoint(connection.workload, stats, before);
            }
            // At the end of arrivals all that were open have been measured.
            if !self.marks.is_empty() {
                self.record.goodput(connection.data_direction(), connection.goodput_bytes(), connection.started, stop);
            }
            return;
        }
        if connection.started < warmup {
            return;
        }
        let segments = ended.segments.unwrap_or_default();
        let ends: Vec<_> = connection.stats().map(|(stats, _)| stats).collect();
        self.record.connection(connection.workload, connection.started, segments, ended.ending, ended.handshake, &ends);
    }

    /// The outcome of a connection that is removed from the simulation.
    fn ended(&self, connection: &Connection) -> Ended {
        let (talks, over) = (connection.talk.is_some(), connection.is_over());
        let completed = match talks {
            true => over.then_some(self.now),
            false => connection.completed_at,
        };
        Ended {
            connection: connection.path.serial,
            workload: connection.workload,
            started: connection.started,
            segments: match connection.span {
                Span::Bytes(bytes) if !talks => Some(bytes.div_ceil(self.mss).max(1)),
                _ => None,
            },
            ending: match completed {
                _ if connection.is_failed() && connection.completed_at.is_none() => Ending::Failed,
                Some(at) => Ending::Completed(at - connection.started),
                None => Ending::Unfinished,
            },
            handshake: (connection.initiator.established_at()).map(|at| at - connection.started),
        }
    }
}

/// State of a connection after an action of one of its end points.
struct Turn {
    path: Path,
    /// Which way the end point's packets go.
    direction: Direction,
    /// Payload bytes that the end point has queued and not got acknowledged.
    unacked: u64,
    /// Nothing more will happen to the connection.
    over: bool,
}

impl Turn {
    /// Also plans to look after the end point's timer.
    #[inline(always)]
    fn of(connection: &mut Connection, responder: bool, now: Instant, events: &mut Events) -> Turn {
        let path = connection.path;
        let mut over = false;
        let mut unacked = 0;
        let planned = connection.planned[usize::from(responder)];
        if let Some(end) = connection.end(responder) {
            unacked = end.bytes_unacked();
            let timer = end.next_timer().filter(|at| *at < planned);
            // As long as this end is open, so is the connection; the other end need not be looked at.
            over = end.is_closed() && connection.is_over();
            if let Some(at) = timer {
                // Timers mostly move back, so the event already planned is left to find out (see `Simulation::timer`).
                connection.planned[usize::from(responder)] = at;
                plan_timer(events, now, at.max(now), path.place, responder);
            }
        }
        Turn {
            path,
            direction: if responder {
                connection.initiator_direction.reverse()
            } else {
                connection.initiator_direction
            },
            unacked,
            over,
        }
    }
}

/// Plans to look after a timer.
// Out of line, because few segments move a timer forward.
#[inline(never)]
fn plan_timer(events: &mut Events, now: Instant, at: Instant, place: u32, responder: bool) {
    events.plan_ranked(at, rank_on_host(now, at), Event::Timer(place, responder));
}

/// Rank of an event at `at` that a link plans at `now`. Events at the same time happen in the order in which they were
/// planned, and what a link planned first, also if rounds plan them in another order; see [`Simulation::round`].
#[inline]
fn rank_on_link(now: Instant, at: Instant) -> u32 {
    rank((at - now).0.saturating_mul(2).saturating_add(1))
}

/// Rank of an event at `at` that a host plans at `now`.
#[inline]
fn rank_on_host(now: Instant, at: Instant) -> u32 {
    rank((at - now).0.saturating_mul(2))
}

/// Events planned with a shorter lead have a higher rank; a lead of more than two seconds counts as that.
#[inline]
fn rank(lead: u64) -> u32 {
    u32::MAX - u32::try_from(lead).unwrap_or(u32::MAX)
}

/// About how far apart events are: several belong to each packet on the faster link.
fn spacing(scenario: &Scenario) -> Nanos {
    const FULL_PACKET: u64 = 1500;
    const EVENTS_PER_PACKET: u64 = 4;
    let times = scenario.links.iter().map(|link| link.rate.time_to_send(FULL_PACKET));
    Nanos(times.min().unwrap_or_default().0 / EVENTS_PER_PACKET)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::tap::NoTap;
    use gentle_aqm::{Dequeue, Qdisc, Signals};
    use std::sync::Mutex;

    /// Runs `short` for so long; the most connections alive, places for them, packets in boxes, connections started.
    fn sizes(seconds: u64) -> (usize, usize, usize, u32) {
        let mut scenario = Scenario::builtin("short").unwrap();
        scenario.set_duration(Nanos::from_secs(seconds));
        let spec = "spa".parse().unwrap();
        let run = RunSpec { scenario: &scenario, scheme: &spec, seed: 1, bins: &[], keep_connections: false };
        let mut simulation = Simulation::new(&run, NoTap);
        let (mut alive, mut places) = (0, 0);
        while simulation.step() {
            alive = alive.max(simulation.connections.len());
            places = places.max(simulation.connections.vacant_key());
        }
        assert_eq!(simulation.connections.len(), 0);
        (alive, places, simulation.outgoing.boxes(), simulation.next_serial)
    }

    /// Sends one packet each `interval`, first in, first out.
    struct Shaper {
        packets: std::collections::VecDeque<Box<Packet>>,
        interval: Nanos,
        free_at: Instant,
        sent: Arc<Mutex<Vec<Instant>>>,
    }

    impl Qdisc<Box<Packet>> for Shaper {
        fn enqueue(&mut self, now: Instant, mut packet: Box<Packet>, _: &mut Signals<Box<Packet>>) {
            packet.set_arrived(now);
            self.packets.push_back(packet);
        }

        fn dequeue(&mut self, now: Instant, _: &mut Signals<Box<Packet>>) -> Dequeue<Box<Packet>> {
            if self.packets.is_empty() {
                return Dequeue::Empty;
            }
            if now < self.free_at {
                return Dequeue::NotBefore(self.free_at);
            }
            self.free_at = now + self.interval;
            self.sent.lock().unwrap().push(now);
            self.packets.pop_front().into()
        }

        fn len(&self) -> usize {
            self.packets.len()
        }

        fn backlog(&self) -> u64 {
            let bytes = self.packets.iter().map(|packet| packet.bytes());
            bytes.map(u64::from).sum()
        }
    }

    #[test]
    fn a_queue_that_shapes_is_asked_again_when_it_said() {
        let mut scenario = Scenario::builtin("short").unwrap();
        scenario.set_duration(Nanos::from_secs(2));
        let spec = "pfifo".parse().unwrap();
        let run = RunSpec { scenario: &scenario, scheme: &spec, seed: 1, bins: &[], keep_connections: false };
        // Eight times as slow as the link.
        let interval = scenario.link(Direction::Down).rate.time_to_send(1514) * 8;
        let sent = Arc::new(Mutex::new(Vec::new()));
        let shaper = Shaper { packets: Default::default(), interval, free_at: Instant::ZERO, sent: Arc::clone(&sent) };
        let mut simulation = Simulation::with_queue(&run, |_| Box::new(shaper), NoTap);
        while simulation.step() {}
        assert_eq!(simulation.connections.len(), 0, "all connections end");
        assert!(simulation.links[0].qdisc.is_empty());
        let sent = sent.lock().unwrap();
        let gaps: Vec<Nanos> = sent.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(gaps.iter().all(|gap| *gap >= interval));
        // Where packets wait, the link asks at that very time.
        let exact = gaps.iter().filter(|gap| **gap == interval).count();
        assert!(exact > gaps.len() / 2, "{exact} of {}", gaps.len());
    }

    #[test]
    fn memory_follows_the_connections_alive() {
        let (alive, places, packets, started) = sizes(400);
        assert!(started > 20_000);
        assert_eq!(places, alive);
        assert!(alive < 1_000, "{alive} alive at once");
        assert!(packets < 5_000, "{packets} packets at once");
    }
}
