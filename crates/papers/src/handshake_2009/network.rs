//! Connections over paths that lose packets at random, captured by observers beside the path: captures of which the
//! truth is known.
//!
//! Arrivals, sizes, round-trip times and TCP profiles are those of a scenario; its links have no queue here. What a
//! scenario does not say is in [`Faults`].

use super::frame::{self, Flow};
use gentle_capture::{CaptureReader, PcapWriter, RawPacket, Resolution};
use gentle_experiment::{Arrival, Direction, Initiator, Scenario, Schedule, Span};
use gentle_rexmit::{Config, Direction as Passing, Event as Decision, Frame, Retransmitter};
use gentle_sim::{EventQueue, Slab};
use gentle_tcp::{Endpoint, Flags, Profile, Segment, Seq};
use gentle_trace::results::Analysis;
use gentle_trace::row::Row;
use gentle_trace::{Control, Options};
use gentle_units::{Instant, Nanos};
use gentle_wire::{Address, LinkType};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::BTreeMap;
use std::io::Cursor;
use std::net::Ipv4Addr;
use std::ops::Range;
use std::sync::Arc;

/// Size of a client's request, bytes.
const REQUEST: u32 = 300;

/// IP and TCP headers without options, bytes.
const HEADERS: u64 = 40;

/// Request and answer of a single connection, bytes: handshake-2009, Table 2, acknowledges 552 of the request and has
/// the server's FIN at 18x.
const SINGLE_REQUEST: u32 = 551;
const SINGLE_ANSWER: u64 = 184;

/// Time 0 of the captures: 2026-01-01, since 1970.
const START: Nanos = Nanos::from_secs(1_767_225_600);

/// Spacing of events for which the event queue is made.
const SPACING: Nanos = Nanos::from_micros(30);

/// Time between a frame and its second capture by a switch or a mirror port, nanoseconds.
const COPIED_AFTER: Range<u64> = 10_000..1_000_000;

/// Part of the path between the client and an observer in the middle.
const MIDDLE: Range<f64> = 0.1..0.9;

/// Hosts that a path connects, at either end of the link.
const CLIENTS: u32 = 2_000;
const SERVERS: u32 = 200;
const FIRST_PORT: u32 = 1_024;

/// Place of the client in pairs; the server is the other one.
pub(super) const CLIENT: usize = 0;
pub(super) const SERVER: usize = 1;

/// Prefix of the hosts that receive what the link carries down.
pub(crate) const LEFT: &str = "10.0.0.0/8";

/// Probabilities of losses and other events.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Faults {
    /// Loss of packets that travel down and up.
    pub(crate) loss: [Loss; 2],
    /// Attempts that nobody answers, by the direction of the SYN.
    pub(crate) unanswered: [f64; 2],
    /// Attempts that are answered by an RST.
    pub(crate) refused: f64,
    /// Connections of which an observer at a host captures each frame twice.
    pub(crate) copied: f64,
    /// Hosts that send SYNs and nothing else, at the end where SYNs travel up, and the number of SYNs of each.
    pub(crate) floods: (u32, u32),
    /// Connections whose SYN/ACKs are never lost, as if queues marked these instead of dropping them.
    pub(crate) spared: f64,
    /// Properties of the hosts of workloads with these group names.
    pub(crate) groups: &'static [Group],
    /// Number of first SYNs and SYN/ACKs of a connection that are lost.
    pub(crate) script: [u32; 2],
    /// There is one connection, without those of the scenario.
    pub(crate) single: bool,
}

/// Properties of the hosts of a workload that scenarios do not have.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Group {
    /// Name of the workload's group; empty: workloads without one.
    pub(crate) name: &'static str,
    /// Number of client addresses; 0: as many as other workloads have.
    pub(crate) hosts: u32,
    /// Connections of which an observer at a host captures each frame twice, in addition to [`Faults::copied`].
    pub(crate) copied: f64,
    /// Longest time that a packet waits in the server before it is processed.
    pub(crate) busy: Nanos,
    /// Range from which each connection draws the initial RTO of its client; `None`: that of the workload.
    pub(crate) timer: Option<(Nanos, Nanos)>,
}

impl Group {
    /// A group without special properties.
    pub(crate) const fn plain(name: &'static str) -> Group {
        Group { name, hosts: 0, copied: 0.0, busy: Nanos::ZERO, timer: None }
    }
}

/// Probabilities of loss by kind of packet.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Loss {
    /// SYN.
    pub(crate) syn: f64,
    /// SYN/ACK.
    pub(crate) synack: f64,
    /// Segments with data or FIN.
    pub(crate) data: f64,
    /// Pure ACKs.
    pub(crate) ack: f64,
}

impl Loss {
    /// One probability for SYNs and SYN/ACKs, and one for all other packets.
    pub(crate) const fn new(handshake: f64, other: f64) -> Loss {
        Loss { syn: handshake, synack: handshake, data: other, ack: other }
    }

    fn of(&self, segment: &Segment) -> f64 {
        if segment.flags.contains(Flags::SYN | Flags::ACK) {
            self.synack
        } else if segment.flags.contains(Flags::SYN) {
            self.syn
        } else if segment.seq_len() > 0 {
            self.data
        } else {
            self.ack
        }
    }
}

