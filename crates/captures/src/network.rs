//! Network: paths that lose, delay and copy packets at random, and the observers of these.

use crate::connection::{Answer, CLIENT, Connection, PathPart, SERVER};
use crate::event_loop::{Network, Schedule, Side};
use gentle_tcp::{Endpoint, Flags, Segment};
use gentle_units::{Instant, Nanos};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::io;
use std::ops::RangeInclusive;

/// Bytes of Ethernet and IPv4 headers, which a link carries in addition to the TCP segment.
const FRAMING: u64 = 34;

/// Extra delay of packets that others overtake, nanoseconds.
const OVERTAKEN: std::ops::Range<u64> = 1_000_000..5_000_000;

/// Place on the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "random", derive(clap::ValueEnum))]
pub enum Place {
    /// At the clients
    Client,
    /// Somewhere between, at another place for each connection
    Middle,
    /// At the servers
    Server,
}

impl Place {
    /// Place of a host.
    pub const fn of(side: Side) -> Place {
        match side {
            CLIENT => Place::Client,
            SERVER => Place::Server,
        }
    }
}

/// Packet on its path.
#[derive(Debug)]
pub(crate) struct Packet {
    /// Sender.
    pub(crate) from: Side,
    /// The segment.
    pub(crate) segment: Segment,
    /// Identification in the IP header.
    pub(crate) ip_id: u16,
    /// Whether it was captured before: a copy that the capture made.
    pub(crate) copy: bool,
    /// Whether it is not the segment but an ICMP message that it was not delivered.
    pub(crate) undelivered: bool,
    /// Place at which it arrives next.
    pub(crate) place: Place,
    /// Whether it passes the middle, but is lost behind it.
    pub(crate) lost_later: bool,
}

impl Packet {
    /// Packet that `from` sends.
    pub(crate) const fn new(from: Side, segment: Segment, ip_id: u16) -> Packet {
        Packet { from, segment, ip_id, copy: false, undelivered: false, place: Place::of(from), lost_later: false }
    }
}

/// Observers of packets: captures, and counts of the truth.
pub(crate) trait Watch {
    /// Notes of the observers about a connection.
    type Notes;

    /// [`Network::PACKETS_FIRST`] of the network that they observe.
    const PACKETS_FIRST: bool;

    /// A host sends a segment, which will be `lost` or not.
    fn sent(&mut self, _connection: &mut Connection<Self::Notes>, _from: Side, _segment: &Segment, _lost: bool) {}

    /// A packet is at `place` now.
    ///
    /// # Errors
    /// If it cannot be recorded.
    fn pass(
        &mut self,
        now: Instant,
        place: Place,
        packet: &Packet,
        connection: &mut Connection<Self::Notes>,
    ) -> io::Result<()>;

    /// A connection is over, or the capture ends.
    fn over(&mut self, connection: &Connection<Self::Notes>);
}

/// Faults of the paths of all connections.
#[derive(Debug, Clone)]
pub(crate) struct Faults {
    /// End of the path next to the observers: losses happen between them and the other end. [`Place::Middle`]: on both sides.
    pub(crate) vantage: Place,
    /// Probability that a segment with data is delayed before it gets to the middle.
    pub(crate) reorder: f64,
    /// Probability that a frame is captured twice in the middle.
    pub(crate) copied: f64,
    /// Time from a frame to its copy, nanoseconds.
    pub(crate) copied_after: RangeInclusive<u64>,
}

/// Paths between hosts, and their observers.
pub(crate) struct Paths<W> {
    pub(crate) watch: W,
    /// Source of everything random.
    pub(crate) rng: Xoshiro256PlusPlus,
    faults: Faults,
}

impl<W> Paths<W> {
    pub(crate) fn new(watch: W, faults: Faults, seed: u64) -> Paths<W> {
        Paths { watch, rng: Xoshiro256PlusPlus::seed_from_u64(seed), faults }
    }

    pub(crate) fn chance(&mut self, probability: f64) -> bool {
        probability > 0.0 && self.rng.random_bool(probability)
    }

    /// Draws whether an event on the path of a packet from this side happens before the middle.
    pub(crate) fn is_before(&mut self, from: Side) -> bool {
        match self.faults.vantage {
            Place::Client => from == SERVER,
            Place::Middle => self.rng.random(),
            Place::Server => from == CLIENT,
        }
    }
}

impl<W: Watch> Paths<W> {
    /// Shows a packet at a place to the observers, and sends the copy on its way that a capture makes.
    fn pass(
        &mut self,
        connection: &mut Connection<W::Notes>,
        packet: &Packet,
        schedule: &mut Schedule<'_, Box<Packet>>,
    ) -> io::Result<()> {
        let copied = !packet.copy
            && match packet.place {
                Place::Middle => self.chance(self.faults.copied),
                Place::Client | Place::Server => connection.course.copied,
            };
        connection.opening.copied |= packet.copy && packet.segment.flags.contains(Flags::SYN);
        self.watch.pass(schedule.now(), packet.place, packet, connection)?;
        if copied {
            connection.in_flight += 1;
            let after = Nanos(self.rng.random_range(self.faults.copied_after.clone()));
            schedule.plan(schedule.now() + after, Box::new(Packet { copy: true, ..*packet }));
        }
        Ok(())
    }
}

