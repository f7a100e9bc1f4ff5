//! Captures of the traffic of a scenario, over paths that lose packets at random, and the truth about them.
//!
//! The scenario gives arrivals, sizes, round-trip times and TCP profiles; its links have no queue here. [`Faults`] has what a
//! scenario does not say.

use crate::connection::{self, Answer, CLIENT, Course, Host, Kind, Loss, Opening, Peer, SERVER};
use crate::event_loop::{EventLoop, Side};
use crate::file::{Capture, Format};
use crate::frame;
use crate::network::{self, Packet, Paths, Place, Watch};
use gentle_experiment::{Arrival, Direction, Initiator, Scenario, Schedule, Span};
use gentle_tcp::{Endpoint, Flags, Profile, Segment, Seq};
use gentle_units::{Instant, Nanos};
use rand::RngExt;
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::ops::Range;
use std::sync::Arc;

/// Size of a client's request, bytes.
const REQUEST: u32 = 300;

/// IP and TCP headers without options, bytes.
const HEADERS: u64 = 40;

/// Bytes kept of each frame, which are the headers at least.
const SNAPLEN: u32 = 96;

/// Spacing of events for which the event queue is made.
const SPACING: Nanos = Nanos::from_micros(30);

/// Part of the path between the client and an observer in the middle.
const MIDDLE: Range<f64> = 0.1..0.9;

/// Hosts that a path connects, at either end of the link.
const CLIENTS: u32 = 2_000;
const SERVERS: u32 = 200;
const FIRST_PORT: u32 = 1_024;
const SERVER_PORT: u16 = 80;

/// Prefix of the hosts that receive what the link carries down.
pub const LEFT: &str = "10.0.0.0/8";

/// Faults of all paths. A switch or a mirror port captures a frame for the second time 10 µs to 1 ms after the first.
const NETWORK: network::Faults =
    network::Faults { vantage: Place::Middle, reorder: 0.0, copied: 0.0, copied_after: 10_000..=999_999 };

/// Probabilities of losses and other events.
#[derive(Debug, Clone, Copy, Default)]
pub struct Faults {
    /// Loss of packets that travel down and up.
    pub loss: [Loss; 2],
    /// Attempts that nobody answers, by the direction of the SYN.
    pub unanswered: [f64; 2],
    /// Attempts that are answered by an RST.
    pub refused: f64,
    /// Connections of which an observer at a host captures each frame twice.
    pub copied: f64,
    /// Hosts that send SYNs and nothing else, at the end where SYNs travel up, and the number of SYNs of each.
    pub floods: (u32, u32),
    /// Connections whose SYN/ACKs are never lost, as if queues marked these instead of dropping them.
    pub spared: f64,
    /// Properties of the hosts of workloads with these group names.
    pub groups: &'static [Group],
}

/// Properties of the hosts of a workload that scenarios do not have.
#[derive(Debug, Clone, Copy)]
pub struct Group {
    /// Name of the workload's group; empty: workloads without one.
    pub name: &'static str,
    /// Number of client addresses; 0: as many as other workloads have.
    pub hosts: u32,
    /// Connections of which an observer at a host captures each frame twice, in addition to [`Faults::copied`].
    pub copied: f64,
    /// Longest time that a packet waits in the server before it is processed.
    pub busy: Nanos,
    /// Range from which each connection draws the initial RTO of its client; `None`: the workload's.
    pub timer: Option<(Nanos, Nanos)>,
}

impl Group {
    /// A group without special properties.
    pub const fn plain(name: &'static str) -> Group {
        Group { name, hosts: 0, copied: 0.0, busy: Nanos::ZERO, timer: None }
    }
}

/// An observer who captures packets.
#[derive(Debug, Clone, Copy)]
pub struct Observer {
    /// Place on the path.
    pub place: Place,
    /// Direction of the packets that are captured; `None`: both.
    pub only: Option<Direction>,
}

impl Observer {
    /// An observer of both directions.
    pub const fn at(place: Place) -> Observer {
        Observer { place, only: None }
    }
}

/// A single connection of a client whose packets travel up, instead of the scenario's connections.
#[derive(Debug, Clone, Copy)]
pub struct Single {
    /// Size of the client's request, bytes.
    pub request: u32,
    /// Size of the server's answer, bytes.
    pub answer: u64,
    /// Number of first SYNs and SYN/ACKs that are lost.
    pub lost_first: [u32; 2],
}

/// Program on the hosts of one side that sends SYNs or SYN/ACKs again.
pub trait Tool {
    /// A frame leaves the host, or arrives.
    fn frame(&mut self, now: Instant, leaves: bool, frame: &[u8]);

