//! Event loop of the generator: opens, runs and ends connections in order of time.

use super::connection::{Answer, CLIENT, Connection, Opening, Plan, SERVER, Side, Way};
use super::file::Capture;
use super::frame;
use super::options::{Options, Vantage};
use super::path::Paths;
use super::sizes::Sizes;
use super::truth::Truth;
use super::vantage::Seen;
use anyhow::{Context, Result};
use gentle_tcp::{Flags, Profile, Segment, Seq};
use gentle_units::Nanos;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Exp1};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// Stacks of the hosts with their shares, percent.
const STACKS: [(&str, u32); 3] = [("linux-7.2", 80), ("linux-3.16", 12), ("freebsd-9.3", 8)];

/// Rates of the connections' slowest links, bits per second; drawn uniformly on a logarithmic scale.
const RATES: std::ops::Range<f64> = 5e6..1e9;

/// Bytes of Ethernet and IPv4 headers, which a link carries beside the TCP segment.
const FRAMING: u64 = 34;

/// Extra delay of late packets, seconds: more than 1 s, the initial RTO of most stacks.
const LATE: std::ops::Range<f64> = 1.1..2.2;

/// Packet in flight.
#[derive(Debug)]
struct Packet {
    place: usize,
    from: usize,
    ip_id: u16,
    /// Whether it is captured, but lost beyond the vantage point.
    lost_later: bool,
    /// Whether it was captured before.
    copy: bool,
    /// Whether it is not the segment but an ICMP message that it was not delivered.
    undelivered: bool,
    segment: Segment,
}

#[derive(Debug)]
enum Event {
    /// Packet passes the vantage point.
    Pass(Box<Packet>),
    /// Packet arrives.
    Arrive(Box<Packet>),
    /// Timer of the connection in this place, and of this side.
    Timer(usize, usize),
}

/// Event in the heap: by time, ties in insertion order.
struct Due {
    at: Nanos,
    order: u64,
    event: Event,
}

impl Ord for Due {
    fn cmp(&self, other: &Due) -> std::cmp::Ordering {
        (self.at, self.order).cmp(&(other.at, other.order))
    }
}

impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Due) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Due {
    fn eq(&self, other: &Due) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Due {}

/// The generator. Memory follows the connections alive.
pub struct Generator<'a> {
    options: &'a Options,
    file: &'a mut Capture,
    vlan: Option<u16>,
    stacks: Vec<(Arc<Profile>, u32)>,
    /// Callback for each connection that is over.
    over: &'a mut dyn FnMut(&Connection),
    paths: Paths,
    sizes: Sizes,
    rng: Xoshiro256PlusPlus,
    now: Nanos,
    events: BinaryHeap<Reverse<Due>>,
    planned: u64,
    connections: Vec<Option<Box<Connection>>>,
    free: Vec<usize>,
    /// Output buffer of end points.
    out: Vec<Segment>,
    frame: Vec<u8>,
    truth: Truth,
}