/// Place of an observer on the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// At the client, before any loss of its packets.
    Client,
    /// Between the hosts: losses happen before and behind it with equal probability.
    Middle,
    /// At the server.
    Server,
}

/// An observer who captures packets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Observer {
    /// Place on the path.
    pub(crate) place: Place,
    /// Direction of the packets that are captured; `None`: both.
    pub(crate) only: Option<Direction>,
}

impl Observer {
    /// An observer of both directions.
    pub(crate) const fn at(place: Place) -> Observer {
        Observer { place, only: None }
    }
}

/// Input of [`generate`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan<'a> {
    /// Traffic, delays and hosts. Workloads are those of clients that send a request: `initiator = "receiver"`.
    pub(crate) scenario: &'a Scenario,
    /// Losses.
    pub(crate) faults: Faults,
    /// Observers, each with a capture of its own.
    pub(crate) observers: &'a [Observer],
    /// End of the captures; `None`: when all connections are over.
    pub(crate) until: Option<Instant>,
    /// Seed of everything random.
    pub(crate) seed: u64,
}

/// Captures and the truth about them.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    /// A capture for each observer, as a pcap file.
    pub(crate) captures: Vec<Vec<u8>>,
    /// True counts and times, by the generator.
    pub(crate) truth: Truth,
}

/// True counts and times over all paths.
#[derive(Debug, Default)]
pub(crate) struct Truth {
    /// Attempts.
    pub(crate) opened: u64,
    /// Attempts that a server accepted and that completed their handshake.
    pub(crate) completed: Completed,
    /// Packets by direction.
    pub(crate) packets: [Packets; 2],
    /// Attempts, in the order in which they ended.
    pub(crate) attempts: Vec<Attempt>,
    /// Repeated SYNs and SYN/ACKs at the hosts, counted by addresses, ports and sequence numbers.
    pub(crate) repeats: Vec<Repeat>,
    /// Packets at the hosts, of a single connection.
    pub(crate) listed: Vec<Listed>,
}

/// An attempt, from its first SYN to its end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attempt {
    /// Number in the order of opening.
    pub(crate) serial: u32,
    /// Time until the request was sent; `None`: the handshake failed.
    pub(crate) until_request: Option<Nanos>,
    /// Time until the client had the whole answer.
    pub(crate) until_answer: Option<Nanos>,
    /// SYNs and SYN/ACKs sent, with the copies of a tool.
    pub(crate) sent: [u32; 2],
    /// SYNs and SYN/ACKs lost.
    pub(crate) lost: [u32; 2],
    /// SYN/ACKs that reached the client.
    pub(crate) synacks_received: u32,
    /// True if the handshake's ACK was lost.
    pub(crate) ack_lost: bool,
    /// Copies that a tool sent.
    pub(crate) copies: u32,
    /// Retransmission timeouts of the server after the handshake.
    pub(crate) timeouts: u32,
}

/// A packet at a host.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Listed {
    /// Time since the first SYN.
    pub(crate) at: Nanos,
    /// Place of the observer.
    pub(crate) place: Place,
    /// Host that sent it.
    pub(crate) from: usize,
    /// Kind of packet.
    pub(crate) kind: PacketKind,
}

/// Kind of a listed packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PacketKind {
    /// SYN.
    Syn,
    /// SYN/ACK.
    SynAck,
    /// Segment with data.
    Data,
    /// Segment with FIN, without data.
    Fin,
    /// Pure ACK.
    Ack,
}

impl PacketKind {
    fn of(segment: &Segment) -> PacketKind {
        if segment.flags.contains(Flags::SYN | Flags::ACK) {
            PacketKind::SynAck
        } else if segment.flags.contains(Flags::SYN) {
            PacketKind::Syn
        } else if segment.len > 0 {
            PacketKind::Data
        } else if segment.flags.contains(Flags::FIN) {
            PacketKind::Fin
        } else {
            PacketKind::Ack
        }
    }
}

/// Completed attempts by what was lost.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Completed {
    /// All.
    pub(crate) all: u64,
    /// With a lost SYN or SYN/ACK.
    pub(crate) syn_or_synack: u64,
    /// With a lost SYN/ACK.
    pub(crate) synack: u64,
    /// With a lost SYN/ACK, or whose handshake's ACK was lost.
    pub(crate) synack_or_ack: u64,
    /// Whose handshake's ACK was lost.
    pub(crate) ack: u64,
}

/// Packets sent in one direction.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Packets {
    /// All.
    pub(crate) sent: u64,
    /// Bytes of all, with IP and TCP headers without options.
    pub(crate) bytes: u64,
    /// Retransmissions.
    pub(crate) again: u64,
    /// With SYN, data or FIN.
    pub(crate) sequenced: u64,
    /// With SYN, data or FIN, and lost.
    pub(crate) lost: u64,
    /// SYNs and SYN/ACKs.
    pub(crate) syns: u64,
    /// Retransmitted SYNs and SYN/ACKs.
    pub(crate) syns_again: u64,
    /// SYNs and SYN/ACKs lost, without those to hosts that do not answer.
    pub(crate) syns_lost: u64,
}