    /// Time at which there may be something to send; `Instant::NEVER`: none.
    fn next(&self) -> Instant;

    /// Client of a connection whose last SYN or SYN/ACK is to be sent again; call until `None`.
    fn poll(&mut self, now: Instant) -> Option<SocketAddr>;
}

/// Input of [`generate`].
#[derive(Debug, Clone, Copy)]
pub struct Plan<'a> {
    /// Traffic, delays and hosts. The clients of its workloads send a request: `initiator = "receiver"`.
    pub scenario: &'a Scenario,
    /// Connection instead of the scenario's.
    pub single: Option<Single>,
    /// Losses.
    pub faults: Faults,
    /// Observers, each with a separate capture.
    pub observers: &'a [Observer],
    /// End of the captures; `None`: when all connections are over.
    pub until: Option<Instant>,
    /// Seed of everything random.
    pub seed: u64,
}

impl<'a> Plan<'a> {
    /// Traffic of a scenario without faults and observers.
    pub fn new(scenario: &'a Scenario, seed: u64) -> Plan<'a> {
        Plan { scenario, single: None, faults: Faults::default(), observers: &[], until: None, seed }
    }
}

/// Captures and the truth about them.
#[derive(Debug, Default)]
pub struct Trace {
    /// A capture for each observer, as a pcap file.
    pub captures: Vec<Vec<u8>>,
    /// Packets by direction.
    pub packets: [Packets; 2],
    /// Attempts, in the order in which they ended.
    pub attempts: Vec<Attempt>,
    /// Repeated SYNs and SYN/ACKs at the hosts, counted by addresses, ports and sequence numbers.
    pub repeats: Vec<Repeat>,
    /// Packets at the hosts, of a single connection.
    pub listed: Vec<Listed>,
}

/// Packets sent in one direction, without floods.
#[derive(Debug, Clone, Copy, Default)]
pub struct Packets {
    /// All.
    pub sent: u64,
    /// Bytes of all, with IP and TCP headers without options.
    pub bytes: u64,
    /// Retransmissions.
    pub again: u64,
    /// With SYN, data or FIN.
    pub sequenced: u64,
    /// With SYN, data or FIN, and lost.
    pub lost: u64,
    /// SYNs and SYN/ACKs.
    pub syns: u64,
    /// Retransmitted SYNs and SYN/ACKs.
    pub syns_again: u64,
    /// SYNs and SYN/ACKs lost, without those to hosts that do not answer.
    pub syns_lost: u64,
}

/// An attempt, from its first SYN to its end.
#[derive(Debug, Clone, Copy)]
pub struct Attempt {
    /// Number in the order of opening.
    pub serial: u32,
    /// Time until the request was sent; `None`: the handshake failed.
    pub until_request: Option<Nanos>,
    /// Time until the client had the whole answer.
    pub until_answer: Option<Nanos>,
    /// Events of the handshake, the copies of a tool among them.
    pub opening: Opening,
    /// Copies that a tool sent.
    pub copies: u32,
    /// Retransmission timeouts of the server after the handshake.
    pub timeouts: u32,
}

/// A repeated SYN or SYN/ACK in a capture at a host.
#[derive(Debug, Clone, Copy)]
pub struct Repeat {
    /// Host of the observer.
    pub at: Side,
    /// Host that sent it: the client sends SYNs, the server SYN/ACKs.
    pub from: Side,
    /// Address of the client.
    pub client: IpAddr,
    /// Place of the workload in the scenario.
    pub workload: usize,
    /// Time since the previous one.
    pub after: Nanos,
    /// Time since the first one.
    pub since_first: Nanos,
    /// True if it is a second capture of one packet.
    pub copy: bool,
}

/// A packet at a host.
#[derive(Debug, Clone, Copy)]
pub struct Listed {
    /// Time since the first SYN.
    pub at: Nanos,
    /// Place of the observer.
    pub place: Place,
    /// Host that sent it.
    pub from: Side,
    /// Kind of packet.
    pub kind: Kind,
}

/// Generates captures, with a tool on the hosts of a side if there is one.
pub fn generate(plan: &Plan<'_>, tool: Option<(Side, &mut dyn Tool)>) -> Trace {
    let tool = tool.map(|(at, tool)| Hosted { at, tool, known: BTreeMap::new(), sends: false });
    let made = World::new(plan, tool).and_then(World::run);
    made.expect("memory can be written")
}

/// A tool on all hosts of one side.
struct Hosted<'a> {
    at: Side,
    tool: &'a mut dyn Tool,
    /// Places of connections by their clients.
    known: BTreeMap<SocketAddr, u32>,
    /// Whether the hosts send copies for the tool, which it does not see.
    sends: bool,
}

