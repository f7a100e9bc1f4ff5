//! Event loop of TCP connections over a [`Network`] that its user describes, on the simulator's event queue.

use gentle_sim::EventQueue;
use gentle_tcp::{Endpoint, Segment};
use gentle_units::{Instant, Nanos};
use slab::Slab;
use std::collections::VecDeque;

/// Side of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The host that sends the first SYN.
    Initiator,
    /// The host that answers it.
    Responder,
}

impl Side {
    /// The other side.
    pub const fn peer(self) -> Side {
        match self {
            Side::Initiator => Side::Responder,
            Side::Responder => Side::Initiator,
        }
    }

    /// 0 for the initiator, 1 for the responder.
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// Hosts and the paths between them: what becomes of each segment.
pub trait Network {
    /// A connection with its end points.
    type Connection;
    /// A packet in flight.
    type Packet;
    /// A failure that ends the loop.
    type Error;

    /// Whether packets come before timers that are due at the same time, as in the simulator.
    const PACKETS_FIRST: bool;

    /// End point of one side, while it has one.
    fn endpoint(connection: &mut Self::Connection, side: Side) -> Option<&mut Endpoint>;

    /// Whether no packet of the connection is in flight and no timer of it matters any more.
    fn is_over(_connection: &Self::Connection) -> bool {
        false
    }

    /// Side `from` sends a segment: plans the packets, if any, that it becomes.
    ///
    /// # Errors
    /// The network's own; the loop passes them on.
    fn send(
        &mut self,
        connection: &mut Self::Connection,
        from: Side,
        segment: Segment,
        schedule: &mut Schedule<'_, Self::Packet>,
    ) -> Result<(), Self::Error>;

    /// A packet gets to where and when it was planned to be. If it makes a side act, the segments of that side go into
    /// `out` and the side is returned.
    ///
    /// # Errors
    /// The network's own; the loop passes them on.
    fn arrive(
        &mut self,
        connection: &mut Self::Connection,
        packet: Self::Packet,
        schedule: &mut Schedule<'_, Self::Packet>,
        out: &mut Vec<Segment>,
    ) -> Result<Option<Side>, Self::Error>;

    /// A connection is over, or the loop ends.
    fn closed(&mut self, _connection: &Self::Connection) {}
}

/// Current time, and plans for the packets of one connection.
pub struct Schedule<'a, P> {
    now: Instant,
    place: u32,
    events: &'a mut EventQueue<Event<P>>,
}

impl<P> Schedule<'_, P> {
    /// The current time.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Plans a packet to arrive at `at`, which is not in the past.
    #[inline]
    pub fn plan(&mut self, at: Instant, packet: P) {
        self.events.plan(at, Event::Packet(self.place, packet));
    }
}

enum Event<P> {
    /// A packet of the connection at this place arrives.
    Packet(u32, P),
    /// A timer of this side of the connection at this place may be due.
    Timer(u32, Side),
}

struct Entry<C> {
    connection: C,
    /// Time of the earliest timer event planned for either side; `Instant::NEVER`: none.
    planned: [Instant; 2],
}

/// The event loop. Events at the same time happen in the order in which they were planned, unless
/// [`Network::PACKETS_FIRST`]. Memory follows the connections alive.
pub struct EventLoop<N: Network> {
    network: N,
    now: Instant,
    events: EventQueue<Event<N::Packet>>,
    /// Timers due now that let packets go first.
    held: VecDeque<(u32, Side)>,
    connections: Slab<Entry<N::Connection>>,
    /// Output buffer of end points.
    out: Vec<Segment>,
}

impl<N: Network> EventLoop<N> {
    /// Creates a loop at time 0 without connections. `spacing` is that of [`EventQueue::new`].
    pub fn new(network: N, spacing: Nanos) -> EventLoop<N> {
        EventLoop {
            network,
            now: Instant::ZERO,
            events: EventQueue::new(spacing),
            held: VecDeque::new(),
            connections: Slab::new(),
            out: Vec::new(),
        }
    }

    /// The network.
    pub fn network(&self) -> &N {
        &self.network
    }

    /// The network, to be changed.
    pub fn network_mut(&mut self) -> &mut N {
        &mut self.network
    }

    /// The connection at `place`, while it is open.
    pub fn connection(&self, place: u32) -> Option<&N::Connection> {
        self.connections.get(place as usize).map(|entry| &entry.connection)
    }

    /// The connection at `place`, to be changed. What it has to send is sent by [`EventLoop::act`] only.
    pub fn connection_mut(&mut self, place: u32) -> Option<&mut N::Connection> {
        let entry = self.connections.get_mut(place as usize);
        entry.map(|entry| &mut entry.connection)
    }

    /// Time of the last event.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Lets time pass without events.
    ///
    /// # Panics
    /// If `now` is in the past, or later than the next event.
    pub fn advance_to(&mut self, now: Instant) {
        assert!(self.now <= now && now <= self.next_at(), "{now} is not between {} and {}", self.now, self.next_at());
        self.now = now;
    }