/// A repeated SYN or SYN/ACK in a capture at a host.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Repeat {
    /// Host of the observer.
    pub(crate) at: usize,
    /// Host that sent it: the client sends SYNs, the server SYN/ACKs.
    pub(crate) kind: usize,
    /// Address of the client.
    pub(crate) client: Ipv4Addr,
    /// Place of the workload in the scenario.
    pub(crate) workload: usize,
    /// Time since the previous one.
    pub(crate) after: Nanos,
    /// Time since the first one.
    pub(crate) since_first: Nanos,
    /// True if it is a second capture of one packet.
    pub(crate) copy: bool,
}

/// Generates a trace.
pub(crate) fn generate(plan: &Plan<'_>) -> Trace {
    World::new(plan, None).run()
}

/// Generates a trace in which a tool on the host `at` sends SYNs or SYN/ACKs again.
pub(super) fn generate_with_tool(plan: &Plan<'_>, at: usize, config: &Config) -> Trace {
    let tool = Tool {
        at,
        core: Retransmitter::new(config.clone(), plan.seed),
        planned: Instant::NEVER,
        known: BTreeMap::new(),
    };
    World::new(plan, Some(tool)).run()
}

/// Analyses a generated capture; `row` sees each connection.
pub(crate) fn analyze(capture: Vec<u8>, options: &Options, row: &mut dyn FnMut(&Row)) -> Analysis {
    let reader = CaptureReader::from_reader("generated".to_owned(), Box::new(Cursor::new(capture)));
    let reader = reader.expect("what was written is a capture");
    let mut rows = |it: &Row| {
        row(it);
        Ok(())
    };
    let analysis = gentle_trace::analyze(vec![reader], options, None, Some(&mut rows), &Control::default());
    analysis.expect("memory can be read")
}

/// Reaction of the server to an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    Accepted,
    Refused,
    None,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Passes the middle of the path.
    Middle,
    /// Reaches the other host.
    Host,
    /// Is captured for the second time.
    Copy(Place),
}

#[derive(Debug)]
struct Packet {
    serial: u32,
    from: usize,
    stage: Stage,
    /// Lost behind the middle.
    lost: bool,
    ip_id: u16,
    segment: Segment,
}

enum Event {
    Packet(u32, Box<Packet>),
    /// A timer of a host may be due. `true`: what arrives at the same time has been handled.
    Timer(u32, usize, bool),
    /// The tool may have something to send.
    Tool,
    Flood(u32),
}

/// A connection with its two hosts.
struct Connection {
    serial: u32,
    flow: Flow,
    ends: [Option<Endpoint>; 2],
    profiles: [Arc<Profile>; 2],
    isn: [Seq; 2],
    ip_id: [u16; 2],
    /// Delay between client and middle, and between middle and server.
    delays: [Nanos; 2],
    /// Direction of the client's packets.
    direction: Direction,
    answer: Answer,
    copied: bool,
    request: u32,
    bytes: u64,
    workload: usize,
    /// SYN/ACKs are never lost.
    spared: bool,
    /// Longest time that a packet waits in the server, and the time until which the server has packets to process.
    busy: Nanos,
    busy_until: Instant,
    opened: Instant,
    answered: Option<Instant>,
    synacks_received: u32,
    copies: u32,
    spoken: [bool; 2],
    closed: [bool; 2],
    /// Time of the earliest timer event that is planned.
    planned: [Instant; 2],
    in_flight: u32,
    /// SYNs and SYN/ACKs sent, and lost.
    handshake_sent: [u32; 2],
    handshake_lost: [u32; 2],
    /// The handshake's ACK has been sent, and lost.
    acknowledged: bool,
    ack_lost: bool,
    /// Times at which the observer at each host saw the first and the last SYN and SYN/ACK.
    seen: [[Option<(Instant, Instant)>; 2]; 2],
    /// SYN and SYN/ACK sent last, for the tool's copies.
    last: [Option<Segment>; 2],
}

impl Connection {
    fn way(&self, from: usize) -> Direction {
        match from == CLIENT {
            true => self.direction,
            false => self.direction.reverse(),
        }
    }

    fn is_over(&self) -> bool {
        let over = |end: &Option<Endpoint>| {
            let end = end.as_ref();
            end.is_none_or(|end| end.is_failed() || end.is_closed())
        };
        self.in_flight == 0 && self.ends.iter().all(over)
    }

    /// Delivers a segment to the host `to`, whose answers go into `out`.
    fn deliver(&mut self, now: Instant, to: usize, segment: &Segment, out: &mut Vec<Segment>) {
        let is_syn = segment.flags.contains(Flags::SYN) && !segment.flags.contains(Flags::ACK);
        match &mut self.ends[to] {
            Some(end) if !end.is_failed() => {
                end.on_segment(now, segment, false, out);
                self.act(now, to, out);
            }
            None if to == SERVER && is_syn => match self.answer {
                Answer::Accepted => {
                    let profile = Arc::clone(&self.profiles[SERVER]);
                    let isn = self.isn[SERVER];
                    let end = Endpoint::accept(profile, isn, now, segment, false, out);
                    self.ends[SERVER] = Some(end);
                }
                Answer::Refused => {
                    let mut reset = Segment::new(Seq(0), Flags::RST | Flags::ACK);
                    reset.ack = Seq(segment.seq.0.wrapping_add(1));
                    out.push(reset);
                }
                Answer::None => {}
            },
            _ => {}
        }
    }