impl<'a> Generator<'a> {
    /// A generator that writes to `file`, and tells `over` of every connection that is over.
    ///
    /// # Errors
    /// If the options ask for more packets than the connections can have, or for fewer.
    pub fn new(
        options: &'a Options,
        file: &'a mut Capture,
        over: &'a mut dyn FnMut(&Connection),
    ) -> Result<Generator<'a>> {
        let stack = |(name, share)| Ok((Arc::new(Profile::by_name(name)?), share));
        Ok(Generator {
            options,
            file,
            vlan: options.vlan,
            stacks: STACKS.into_iter().map(stack).collect::<Result<_>>()?,
            over,
            paths: Paths::new(options),
            sizes: Sizes::new(options.seed, options.connections, options.packets)?,
            rng: Xoshiro256PlusPlus::seed_from_u64(options.seed),
            now: Nanos::ZERO,
            events: BinaryHeap::new(),
            planned: 0,
            connections: Vec::new(),
            free: Vec::new(),
            out: Vec::new(),
            frame: Vec::new(),
            truth: Truth::default(),
        })
    }

    /// Runs until all connections are over.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn run(mut self) -> Result<Truth> {
        let gap = self.options.span.as_secs_f64() / self.options.connections as f64;
        let mut arrival = Nanos::ZERO;
        loop {
            let next = self.events.peek().map_or(Nanos::MAX, |Reverse(due)| due.at);
            if self.truth.connections < self.options.connections && arrival <= next {
                self.now = arrival;
                self.open();
                let pause: f64 = Exp1.sample(&mut self.rng);
                arrival += Nanos::from_secs_f64(gap * pause);
            } else if let Some(Reverse(due)) = self.events.pop() {
                self.now = due.at;
                self.dispatch(due.event)
                    .with_context(|| "the capture could not be written")?;
            } else {
                break;
            }
        }
        // One end may wait forever for the other, which has given up.
        for connection in self.connections.iter().flatten() {
            connection.seen.conclude(&mut self.truth);
            (self.over)(connection);
        }
        Ok(self.truth)
    }

    fn plan(&mut self, at: Nanos, event: Event) {
        let order = self.planned;
        self.planned += 1;
        self.events.push(Reverse(Due { at, order, event }));
    }

    fn chance(&mut self, probability: f64) -> bool {
        probability > 0.0 && self.rng.random_bool(probability)
    }

    fn open(&mut self) {
        let hosts = self.paths.draw(self.truth.connections, &mut self.rng);
        self.truth.connections += 1;
        let without = self.chance(self.options.no_timestamps);
        let sides = hosts.map(|host| {
            let mut profile = self.draw_stack();
            if without {
                Arc::make_mut(&mut profile).timestamps = false;
            }
            let (isn, ip_id) = (Seq(self.rng.random()), self.rng.random());
            Side::new(host, profile, isn, ip_id)
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
            swallowed: swallowed.then(|| self.draw_way()),
            late: (captured && self.chance(self.options.late)).then(|| {
                let way = self.draw_way();
                let longer = self.rng.random_range(LATE);
                (way, Nanos::from_secs_f64(longer))
            }),
            one_sided: captured && self.chance(self.options.one_sided),
        };
        let rate = self
            .rng
            .random_range(RATES.start.ln()..RATES.end.ln())
            .exp();
        let mut connection = Connection {
            sides,
            plan,
            picos_per_byte: (8e12 / rate) as u64,
            in_flight: 0,
            seen: Seen::default(),
            opening: Opening::default(),
        };
        connection.open(self.now, &mut self.out);
        let place = self.free.pop().unwrap_or(self.connections.len());
        if place == self.connections.len() {
            self.connections.push(None);
        }
        self.connections[place] = Some(Box::new(connection));
        self.follow(place, CLIENT);
    }

    /// Draws a side and a part of the path for a fault, so that the fault never hides the whole connection from the capture.
    fn draw_way(&mut self) -> Way {
        let from = if self.rng.random() { CLIENT } else { SERVER };
        Way {
            from,
            before: from == SERVER && self.is_before(from),
        }
    }

    /// Draws whether an event on the path of a packet from this side happens before the capture point.
    fn is_before(&mut self, from: usize) -> bool {
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

    fn dispatch(&mut self, event: Event) -> Result<()> {
        match event {
            Event::Pass(packet) => self.pass(packet),
            Event::Arrive(packet) => {
                let (place, to) = (packet.place, 1 - packet.from);
                if let Some(connection) = &mut self.connections[place] {
                    connection.in_flight -= 1;
                    if packet.undelivered {
                        connection.sides[to].end = None;
                    } else {
                        connection.deliver(self.now, to, &packet.segment, &mut self.out);
                    }
                    if to == SERVER && connection.plan.answer == Answer::Reject {
                        connection.in_flight += 1;
                        let at = self.now + connection.sides[SERVER].host.delay;
                        let message = Packet {
                            from: SERVER,
                            undelivered: true,
                            ..*packet
                        };
                        self.plan(at, Event::Pass(Box::new(message)));
                    }
                    self.follow(place, to);
                }
                Ok(())
            }
            Event::Timer(place, who) => {
                self.timer(place, who);
                Ok(())
            }
        }
    }

    fn timer(&mut self, place: usize, who: usize) {
        let Some(connection) = &mut self.connections[place] else {
            return;
        };
        let side = &mut connection.sides[who];
        if side.planned > self.now {
            // Planned for an earlier connection in this place, or superseded by an earlier event.
            return;
        }
        side.planned = Nanos::MAX;
        if let Some(end) = &mut side.end {
            end.on_timer(self.now, &mut self.out);
        }
        self.follow(place, who);
    }

    /// Captures a packet, and sends it on.
    fn pass(&mut self, packet: Box<Packet>) -> Result<()> {
        let place = packet.place;
        let copied = !packet.copy && self.chance(self.options.capture_duplicates);
        let Some(connection) = &mut self.connections[place] else {
            return Ok(());
        };
        let hosts = [CLIENT, SERVER].map(|side| connection.sides[side].host);
        let isn = connection.sides[packet.from].isn;
        let segment = &packet.segment;
        let from_server = packet.from == SERVER;
        let late = connection.plan.late;
        if packet.undelivered {
            let whole = frame::write_undelivered(
                segment,
                &hosts,
                self.vlan,
                self.file.snaplen,
                &mut self.frame,
            );
            self.file.write(self.now, whole, &self.frame)?;
            self.truth.packets += 1;
        } else if !(from_server && connection.plan.one_sided) {
            let whole = frame::write(
                segment,
                packet.ip_id,
                &hosts,
                from_server,
                self.vlan,
                self.file.snaplen,
                &mut self.frame,
            );
            self.file.write(self.now, whole, &self.frame)?;
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
            let at = self.now + Nanos(self.rng.random_range(delay));
            let copy = Packet {
                copy: true,
                ..*packet
            };
            self.plan(at, Event::Pass(Box::new(copy)));
        }
        if packet.copy || packet.lost_later {
            if let Some(connection) = &mut self.connections[place] {
                connection.in_flight -= 1;
            }
            self.conclude(place);
        } else {
            let longer = late
                .filter(|(way, _)| way.from == packet.from && !way.before)
                .map_or(Nanos::ZERO, |(_, longer)| longer);
            let at = self.now + hosts[1 - packet.from].delay + longer;
            self.plan(at, Event::Arrive(packet));
        }
        Ok(())
    }

    /// Sends the segments in `out`, all from one side, and plans its timer.
    fn follow(&mut self, place: usize, who: usize) {
        let mut out = std::mem::take(&mut self.out);
        for segment in out.drain(..) {
            self.send(place, who, segment);
        }
        self.out = out;
        let now = self.now;
        if let Some(connection) = &mut self.connections[place] {
            let side = &mut connection.sides[who];
            let due = side.end.as_ref().and_then(|end| end.next_timer());
            if let Some(at) = due.filter(|at| *at < side.planned) {
                // Timers mostly move back; an event planned too early finds nothing due.
                side.planned = at.max(now);
                self.plan(at.max(now), Event::Timer(place, who));
            }
        }
        self.conclude(place);
    }

    fn send(&mut self, place: usize, from: usize, segment: Segment) {
        let lost = self.chance(self.loss(&segment));
        let lost_before = lost && self.is_before(from);
        let is_late = segment.len > 0 && self.chance(self.options.reorder);
        let late = if is_late {
            Nanos(self.rng.random_range(1_000_000..5_000_000))
        } else {
            Nanos::ZERO
        };
        let Some(connection) = &mut self.connections[place] else {
            return;
        };
        if segment.flags.contains(Flags::SYN) {
            connection.opening.lost |= lost;
            connection.opening.again |= segment.retransmitted;
        }
        let longer = connection.plan.late;
        let longer = longer
            .filter(|(way, _)| way.from == from && way.before)
            .map_or(Nanos::ZERO, |(_, longer)| longer);
        let swallowed = connection.plan.swallowed.filter(|way| way.from == from);
        let side = &mut connection.sides[from];
        let is_synack = segment.flags.contains(Flags::SYN | Flags::ACK);
        // Linux sends SYN/ACKs, which belong to no socket yet, with identification 0 (`ip_build_and_send_pkt`).
        let ip_id = if is_synack { 0 } else { side.ip_id };
        side.ip_id = side.ip_id.wrapping_add(u16::from(!is_synack));
        let bytes = u64::from(segment.header_bytes() + segment.len) + FRAMING;
        side.free_at = side.free_at.max(self.now) + Nanos(bytes * connection.picos_per_byte / 1000);
        if lost_before || swallowed.is_some_and(|way| way.before) {
            return;
        }
        connection.in_flight += 1;
        let at = side.free_at + side.host.delay + late + longer;
        let packet = Packet {
            place,
            from,
            ip_id,
            lost_later: lost || swallowed.is_some(),
            copy: false,
            undelivered: false,
            segment,
        };
        self.plan(at, Event::Pass(Box::new(packet)));
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

    /// Removes a connection if it is over.
    fn conclude(&mut self, place: usize) {
        let slot = &mut self.connections[place];
        if let Some(connection) = slot.take_if(|connection| connection.is_over()) {
            connection.seen.conclude(&mut self.truth);
            (self.over)(&connection);
            self.free.push(place);
        }
    }
}
