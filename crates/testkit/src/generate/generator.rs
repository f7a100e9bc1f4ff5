//! The generator: connections that start at random, and the network that loses, delays and captures their packets.

use super::connection::{Answer, CLIENT, Connection, Opening, PathPart, Peer, Plan, SERVER};
use super::file::Capture;
use super::frame;
use super::options::{Options, Vantage};
use super::path::Paths;
use super::sizes::Sizes;
use super::truth::Truth;
use super::vantage::Seen;
use crate::event_loop::{EventLoop, Network, Schedule, Side};
use anyhow::{Context, Error, Result};
use gentle_tcp::{Endpoint, Flags, Profile, Segment, Seq};
use gentle_units::{Instant, Nanos};
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Exp1};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::sync::Arc;

/// Stacks of the hosts with their shares, percent.
const STACKS: [(&str, u32); 3] = [("linux-7.2", 80), ("linux-3.16", 12), ("freebsd-9.3", 8)];

/// Rates of the connections' slowest links, bits per second; drawn uniformly on a logarithmic scale.
const RATES: std::ops::Range<f64> = 5e6..1e9;

/// Bytes of Ethernet and IPv4 headers, which a link carries beside the TCP segment.
const FRAMING: u64 = 34;

/// Extra delay of late packets, seconds: more than 1 s, the initial RTO of most stacks.
const LATE: std::ops::Range<f64> = 1.1..2.2;

/// Spacing of events for which the queue is made. The near future that it then keeps out of its heap, 134 ms, has
/// nearly all arrivals of packets.
const SPACING: Nanos = Nanos::from_micros(33);

/// Packet in flight.
struct Packet {
    stage: Stage,
    from: Side,
    ip_id: u16,
    /// Whether it is captured, but lost beyond the vantage point.
    lost_later: bool,
    /// Whether it was captured before.
    copy: bool,
    /// Whether it is not the segment but an ICMP message that it was not delivered.
    undelivered: bool,
    segment: Segment,
}

/// Point of the path at which a packet arrives next: where it is captured, then its host.
#[derive(Clone, Copy)]
enum Stage {
    Vantage,
    Host,
}

/// The generator. Memory follows the connections alive.
pub struct Generator<'a> {
    events: EventLoop<CapturedNetwork<'a>>,
}

/// Hosts, paths that lose and delay packets at random, and the capture at their vantage points.
struct CapturedNetwork<'a> {
    options: &'a Options,
    file: &'a mut Capture,
    stacks: Vec<(Arc<Profile>, u32)>,
    /// Callback for each connection that is over.
    over: &'a mut dyn FnMut(&Connection),
    paths: Paths,
    sizes: Sizes,
    rng: Xoshiro256PlusPlus,
    frame: Vec<u8>,
    truth: Truth,
}

impl<'a> Generator<'a> {
    /// Creates a generator that writes to `file` and calls `over` with every connection that is over.
    ///
    /// # Errors
    /// If the options ask for more packets than the connections can have, or for fewer.
    pub fn new(
        options: &'a Options,
        file: &'a mut Capture,
        over: &'a mut dyn FnMut(&Connection),
    ) -> Result<Generator<'a>> {
        let stack = |(name, share)| Ok((Arc::new(Profile::by_name(name)?), share));
        let network = CapturedNetwork {
            options,
            file,
            stacks: STACKS.into_iter().map(stack).collect::<Result<_>>()?,
            over,
            paths: Paths::new(options),
            sizes: Sizes::new(options.seed, options.connections, options.packets)?,
            rng: Xoshiro256PlusPlus::seed_from_u64(options.seed),
            frame: Vec::new(),
            truth: Truth::default(),
        };
        Ok(Generator { events: EventLoop::new(network, SPACING) })
    }

    /// Runs until all connections are over.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn run(mut self) -> Result<Truth> {
        let events = &mut self.events;
        let options = events.network().options;
        let gap = options.span.as_secs_f64() / options.connections as f64;
        let mut arrival = Instant::ZERO;
        for _ in 0..options.connections {
            while events.next_at() < arrival {
                step(events)?;
            }
            events.advance_to(arrival);
            events.open(CapturedNetwork::open);
            let pause: f64 = Exp1.sample(&mut events.network_mut().rng);
            arrival += Nanos::from_secs_f64(gap * pause);
        }
        while step(events)? {}
        // One end may wait forever for the other, which has given up.
        Ok(self.events.finish().truth)
    }
}

/// Processes the next event; returns whether there was one.
fn step(events: &mut EventLoop<CapturedNetwork<'_>>) -> Result<bool> {
    let result = events.step(Instant::NEVER);
    result.with_context(|| "the capture could not be written")
}