    /// Lets the program on the host `side` act: the client sends a request, the server answers and closes, the client
    /// closes.
    fn act(&mut self, now: Instant, side: usize, out: &mut Vec<Segment>) {
        let Some(end) = &mut self.ends[side] else {
            return;
        };
        if side == CLIENT && end.is_established() && !self.spoken[CLIENT] {
            self.spoken[CLIENT] = true;
            end.write(now, u64::from(self.request), out);
        }
        if side == SERVER && end.received() >= u64::from(self.request) && !self.spoken[SERVER] {
            self.spoken[SERVER] = true;
            self.closed[SERVER] = true;
            end.write(now, self.bytes, out);
            end.close(now, out);
        }
        if side == CLIENT && end.peer_closed() && !self.closed[CLIENT] {
            self.closed[CLIENT] = true;
            self.answered = Some(now);
            end.close(now, out);
        }
    }
}

/// A retransmitter of SYNs or SYN/ACKs on all hosts of one side.
struct Tool {
    at: usize,
    core: Retransmitter,
    /// Time of the earliest event that is planned for it.
    planned: Instant,
    /// Places of connections by address and port of the client.
    known: BTreeMap<(Address, u16), u32>,
}

impl Tool {
    /// Time for which an event has to be planned, if none is planned before it.
    fn plan(&mut self, now: Instant) -> Option<Instant> {
        let due = (self.core.next_deadline()?.max(Instant::ZERO + START) - START).max(now);
        (due < self.planned).then(|| {
            self.planned = due;
            due
        })
    }
}

struct World<'a> {
    plan: &'a Plan<'a>,
    profiles: Vec<[Arc<Profile>; 2]>,
    one_way: Nanos,
    now: Instant,
    events: EventQueue<Event>,
    connections: Slab<Connection>,
    serial: u32,
    rng: Xoshiro256PlusPlus,
    captures: Vec<PcapWriter<Vec<u8>>>,
    frame: Vec<u8>,
    out: Vec<Segment>,
    tool: Option<Tool>,
    truth: Truth,
}