/// Notes about a connection.
struct Notes {
    serial: u32,
    workload: usize,
    /// Direction of the client's packets.
    direction: Direction,
    /// Times at which the observer at each host saw the first and the last SYN and SYN/ACK.
    seen: [[Option<(Instant, Instant)>; 2]; 2],
    /// SYN and SYN/ACK sent last, for the tool's copies.
    last: [Option<Segment>; 2],
    copies: u32,
}

impl Notes {
    fn way(&self, from: Side) -> Direction {
        match from {
            CLIENT => self.direction,
            SERVER => self.direction.reverse(),
        }
    }
}

type Connection = connection::Connection<Notes>;

/// The observers, and what they know.
struct Observers<'a> {
    plan: &'a Plan<'a>,
    captures: Vec<Capture<Vec<u8>>>,
    trace: Trace,
    tool: Option<Hosted<'a>>,
    frame: Vec<u8>,
}

impl Observers<'_> {
    /// Writes a packet into the captures of the observers at a place, or at any.
    fn capture(
        &mut self,
        now: Instant,
        place: Option<Place>,
        way: Direction,
        packet: &Packet,
        hosts: [&Host; 2],
    ) -> io::Result<()> {
        for (observer, capture) in self.plan.observers.iter().zip(&mut self.captures) {
            let is_there = place.is_none_or(|place| place == observer.place);
            if is_there && observer.only.is_none_or(|only| only == way) {
                capture.packet(now, packet, hosts)?;
            }
        }
        Ok(())
    }

    /// Records a packet that is at the host of side `at`.
    fn at_host(&mut self, now: Instant, at: Side, packet: &Packet, connection: &mut Connection) {
        let from = packet.from;
        if packet.segment.flags.contains(Flags::SYN) {
            let notes = &mut connection.notes;
            let seen = &mut notes.seen[at.index()][from.index()];
            let (first, last) = seen.unwrap_or((now, now));
            if seen.replace((first, now)).is_some() {
                self.trace.repeats.push(Repeat {
                    at,
                    from,
                    client: connection.peers[0].host.address,
                    workload: notes.workload,
                    after: now - last,
                    since_first: now - first,
                    copy: packet.copy,
                });
            }
        }
        if self.plan.single.is_some() {
            let kind = Kind::of(&packet.segment);
            self.trace.listed.push(Listed { at: now - connection.opened, place: Place::of(at), from, kind });
        }
        let tool = self.tool.as_mut().filter(|tool| tool.at == at && !tool.sends && !packet.copy);
        if let Some(tool) = tool {
            frame::write(packet, connection.hosts(), None, usize::MAX, &mut self.frame);
            tool.tool.frame(now, from == at, &self.frame);
        }
    }
}

impl Watch for Observers<'_> {
    type Notes = Notes;

    const PACKETS_FIRST: bool = true;

    fn sent(&mut self, connection: &mut Connection, from: Side, segment: &Segment, lost: bool) {
        let packets = &mut self.trace.packets[connection.notes.way(from).index()];
        packets.sent += 1;
        packets.bytes += HEADERS + u64::from(segment.len);
        packets.again += u64::from(segment.retransmitted);
        if segment.seq_len() > 0 {
            packets.sequenced += 1;
            packets.lost += u64::from(lost);
        }
        if segment.flags.contains(Flags::SYN) {
            packets.syns += 1;
            packets.syns_again += u64::from(segment.retransmitted);
            packets.syns_lost += u64::from(lost && connection.course.answer != Answer::None);
            connection.notes.last[from.index()] = Some(*segment);
        }
    }

    fn pass(&mut self, now: Instant, at: Place, packet: &Packet, connection: &mut Connection) -> io::Result<()> {
        match at {
            Place::Client => self.at_host(now, CLIENT, packet, connection),
            Place::Server => self.at_host(now, SERVER, packet, connection),
            Place::Middle => {}
        }
        self.capture(now, Some(at), connection.notes.way(packet.from), packet, connection.hosts())
    }

    fn over(&mut self, connection: &Connection) {
        let [client, server] = &connection.peers;
        if let Some(tool) = &mut self.tool {
            tool.known.remove(&client.host.socket());
        }
        let established = client.end.as_ref().and_then(Endpoint::established_at);
        self.trace.attempts.push(Attempt {
            serial: connection.notes.serial,
            until_request: established.map(|at| at - connection.opened),
            until_answer: connection.answered.map(|at| at - connection.opened),
            opening: connection.opening,
            copies: connection.notes.copies,
            timeouts: server.end.as_ref().map_or(0, |end| end.stats().rto_timeouts),
        });
    }
}