impl CapturedNetwork<'_> {
    fn chance(&mut self, probability: f64) -> bool {
        probability > 0.0 && self.rng.random_bool(probability)
    }

    /// Draws a connection; its first SYN goes into `out`.
    fn open(&mut self, now: Instant, out: &mut Vec<Segment>) -> Box<Connection> {
        let hosts = self.paths.draw(self.truth.connections, &mut self.rng);
        self.truth.connections += 1;
        let without = self.chance(self.options.no_timestamps);
        let peers = hosts.map(|host| {
            let mut profile = self.draw_stack();
            if without {
                Arc::make_mut(&mut profile).timestamps = false;
            }
            let (isn, ip_id) = (Seq(self.rng.random()), self.rng.random());
            Peer::new(host, profile, isn, ip_id)
        });
        let answer = if self.chance(self.options.unanswered) {
            Answer::None
        } else if self.chance(self.options.refused) {
            Answer::Refuse
        } else if self.chance(self.options.rejected) {
            Answer::Reject
        } else {
            Answer::Accept
        };
        let accepted = answer == Answer::Accept;
        let swallowed = accepted && self.chance(self.options.swallowed);
        let captured = accepted && !swallowed;
        let plan = Plan {
            answer,
            upload: self.chance(self.options.uploads),
            abort: self.chance(self.options.aborted),
            bytes: self.sizes.next(),
            swallowed: swallowed.then(|| self.draw_path_part()),
            late: (captured && self.chance(self.options.late)).then(|| {
                let part = self.draw_path_part();
                let longer = self.rng.random_range(LATE);
                (part, Nanos::from_secs_f64(longer))
            }),
            one_sided: captured && self.chance(self.options.one_sided),
        };
        let logarithm = libm::log(RATES.start)..libm::log(RATES.end);
        let rate = libm::exp(self.rng.random_range(logarithm));
        let mut connection = Connection {
            peers,
            plan,
            picos_per_byte: (8e12 / rate) as u64,
            in_flight: 0,
            seen: Seen::default(),
            opening: Opening::default(),
        };
        connection.open(now, out);
        Box::new(connection)
    }

    /// Draws a side and a part of the path for a fault, so that the fault never hides the whole connection from the
    /// capture.
    fn draw_path_part(&mut self) -> PathPart {
        let from = if self.rng.random() { CLIENT } else { SERVER };
        PathPart { from, before: from == SERVER && self.is_before(from) }
    }

    /// Draws whether an event on the path of a packet from this side happens before the capture point.
    fn is_before(&mut self, from: Side) -> bool {
        match self.options.vantage {
            Vantage::Client => from == SERVER,
            Vantage::Middle => self.rng.random(),
            Vantage::Server => from == CLIENT,
        }
    }

    fn draw_stack(&mut self) -> Arc<Profile> {
        let mut number = self.rng.random_range(0..100);
        for (profile, share) in &self.stacks {
            if number < *share {
                return Arc::clone(profile);
            }
            number -= share;
        }
        unreachable!("the shares make 100 percent")
    }

    /// Captures a packet, and sends it on.
    fn pass(
        &mut self,
        connection: &mut Connection,
        mut packet: Box<Packet>,
        schedule: &mut Schedule<'_, Box<Packet>>,
    ) -> Result<()> {
        let now = schedule.now();
        let copied = !packet.copy && self.chance(self.options.capture_duplicates);
        let hosts = [CLIENT, SERVER].map(|side| connection.peer(side).host);
        let isn = connection.peer(packet.from).isn;
        let segment = &packet.segment;
        let from_server = packet.from == SERVER;
        let late = connection.plan.late;
        if packet.undelivered {
            let whole =
                frame::write_undelivered(segment, &hosts, self.options.vlan, self.file.snaplen, &mut self.frame);
            self.file.write(now, whole, &self.frame)?;
            self.truth.packets += 1;
        } else if !(from_server && connection.plan.one_sided) {
            let whole = frame::write(
                segment,
                packet.ip_id,
                &hosts,
                from_server,
                self.options.vlan,
                self.file.snaplen,
                &mut self.frame,
            );
            self.file.write(now, whole, &self.frame)?;
            let seen = &mut connection.seen;
            seen.pass(segment, from_server, isn, packet.copy, &mut self.truth);
            connection.opening.copied |= packet.copy && segment.flags.contains(Flags::SYN);
        }
        if copied {
            connection.in_flight += 1;
            let delay = match self.options.copy_delay {
                Some(Nanos(delay)) => delay / 20 * 19..=delay / 20 * 21,
                None => 1_000..=50_000,
            };
            let at = now + Nanos(self.rng.random_range(delay));
            let copy = Packet { copy: true, ..*packet };
            schedule.plan(at, Box::new(copy));
        }
        if packet.copy || packet.lost_later {
            connection.in_flight -= 1;
        } else {
            let longer = late
                .filter(|(part, _)| part.from == packet.from && !part.before)
                .map_or(Nanos::ZERO, |(_, longer)| longer);
            let at = now + hosts[packet.from.peer().index()].delay + longer;
            packet.stage = Stage::Host;
            schedule.plan(at, packet);
        }
        Ok(())
    }

    /// Delivers a packet to a host; replies go into `out`.
    fn deliver(
        &mut self,
        connection: &mut Connection,
        packet: &Packet,
        schedule: &mut Schedule<'_, Box<Packet>>,
        out: &mut Vec<Segment>,
    ) {
        let to = packet.from.peer();
        connection.in_flight -= 1;
        if packet.undelivered {
            connection.peer(to).end = None;
        } else {
            connection.deliver(schedule.now(), to, &packet.segment, out);
        }
        if to == SERVER && connection.plan.answer == Answer::Reject {
            connection.in_flight += 1;
            let at = schedule.now() + connection.peer(SERVER).host.delay;
            let message = Packet { stage: Stage::Vantage, from: SERVER, undelivered: true, ..*packet };
            schedule.plan(at, Box::new(message));
        }
    }

    fn loss(&self, segment: &Segment) -> f64 {
        if segment.flags.contains(Flags::SYN | Flags::ACK) {
            self.options.synack_loss
        } else if segment.flags.contains(Flags::SYN) {
            self.options.syn_loss
        } else if segment.seq_len() > 0 {
            self.options.data_loss
        } else {
            self.options.ack_loss
        }
    }
}