impl<'a> World<'a> {
    fn new(plan: &'a Plan<'a>, tool: Option<Tool>) -> World<'a> {
        let scenario = plan.scenario;
        let capture = |_: &Observer| {
            let writer = PcapWriter::new(Vec::new(), LinkType::ETHERNET, None, Resolution::Nanos);
            writer.expect("memory can be written")
        };
        let mut events = EventQueue::new(SPACING);
        let (hosts, syns) = plan.faults.floods;
        for number in 0..hosts * syns {
            let at = u128::from(scenario.duration.0) * u128::from(number) / u128::from(hosts * syns);
            events.plan(Instant(at as u64), Event::Flood(number));
        }
        World {
            plan,
            profiles: (scenario.workloads.iter()).map(|workload| scenario.profiles(workload)).collect(),
            one_way: Nanos((scenario.links[0].delay + scenario.links[1].delay).0 / 2),
            now: Instant::ZERO,
            events,
            connections: Slab::default(),
            serial: 0,
            rng: Xoshiro256PlusPlus::seed_from_u64(plan.seed),
            captures: plan.observers.iter().map(capture).collect(),
            frame: Vec::new(),
            out: Vec::new(),
            tool,
            truth: Truth::default(),
        }
    }

    fn run(mut self) -> Trace {
        let scenario = self.plan.scenario;
        let mut arrivals = match self.plan.faults.single {
            false => Some(scenario.schedule(self.plan.seed)),
            true => None,
        };
        if self.plan.faults.single {
            self.open(&Arrival {
                at: Instant::ZERO,
                span: Span::Bytes(SINGLE_ANSWER),
                direction: Direction::Down,
                initiator: Initiator::Receiver,
                extra_rtt: Nanos::ZERO,
                workload: 0,
            });
        }
        let until = self.plan.until.unwrap_or(Instant::NEVER);
        loop {
            let arrival = arrivals.as_ref().map_or(Instant::NEVER, Schedule::next_at);
            let event = self.events.next_at();
            let next = event.min(arrival);
            if next == Instant::NEVER || next > until {
                break;
            }
            self.now = next;
            if arrival <= event {
                let arrival = arrivals.as_mut().and_then(Schedule::next);
                self.open(&arrival.expect("an arrival is due"));
            } else if let Some(event) = self.events.pop() {
                self.happen(event);
            }
        }
        for place in self.connections.places().collect::<Vec<_>>() {
            self.conclude(place);
        }
        Trace { captures: (self.captures.into_iter()).map(PcapWriter::into_inner).collect(), truth: self.truth }
    }

    fn chance(&mut self, probability: f64) -> bool {
        probability > 0.0 && self.rng.random_bool(probability)
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Packet(place, packet) => self.arrive(place, packet),
            Event::Timer(place, side, false) => {
                // As in the simulator, what arrives comes before timers that are due at the same time.
                self.events.plan(self.now, Event::Timer(place, side, true));
            }
            Event::Timer(place, side, true) => self.timer(place, side),
            Event::Tool => self.tool(),
            Event::Flood(number) => self.flood(number),
        }
    }

    fn open(&mut self, arrival: &Arrival) {
        let Span::Bytes(bytes) = arrival.span else {
            return;
        };
        let serial = self.serial;
        self.serial += 1;
        let direction = match arrival.initiator {
            Initiator::Sender => arrival.direction,
            Initiator::Receiver => arrival.direction.reverse(),
        };
        let faults = self.plan.faults;
        let answer = if self.chance(faults.unanswered[direction.index()]) {
            Answer::None
        } else if self.chance(faults.refused) {
            Answer::Refused
        } else {
            Answer::Accepted
        };
        let group = self.group(arrival.workload);
        let copied = self.chance(faults.copied) || self.chance(group.map_or(0.0, |group| group.copied));
        let spared = self.chance(faults.spared);
        let whole = self.one_way + Nanos(arrival.extra_rtt.0 / 2);
        let near = Nanos((whole.0 as f64 * self.rng.random_range(MIDDLE)) as u64);
        let mut profiles = self.profiles[arrival.workload].clone();
        if let Some((from, to)) = group.and_then(|group| group.timer) {
            let initial_rto = Nanos(self.rng.random_range(from.0..=to.0));
            profiles[CLIENT] = Arc::new(Profile { initial_rto, ..(*profiles[CLIENT]).clone() });
        }
        let isn = [Seq(self.rng.random()), Seq(self.rng.random())];
        let flow = Flow {
            addresses: [
                client_address(direction, arrival.workload, group, serial),
                address(direction.reverse(), true, self.rng.random_range(0..SERVERS)),
            ],
            ports: [client_port(group, serial), 80],
        };
        let client = Endpoint::connect(Arc::clone(&profiles[CLIENT]), isn[CLIENT], self.now, &mut self.out);
        let connection = Connection {
            serial,
            flow,
            ends: [Some(client), None],
            profiles,
            isn,
            ip_id: [self.rng.random(), self.rng.random()],
            delays: [near, whole - near],
            direction,
            answer,
            copied,
            request: match faults.single {
                true => SINGLE_REQUEST,
                false => REQUEST,
            },
            bytes,
            workload: arrival.workload,
            spared,
            busy: group.map_or(Nanos::ZERO, |group| group.busy),
            busy_until: Instant::ZERO,
            opened: self.now,
            answered: None,
            synacks_received: 0,
            copies: 0,
            spoken: [false; 2],
            closed: [false; 2],
            planned: [Instant::NEVER; 2],
            in_flight: 0,
            handshake_sent: [0; 2],
            handshake_lost: [0; 2],
            acknowledged: false,
            ack_lost: false,
            seen: [[None; 2]; 2],
            last: [None; 2],
        };
        self.truth.opened += 1;
        let key = flow.client();
        let place = self.connections.insert(connection);
        if let Some(tool) = &mut self.tool {
            tool.known.insert(key, place);
        }
        self.follow(place, CLIENT);
    }

    /// Properties of the hosts of a workload, if it has special ones.
    fn group(&self, workload: usize) -> Option<&'static Group> {
        let workload = self.plan.scenario.workloads.get(workload)?;
        let name = workload.group.as_deref().unwrap_or_default();
        self.plan.faults.groups.iter().find(|it| it.name == name)
    }

    /// Sends what a host put into `out`, and plans its timer.
    fn follow(&mut self, place: u32, side: usize) {
        for segment in std::mem::take(&mut self.out) {
            self.send(place, side, segment);
        }
        let Some(connection) = self.connections.get_mut(place) else {
            return;
        };
        let due = connection.ends[side].as_ref().and_then(Endpoint::next_timer);
        if let Some(at) = due.filter(|at| *at < connection.planned[side]) {
            connection.planned[side] = at;
            self.events.plan(at.max(self.now), Event::Timer(place, side, false));
        }
        if connection.is_over() {
            self.conclude(place);
        }
    }

    fn timer(&mut self, place: u32, side: usize) {
        let Some(connection) = self.connections.get_mut(place) else {
            return;
        };
        if connection.planned[side] > self.now {
            // Planned for an earlier connection in this place, or overtaken by an earlier event.
            return;
        }
        connection.planned[side] = Instant::NEVER;
        if let Some(end) = &mut connection.ends[side] {
            end.on_timer(self.now, &mut self.out);
        }
        self.follow(place, side);
    }

    /// A host sends a segment: it is captured at the host, and lost or passed on.
    fn send(&mut self, place: u32, from: usize, segment: Segment) {
        let Some(connection) = self.connections.get_mut(place) else {
            return;
        };
        let is_syn = segment.flags.contains(Flags::SYN);
        // Linux sends SYN/ACKs with identification 0 (`ip_build_and_send_pkt`).
        let ip_id = match is_syn && from == SERVER {
            true => 0,
            false => {
                connection.ip_id[from] = connection.ip_id[from].wrapping_add(1);
                connection.ip_id[from]
            }
        };
        if is_syn {
            connection.last[from] = Some(segment);
        }
        self.transmit(place, from, ip_id, segment, true);
    }

    /// A segment leaves a host. `watched`: by the tool of the host, if it has one.
    fn transmit(&mut self, place: u32, from: usize, ip_id: u16, segment: Segment, watched: bool) {
        let faults = self.plan.faults;
        let Some(connection) = self.connections.get(place) else {
            return;
        };
        let way = connection.way(from).index();
        let serial = connection.serial;
        let is_syn = segment.flags.contains(Flags::SYN);
        let is_handshake_ack = from == CLIENT && !is_syn && !connection.acknowledged;
        let spared = connection.spared && is_syn && from == SERVER;
        let lost = (!spared && self.chance(faults.loss[way].of(&segment)))
            || (is_syn && connection_sent(&self.connections, place, from) < faults.script[from]);
        let lost_before = lost && self.rng.random::<bool>();
        let Some(connection) = self.connections.get_mut(place) else {
            return;
        };
        let packets = &mut self.truth.packets[way];
        packets.sent += 1;
        packets.bytes += HEADERS + u64::from(segment.len);
        packets.again += u64::from(segment.retransmitted);
        if segment.seq_len() > 0 {
            packets.sequenced += 1;
            packets.lost += u64::from(lost);
        }
        if is_syn {
            packets.syns += 1;
            packets.syns_again += u64::from(segment.retransmitted);
            packets.syns_lost += u64::from(lost && connection.answer != Answer::None);
            connection.handshake_sent[from] += 1;
            connection.handshake_lost[from] += u32::from(lost);
        }
        if is_handshake_ack {
            connection.acknowledged = true;
            connection.ack_lost = lost;
        }
        let mut packet = Box::new(Packet { serial, from, stage: Stage::Middle, lost, ip_id, segment });
        let at = self.now + connection.delays[from];
        if watched {
            self.show_tool(place, from, &packet);
        }
        let own = [Place::Client, Place::Server][from];
        self.capture(place, own, &packet);
        if lost_before {
            return;
        }
        packet.stage = Stage::Middle;
        if let Some(connection) = self.connections.get_mut(place) {
            connection.in_flight += 1;
        }
        self.events.plan(at, Event::Packet(place, packet));
    }

    fn arrive(&mut self, place: u32, mut packet: Box<Packet>) {
        let known = self.connections.get_mut(place);
        let Some(connection) = known.filter(|it| it.serial == packet.serial) else {
            return;
        };
        let to = 1 - packet.from;
        match packet.stage {
            Stage::Copy(at) => {
                connection.in_flight -= 1;
                self.capture(place, at, &packet);
                self.follow(place, to);
            }
            Stage::Middle => {
                let mut at = self.now + connection.delays[to];
                if packet.lost {
                    connection.in_flight -= 1;
                } else if to == SERVER && connection.busy > Nanos::ZERO {
                    // The server processes packets in the order of their arrival.
                    let wait = Nanos(self.rng.random_range(0..=connection.busy.0));
                    at = (at + wait).max(connection.busy_until);
                    connection.busy_until = at;
                }
                self.capture(place, Place::Middle, &packet);
                if packet.lost {
                    self.follow(place, to);
                } else {
                    packet.stage = Stage::Host;
                    self.events.plan(at, Event::Packet(place, packet));
                }
            }
            Stage::Host => {
                connection.in_flight -= 1;
                if to == CLIENT && packet.segment.flags.contains(Flags::SYN) {
                    connection.synacks_received += 1;
                }
                self.capture(place, [Place::Client, Place::Server][to], &packet);
                self.show_tool(place, to, &packet);
                let mut out = std::mem::take(&mut self.out);
                if let Some(connection) = self.connections.get_mut(place) {
                    connection.deliver(self.now, to, &packet.segment, &mut out);
                }
                self.out = out;
                self.follow(place, to);
            }
        }
    }

    /// Writes a packet into the captures of the observers at a place.
    fn capture(&mut self, place: u32, at: Place, packet: &Packet) {
        let Some(connection) = self.connections.get_mut(place) else {
            return;
        };
        let copy = matches!(packet.stage, Stage::Copy(_));
        let way = connection.way(packet.from);
        let host = match at {
            Place::Client => Some(CLIENT),
            Place::Server => Some(SERVER),
            Place::Middle => None,
        };
        if let Some(host) = host.filter(|_| packet.segment.flags.contains(Flags::SYN)) {
            let seen = &mut connection.seen[host][packet.from];
            let (first, last) = seen.unwrap_or((self.now, self.now));
            if seen.replace((first, self.now)).is_some() {
                self.truth.repeats.push(Repeat {
                    at: host,
                    kind: packet.from,
                    client: connection.flow.addresses[CLIENT],
                    workload: connection.workload,
                    after: self.now - last,
                    since_first: self.now - first,
                    copy,
                });
            }
        }
        if host.is_some() && self.plan.faults.single {
            self.truth.listed.push(Listed {
                at: self.now - connection.opened,
                place: at,
                from: packet.from,
                kind: PacketKind::of(&packet.segment),
            });
        }
        let mut written = false;
        for (observer, capture) in self.plan.observers.iter().zip(&mut self.captures) {
            if observer.place != at || observer.only.is_some_and(|only| only != way) {
                continue;
            }
            if !written {
                let (flow, from) = (&connection.flow, packet.from);
                frame::write(&packet.segment, packet.ip_id, flow, from, &mut self.frame);
                written = true;
            }
            write(capture, self.now, &self.frame, packet.segment.len);
        }
        if at != Place::Middle && connection.copied && !copy {
            connection.in_flight += 1;
            let again = Packet { stage: Stage::Copy(at), ..*packet };
            let at = self.now + Nanos(self.rng.random_range(COPIED_AFTER));
            self.events.plan(at, Event::Packet(place, Box::new(again)));
        }
    }

    /// Shows a packet to the tool, if it runs on the host `side`.
    fn show_tool(&mut self, place: u32, side: usize, packet: &Packet) {
        let Some(tool) = self.tool.as_mut().filter(|tool| tool.at == side) else {
            return;
        };
        let Some(connection) = self.connections.get(place) else {
            return;
        };
        frame::write(&packet.segment, packet.ip_id, &connection.flow, packet.from, &mut self.frame);
        self.frame.resize(self.frame.len() + packet.segment.len as usize, 0);
        let passing = match packet.from == side {
            true => Passing::Out,
            false => Passing::In,
        };
        let frame = Frame {
            bytes: &self.frame,
            original_len: self.frame.len() as u32,
            link: LinkType::ETHERNET,
            vlan: None,
            partial_checksum: false,
            exact_time: true,
        };
        tool.core.frame(self.now + START, passing, &frame);
        if let Some(at) = tool.plan(self.now) {
            self.events.plan(at, Event::Tool);
        }
    }

    /// Lets the tool send what is due.
    fn tool(&mut self) {
        let Some(mut tool) = self.tool.take() else {
            return;
        };
        if tool.planned <= self.now {
            tool.planned = Instant::NEVER;
        }
        let side = tool.at;
        let mut due = Vec::new();
        while let Some(decision) = tool.core.poll(self.now + START) {
            if matches!(decision, Decision::Copy(_)) {
                let connection = decision.connection();
                due.extend(tool.known.get(&[connection.src, connection.dst][side]));
            }
        }
        if let Some(at) = tool.plan(self.now) {
            self.events.plan(at, Event::Tool);
        }
        self.tool = Some(tool);
        for place in due {
            let Some(connection) = self.connections.get_mut(place) else {
                continue;
            };
            connection.copies += 1;
            if let Some(segment) = connection.last[side] {
                self.transmit(place, side, 0, segment, false);
            }
        }
    }

    /// A host of a flood sends a SYN.
    fn flood(&mut self, number: u32) {
        let (hosts, _) = self.plan.faults.floods;
        let way = Direction::Up;
        let flow = Flow {
            addresses: [address(way, false, CLIENTS + number % hosts), address(way.reverse(), true, number % SERVERS)],
            ports: [(FIRST_PORT + number / hosts % 60_000) as u16, 80],
        };
        let segment = Segment::new(Seq(self.rng.random()), Flags::SYN);
        frame::write(&segment, 0, &flow, CLIENT, &mut self.frame);
        for (observer, capture) in self.plan.observers.iter().zip(&mut self.captures) {
            if observer.only.is_none_or(|only| only == way) {
                write(capture, self.now, &self.frame, 0);
            }
        }
    }

    /// Takes leave of a connection.
    fn conclude(&mut self, place: u32) {
        let Some(connection) = self.connections.remove(place) else {
            return;
        };
        if let Some(tool) = &mut self.tool {
            tool.known.remove(&connection.flow.client());
        }
        let client = connection.ends[CLIENT].as_ref();
        let established = client.and_then(Endpoint::established_at);
        let server = connection.ends[SERVER].as_ref();
        self.truth.attempts.push(Attempt {
            serial: connection.serial,
            until_request: established.map(|at| at - connection.opened),
            until_answer: connection.answered.map(|at| at - connection.opened),
            sent: connection.handshake_sent,
            lost: connection.handshake_lost,
            synacks_received: connection.synacks_received,
            ack_lost: connection.ack_lost,
            copies: connection.copies,
            timeouts: server.map_or(0, |server| server.stats().rto_timeouts),
        });
        if established.is_none() {
            return;
        }
        let [syn, synack] = connection.handshake_lost.map(|lost| lost > 0);
        let completed = &mut self.truth.completed;
        completed.all += 1;
        completed.syn_or_synack += u64::from(syn || synack);
        completed.synack += u64::from(synack);
        completed.synack_or_ack += u64::from(synack || connection.ack_lost);
        completed.ack += u64::from(connection.ack_lost);
    }
}