/// Extra delay of packets of a side, before or behind the middle.
fn longer(late: Option<(PathPart, Nanos)>, from: Side, before: bool) -> Nanos {
    let here = late.filter(|(part, _)| part.from == from && part.before == before);
    here.map_or(Nanos::ZERO, |(_, longer)| longer)
}

impl<W: Watch> Network for Paths<W> {
    type Connection = Box<Connection<W::Notes>>;
    type Packet = Box<Packet>;
    type Error = io::Error;

    const PACKETS_FIRST: bool = W::PACKETS_FIRST;

    #[inline]
    fn endpoint(connection: &mut Self::Connection, side: Side) -> Option<&mut Endpoint> {
        connection.peer(side).end.as_mut()
    }

    #[inline]
    fn is_over(connection: &Self::Connection) -> bool {
        connection.is_over()
    }

    fn send(
        &mut self,
        connection: &mut Self::Connection,
        from: Side,
        segment: Segment,
        schedule: &mut Schedule<'_, Box<Packet>>,
    ) -> io::Result<()> {
        let now = schedule.now();
        let (course, opening) = (&connection.course, &connection.opening);
        let is_syn = segment.flags.contains(Flags::SYN);
        let lost = self.chance(course.loss[from.index()].of(&segment))
            || is_syn && opening.sent[from.index()] < course.lost_first[from.index()];
        let lost_before = lost && self.is_before(from);
        let is_overtaken = segment.len > 0 && self.chance(self.faults.reorder);
        let late = if is_overtaken { Nanos(self.rng.random_range(OVERTAKEN)) } else { Nanos::ZERO };
        let late = late + longer(course.late, from, true);
        let blackholed = course.blackholed.filter(|part| part.from == from);
        let picos_per_byte = course.picos_per_byte;
        connection.opening.count(from, &segment, lost);
        self.watch.sent(connection, from, &segment, lost);
        let side = connection.peer(from);
        // Linux sends SYN/ACKs, which belong to no socket yet, with identification 0 (`ip_build_and_send_pkt`).
        let is_synack = is_syn && from == SERVER;
        let ip_id = if is_synack { 0 } else { side.ip_id };
        side.ip_id = side.ip_id.wrapping_add(u16::from(!is_synack));
        let bytes = u64::from(segment.header_bytes() + segment.len) + FRAMING;
        side.free_at = side.free_at.max(now) + Nanos(bytes * picos_per_byte / 1000);
        let at = side.free_at + side.host.delay + late;
        let mut packet = Box::new(Packet::new(from, segment, ip_id));
        packet.lost_later = lost || blackholed.is_some();
        self.pass(connection, &packet, schedule)?;
        if !lost_before && !blackholed.is_some_and(|part| part.before) {
            connection.in_flight += 1;
            packet.place = Place::Middle;
            schedule.plan(at, packet);
        }
        Ok(())
    }

    fn arrive(
        &mut self,
        connection: &mut Self::Connection,
        mut packet: Box<Packet>,
        schedule: &mut Schedule<'_, Box<Packet>>,
        out: &mut Vec<Segment>,
    ) -> io::Result<Option<Side>> {
        let now = schedule.now();
        let to = packet.from.peer();
        connection.in_flight -= 1;
        self.pass(connection, &packet, schedule)?;
        if packet.copy {
            return Ok(None);
        }
        if packet.place == Place::Middle {
            if !packet.lost_later {
                connection.in_flight += 1;
                let mut at = now + connection.peer(to).host.delay + longer(connection.course.late, packet.from, false);
                if to == SERVER && connection.course.busy > Nanos::ZERO {
                    // The server processes packets in the order of their arrival.
                    let wait = Nanos(self.rng.random_range(0..=connection.course.busy.0));
                    at = (at + wait).max(connection.busy_until);
                    connection.busy_until = at;
                }
                packet.place = Place::of(to);
                schedule.plan(at, packet);
            }
            return Ok(None);
        }
        if packet.undelivered {
            connection.peer(to).end = None;
        } else {
            connection.deliver(now, to, &packet.segment, out);
        }
        if to == SERVER && connection.course.answer == Answer::Reject {
            connection.in_flight += 1;
            let at = now + connection.peer(SERVER).host.delay;
            let message = Packet { place: Place::Middle, from: SERVER, undelivered: true, ..*packet };
            schedule.plan(at, Box::new(message));
        }
        Ok(Some(to))
    }

    fn closed(&mut self, connection: &Self::Connection) {
        self.watch.over(connection);
    }
}