impl Network for CapturedNetwork<'_> {
    type Connection = Box<Connection>;
    type Packet = Box<Packet>;
    type Error = Error;

    #[inline]
    fn endpoint(connection: &mut Box<Connection>, side: Side) -> Option<&mut Endpoint> {
        connection.peer(side).end.as_mut()
    }

    #[inline]
    fn is_over(connection: &Box<Connection>) -> bool {
        connection.is_over()
    }

    fn send(
        &mut self,
        connection: &mut Box<Connection>,
        from: Side,
        segment: Segment,
        schedule: &mut Schedule<'_, Box<Packet>>,
    ) {
        let now = schedule.now();
        let lost = self.chance(self.loss(&segment));
        let lost_before = lost && self.is_before(from);
        let is_late = segment.len > 0 && self.chance(self.options.reorder);
        let late = if is_late { Nanos(self.rng.random_range(1_000_000..5_000_000)) } else { Nanos::ZERO };
        if segment.flags.contains(Flags::SYN) {
            connection.opening.lost |= lost;
            connection.opening.again |= segment.retransmitted;
        }
        let longer = connection.plan.late;
        let longer =
            longer.filter(|(part, _)| part.from == from && part.before).map_or(Nanos::ZERO, |(_, longer)| longer);
        let swallowed = connection.plan.swallowed.filter(|part| part.from == from);
        let picos_per_byte = connection.picos_per_byte;
        let side = connection.peer(from);
        let is_synack = segment.flags.contains(Flags::SYN | Flags::ACK);
        // Linux sends SYN/ACKs, which belong to no socket yet, with identification 0 (`ip_build_and_send_pkt`).
        let ip_id = if is_synack { 0 } else { side.ip_id };
        side.ip_id = side.ip_id.wrapping_add(u16::from(!is_synack));
        let bytes = u64::from(segment.header_bytes() + segment.len) + FRAMING;
        side.free_at = side.free_at.max(now) + Nanos(bytes * picos_per_byte / 1000);
        if lost_before || swallowed.is_some_and(|part| part.before) {
            return;
        }
        let at = side.free_at + side.host.delay + late + longer;
        connection.in_flight += 1;
        let packet = Packet {
            stage: Stage::Vantage,
            from,
            ip_id,
            lost_later: lost || swallowed.is_some(),
            copy: false,
            undelivered: false,
            segment,
        };
        schedule.plan(at, Box::new(packet));
    }

    fn arrive(
        &mut self,
        connection: &mut Box<Connection>,
        packet: Box<Packet>,
        schedule: &mut Schedule<'_, Box<Packet>>,
        out: &mut Vec<Segment>,
    ) -> Result<Option<Side>> {
        match packet.stage {
            Stage::Vantage => {
                self.pass(connection, packet, schedule)?;
                Ok(None)
            }
            Stage::Host => {
                let to = packet.from.peer();
                self.deliver(connection, &packet, schedule, out);
                Ok(Some(to))
            }
        }
    }

    fn closed(&mut self, connection: &Box<Connection>) {
        connection.seen.conclude(&mut self.truth);
        (self.over)(connection);
    }
}