/// Number of SYNs or SYN/ACKs that a host has sent.
fn connection_sent(connections: &Slab<Connection>, place: u32, from: usize) -> u32 {
    let connection = connections.get(place);
    connection.map_or(0, |connection| connection.handshake_sent[from])
}

/// Address of a host whose packets travel in `direction`.
fn address(direction: Direction, server: bool, number: u32) -> Ipv4Addr {
    let net: u32 = match direction {
        Direction::Down => 0xac10_0000,
        Direction::Up => 0x0a00_0000,
    };
    Ipv4Addr::from(net | u32::from(server) << 16 | number)
}

/// Address of the client of the connection `serial`. The clients of a group with few hosts have a net of their own.
fn client_address(direction: Direction, workload: usize, group: Option<&Group>, serial: u32) -> Ipv4Addr {
    match group.map_or(0, |group| group.hosts) {
        0 => address(direction, false, serial % CLIENTS),
        hosts => address(direction, false, 0x2000 + 0x100 * workload as u32 + serial % hosts),
    }
}

/// Port of the client of the connection `serial`, which no earlier connection of the same address has.
fn client_port(group: Option<&Group>, serial: u32) -> u16 {
    let before = match group.map_or(0, |group| group.hosts) {
        0 => serial / CLIENTS,
        hosts => serial / hosts,
    };
    (FIRST_PORT + before % 60_000) as u16
}