struct World<'a> {
    plan: &'a Plan<'a>,
    profiles: Vec<[Arc<Profile>; 2]>,
    one_way: Nanos,
    serial: u32,
    events: EventLoop<Paths<Observers<'a>>>,
}

impl<'a> World<'a> {
    fn new(plan: &'a Plan<'a>, tool: Option<Hosted<'a>>) -> io::Result<World<'a>> {
        let scenario = plan.scenario;
        let captures = plan.observers.iter().map(|_| Capture::new(Vec::new(), Format::Pcap, SNAPLEN, None));
        let captures = captures.collect::<io::Result<_>>()?;
        let observers = Observers { plan, captures, trace: Trace::default(), tool, frame: Vec::new() };
        Ok(World {
            plan,
            profiles: scenario.workloads.iter().map(|workload| scenario.profiles(workload)).collect(),
            one_way: Nanos((scenario.links[0].delay + scenario.links[1].delay).0 / 2),
            serial: 0,
            events: EventLoop::new(Paths::new(observers, NETWORK, plan.seed), SPACING),
        })
    }

    fn run(mut self) -> io::Result<Trace> {
        let scenario = self.plan.scenario;
        let mut arrivals = match self.plan.single {
            None => Some(scenario.schedule(self.plan.seed)),
            Some(single) => {
                self.open(&Arrival {
                    at: Instant::ZERO,
                    span: Span::Bytes(single.answer),
                    direction: Direction::Down,
                    initiator: Initiator::Receiver,
                    extra_rtt: Nanos::ZERO,
                    workload: 0,
                })?;
                None
            }
        };
        let (hosts, syns) = self.plan.faults.floods;
        let mut floods = (0..hosts * syns)
            .map(|number| {
                let at = u128::from(scenario.duration.0) * u128::from(number) / u128::from(hosts * syns);
                (Instant(at as u64), number)
            })
            .peekable();
        let until = self.plan.until.unwrap_or(Instant::NEVER);
        loop {
            let arrival = arrivals.as_ref().map_or(Instant::NEVER, Schedule::next_at);
            let flood = floods.peek().map_or(Instant::NEVER, |(at, _)| *at);
            let tool = self.events.network().watch.tool.as_ref();
            let tool = tool.map_or(Instant::NEVER, |it| it.tool.next().max(self.events.now()));
            let event = self.events.next_at();
            let next = arrival.min(flood).min(tool).min(event);
            if next == Instant::NEVER || next > until {
                break;
            }
            if event == next && arrival.min(flood).min(tool) > next {
                self.events.step(next)?;
                continue;
            }
            self.events.advance_to(next);
            if arrival == next {
                let arrival = arrivals.as_mut().and_then(Schedule::next);
                self.open(&arrival.expect("an arrival is due"))?;
            } else if let Some((_, number)) = floods.next_if(|(at, _)| *at == next) {
                self.flood(number)?;
            } else {
                self.tool()?;
            }
        }
        let observers = self.events.finish().watch;
        let captures = observers.captures.into_iter().map(Capture::into_inner).collect();
        Ok(Trace { captures, ..observers.trace })
    }

    fn open(&mut self, arrival: &Arrival) -> io::Result<()> {
        let Span::Bytes(bytes) = arrival.span else {
            return Ok(());
        };
        let direction = match arrival.initiator {
            Initiator::Sender => arrival.direction,
            Initiator::Receiver => arrival.direction.reverse(),
        };
        let notes = Notes {
            serial: self.serial,
            workload: arrival.workload,
            direction,
            seen: [[None; 2]; 2],
            last: [None; 2],
            copies: 0,
        };
        let whole = self.one_way + Nanos(arrival.extra_rtt.0 / 2);
        let profiles = self.profiles[arrival.workload].clone();
        let (plan, mut client) = (self.plan, None);
        let place = self.events.open(|paths, now, out| {
            let (peers, course) = draw(plan, paths, &notes, bytes, whole, profiles);
            client = Some(peers[0].host.socket());
            Connection::open(peers, course, notes, now, out)
        })?;
        self.serial += 1;
        if let (Some(tool), Some(client)) = (&mut self.events.network_mut().watch.tool, client) {
            tool.known.insert(client, place);
        }
        Ok(())
    }

    /// Lets the tool send what is due.
    fn tool(&mut self) -> io::Result<()> {
        let now = self.events.now();
        while let Some(tool) = &mut self.events.network_mut().watch.tool
            && let Some(client) = tool.tool.poll(now)
        {
            let side = tool.at;
            if let Some(place) = tool.known.get(&client).copied() {
                tool.sends = true;
                self.events.act(place, side, |connection, _, out| {
                    connection.notes.copies += 1;
                    out.extend(connection.notes.last[side.index()]);
                })?;
            }
            self.events.network_mut().watch.tool.iter_mut().for_each(|tool| tool.sends = false);
        }
        Ok(())
    }

    /// A host of a flood sends a SYN.
    fn flood(&mut self, number: u32) -> io::Result<()> {
        let now = self.events.now();
        let (hosts, _) = self.plan.faults.floods;
        let way = Direction::Up;
        let client = host(address(way, false, CLIENTS + number % hosts), port(number / hosts), Nanos::ZERO);
        let server = host(address(way.reverse(), true, number % SERVERS), SERVER_PORT, Nanos::ZERO);
        let paths = self.events.network_mut();
        let packet = Packet::new(CLIENT, Segment::new(Seq(paths.rng.random()), Flags::SYN), 0);
        paths.watch.capture(now, None, way, &packet, [&client, &server])
    }
}

/// Draws hosts and course of a connection.
fn draw(
    plan: &Plan<'_>,
    paths: &mut Paths<Observers<'_>>,
    notes: &Notes,
    bytes: u64,
    whole: Nanos,
    mut profiles: [Arc<Profile>; 2],
) -> ([Peer; 2], Course) {
    let (faults, direction, serial) = (&plan.faults, notes.direction, notes.serial);
    let workload = plan.scenario.workloads.get(notes.workload);
    let name = workload.and_then(|it| it.group.as_deref()).unwrap_or_default();
    let group = faults.groups.iter().find(|it| it.name == name).copied().unwrap_or(Group::plain(""));
    let answer = if paths.chance(faults.unanswered[direction.index()]) {
        Answer::None
    } else if paths.chance(faults.refused) {
        Answer::Refuse
    } else {
        Answer::Accept
    };
    let copied = paths.chance(faults.copied) || paths.chance(group.copied);
    let mut loss = [CLIENT, SERVER].map(|side| faults.loss[notes.way(side).index()]);
    if paths.chance(faults.spared) {
        loss[SERVER.index()].synack = 0.0;
    }
    let near = Nanos((whole.0 as f64 * paths.rng.random_range(MIDDLE)) as u64);
    if let Some((from, to)) = group.timer {
        let initial_rto = Nanos(paths.rng.random_range(from.0..=to.0));
        profiles[0] = Arc::new(Profile { initial_rto, ..(*profiles[0]).clone() });
    }
    let isn = [Seq(paths.rng.random()), Seq(paths.rng.random())];
    // The clients of a group with few hosts have a separate net. No earlier connection of an address has the port.
    let (client, used) = match group.hosts {
        0 => (serial % CLIENTS, serial / CLIENTS),
        hosts => (0x2000 + 0x100 * notes.workload as u32 + serial % hosts, serial / hosts),
    };
    let server = address(direction.reverse(), true, paths.rng.random_range(0..SERVERS));
    let hosts = [host(address(direction, false, client), port(used), near), host(server, SERVER_PORT, whole - near)];
    let [client, server] = profiles;
    let peers = [
        Peer::new(hosts[0], client, isn[0], paths.rng.random()),
        Peer::new(hosts[1], server, isn[1], paths.rng.random()),
    ];
    let single = plan.single;
    let course = Course {
        answer,
        request: single.map_or(REQUEST, |single| single.request),
        bytes,
        loss,
        lost_first: single.map_or([0; 2], |single| single.lost_first),
        busy: group.busy,
        silent: true,
        copied,
        ..Course::default()
    };
    (peers, course)
}

fn host(address: Ipv4Addr, port: u16, delay: Nanos) -> Host {
    Host { address: address.into(), port, ttl: 64, clock: 0, delay }
}

/// Address of a host whose packets travel in `direction`.
fn address(direction: Direction, server: bool, number: u32) -> Ipv4Addr {
    let net: u32 = match direction {
        Direction::Down => 0xac10_0000,
        Direction::Up => 0x0a00_0000,
    };
    Ipv4Addr::from(net | u32::from(server) << 16 | number)
}

/// Port of a client that has used this many before.
fn port(used: u32) -> u16 {
    (FIRST_PORT + used % 60_000) as u16
}