    /// Time of the next event; `Instant::NEVER`: none.
    #[inline]
    pub fn next_at(&self) -> Instant {
        match self.held.is_empty() {
            true => self.events.next_at(),
            false => self.now,
        }
    }

    /// Opens a connection at the current time and returns its place. The first segments of its initiator go into the
    /// buffer that `connect` gets.
    ///
    /// # Errors
    /// The error of [`Network::send`].
    pub fn open(
        &mut self,
        connect: impl FnOnce(&mut N, Instant, &mut Vec<Segment>) -> N::Connection,
    ) -> Result<u32, N::Error> {
        let connection = connect(&mut self.network, self.now, &mut self.out);
        let place = self.connections.insert(Entry { connection, planned: [Instant::NEVER; 2] }) as u32;
        self.follow(place, Side::Initiator)?;
        Ok(place)
    }

    /// Lets one side of the connection at `place` act; its segments go into the buffer that `action` gets.
    ///
    /// # Errors
    /// The error of [`Network::send`].
    pub fn act(
        &mut self,
        place: u32,
        side: Side,
        action: impl FnOnce(&mut N::Connection, Instant, &mut Vec<Segment>),
    ) -> Result<(), N::Error> {
        if let Some(entry) = self.connections.get_mut(place as usize) {
            action(&mut entry.connection, self.now, &mut self.out);
            self.follow(place, side)?;
        }
        Ok(())
    }

    /// Processes the next event, if it is not later than `until`; returns whether there was one.
    ///
    /// # Errors
    /// The error of [`Network::send`] or [`Network::arrive`].
    pub fn step(&mut self, until: Instant) -> Result<bool, N::Error> {
        match self.next_event(until) {
            Some(Event::Packet(place, packet)) => self.arrive(place, packet)?,
            Some(Event::Timer(place, side)) => self.timer(place, side)?,
            None => return Ok(false),
        }
        Ok(true)
    }

    #[inline]
    fn next_event(&mut self, until: Instant) -> Option<Event<N::Packet>> {
        loop {
            let at = self.events.next_at();
            if N::PACKETS_FIRST
                && at > self.now
                && let Some((place, side)) = self.held.pop_front()
            {
                return Some(Event::Timer(place, side));
            }
            if at > until {
                return None;
            }
            let event = self.events.pop()?;
            self.now = at;
            match event {
                Event::Timer(place, side) if N::PACKETS_FIRST => self.held.push_back((place, side)),
                event => return Some(event),
            }
        }
    }

    /// Ends the loop: connections still open are passed to [`Network::closed`], in order of their places.
    pub fn finish(mut self) -> N {
        for (_, entry) in &self.connections {
            self.network.closed(&entry.connection);
        }
        self.network
    }

    fn arrive(&mut self, place: u32, packet: N::Packet) -> Result<(), N::Error> {
        let Some(entry) = self.connections.get_mut(place as usize) else {
            return Ok(());
        };
        let connection = &mut entry.connection;
        let mut schedule = Schedule { now: self.now, place, events: &mut self.events };
        let network = &mut self.network;
        match network.arrive(connection, packet, &mut schedule, &mut self.out)? {
            Some(side) => self.follow(place, side)?,
            None => self.conclude(place),
        }
        Ok(())
    }

    fn timer(&mut self, place: u32, side: Side) -> Result<(), N::Error> {
        let Some(entry) = self.connections.get_mut(place as usize) else {
            return Ok(());
        };
        let planned = &mut entry.planned[side.index()];
        if *planned > self.now {
            // Planned for an earlier connection in this place, or superseded by an earlier event.
            return Ok(());
        }
        *planned = Instant::NEVER;
        if let Some(end) = N::endpoint(&mut entry.connection, side) {
            end.on_timer(self.now, &mut self.out);
            assert!(end.next_timer().is_none_or(|next| next > self.now), "the timer does not move on");
        }
        self.follow(place, side)
    }

    /// Sends the segments in `out`, all from one side, and plans its timer.
    fn follow(&mut self, place: u32, side: Side) -> Result<(), N::Error> {
        let Some(entry) = self.connections.get_mut(place as usize) else {
            return Ok(());
        };
        let connection = &mut entry.connection;
        let mut schedule = Schedule { now: self.now, place, events: &mut self.events };
        for segment in self.out.drain(..) {
            self.network.send(connection, side, segment, &mut schedule)?;
        }
        let planned = &mut entry.planned[side.index()];
        let due = N::endpoint(connection, side).and_then(|end| end.next_timer());
        // Timers mostly move back; an event planned too early finds nothing due.
        if let Some(at) = due.filter(|at| at < planned) {
            assert!(at >= self.now, "a timer in the past: {at} before {}", self.now);
            *planned = at;
            self.events.plan(at, Event::Timer(place, side));
        }
        self.conclude(place);
        Ok(())
    }

    /// Removes a connection if it is over.
    fn conclude(&mut self, place: u32) {
        let entry = self.connections.get(place as usize);
        if entry.is_some_and(|entry| N::is_over(&entry.connection))
            && let Some(entry) = self.connections.try_remove(place as usize)
        {
            self.network.closed(&entry.connection);
        }
    }
}