/// Adds a frame, of which the payload is left out, to a capture.
fn write(capture: &mut PcapWriter<Vec<u8>>, now: Instant, frame: &[u8], payload: u32) {
    let packet = RawPacket {
        time: now + START,
        interface: 0,
        link: LinkType::ETHERNET,
        original_len: frame.len() as u32 + payload,
        data: frame,
    };
    capture.packet(&packet).expect("memory can be written");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::Setup;

    fn trace(faults: Faults, seed: u64) -> Trace {
        let mut setup = Setup::from_toml(
            "papers/handshake-2009/captures.toml",
            include_str!("../../data/handshake-2009/captures.toml"),
        );
        setup.scenario.set_duration(Nanos::from_secs(2));
        setup.scenario.workloads.truncate(1);
        generate(&Plan {
            scenario: &setup.scenario,
            faults,
            observers: &[Observer::at(Place::Client), Observer::at(Place::Server)],
            until: None,
            seed,
        })
    }

    #[test]
    fn a_seed_gives_the_same_bytes() {
        let faults = Faults { loss: [Loss::new(0.1, 0.05); 2], copied: 0.1, unanswered: [0.1; 2], ..Faults::default() };
        let [first, second, other] = [1, 1, 2].map(|seed| trace(faults, seed).captures);
        assert!(first == second && first != other);
    }

    #[test]
    fn without_losses_nothing_is_sent_again() {
        let trace = trace(Faults::default(), 1);
        let truth = &trace.truth;
        assert!(truth.opened > 700);
        assert_eq!(truth.completed.all, truth.opened);
        assert_eq!(truth.packets.map(|way| (way.again, way.lost)), [(0, 0); 2]);
        for capture in trace.captures {
            let analysis = analyze(capture, &Options::default(), &mut |_| ());
            let found = &analysis.handshakes;
            assert_eq!(found.successes, truth.opened);
            assert_eq!(found.duplicate_syn + found.duplicate_synack, 0);
            assert_eq!(analysis.retransmissions.retransmitted, 0);
        }
    }

    /// If client and server wait equally long, the client sees a duplicate SYN for every lost SYN or SYN/ACK.
    #[test]
    fn a_client_sees_every_loss() {
        let faults = Faults { loss: [Loss::new(0.1, 0.0); 2], ..Faults::default() };
        let mut trace = trace(faults, 1);
        let lost = trace.truth.completed.syn_or_synack;
        assert!(lost > 100);
        let capture = trace.captures.swap_remove(0);
        let found = analyze(capture, &Options::default(), &mut |_| ()).handshakes;
        assert_eq!(found.successes_with_duplicate_syn, lost);
    }
    #[test]
    fn spared_synacks_are_not_lost() {
        let faults = Faults { loss: [Loss::new(0.2, 0.0); 2], spared: 1.0, ..Faults::default() };
        let trace = trace(faults, 1);
        assert_eq!(trace.truth.completed.synack, 0);
        assert!(trace.truth.completed.syn_or_synack > 50);
    }

    /// A tool on all clients copies the SYN of each connection, not those of others.
    #[test]
    fn a_tool_serves_many_connections() {
        let mut setup = Setup::from_toml(
            "papers/handshake-2009/captures.toml",
            include_str!("../../data/handshake-2009/captures.toml"),
        );
        setup.scenario.set_duration(Nanos::from_secs(1));
        let plan = Plan { scenario: &setup.scenario, faults: Faults::default(), observers: &[], until: None, seed: 1 };
        let selection = gentle_rexmit::Selection { client: true, ..gentle_rexmit::Selection::default() };
        let config = Config { copies: 0, duplicate: Some(Nanos::from_millis(1)), ..Config::new(selection) };
        let truth = generate_with_tool(&plan, CLIENT, &config).truth;
        assert!(truth.attempts.len() > 300);
        assert!(truth.attempts.iter().all(|it| it.copies == 1 && it.sent[CLIENT] == 2));
    }
}
