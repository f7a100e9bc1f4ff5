//! Evaluates the observations of a run, with the simulator's definitions of all metrics.
//!
//! Response and handshake times come from the sockets. Everything about packets comes from the router's devices: a
//! packet that entered a queue and did not leave it was dropped. A host's packets reach the router's entry without
//! loss, so all retransmissions are seen there. An acknowledgement reaches its host one wire delay after it left the
//! queue.

mod counters;
mod endpoint;
mod error;
mod frames;
mod link_rate;
mod queue_tracker;
mod split;

pub use error::ResultsError;
pub use split::split;

use crate::experiment::{Flow, Planned, client_address, server_address};
use crate::traffic::{CapturePoint, Connection, ConnectionOutcome, Observations, UserNote};
use counters::QueueCounters;
use endpoint::Endpoint;
use frames::{Frame, Frames, Segment};
use gentle_experiment::{Class, Direction, Ending, Recorder, RunRecord, RunSpec};
use gentle_tcp::Stats;
use gentle_units::{Instant, Nanos};
use link_rate::LinkRate;
use queue_tracker::{QueueTracker, QueuedPacket};
use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, HashMap};
use std::net::IpAddr;
use std::path::Path;

/// Inputs of the evaluation of one run.
pub struct Inputs<'a> {
    /// Scenario, scheme and seed of the run.
    pub spec: RunSpec<'a>,
    /// Name of the kernel, for the record.
    pub backend: &'a str,
    /// Engine, as in [`Backend::engine`](gentle_experiment::Backend::engine).
    pub engine: &'a str,
    /// Plan that the run carried out.
    pub planned: &'a Planned,
    /// Observations of the run.
    pub observations: &'a Observations,
    /// Packet capture of the run.
    pub packets: &'a Path,
}

/// Evaluates a run.
///
/// # Errors
/// The packet capture cannot be read, or the taps missed packets.
pub fn evaluate(inputs: &Inputs<'_>) -> Result<RunRecord, ResultsError> {
    if inputs.observations.missed > 0 {
        return Err(ResultsError::Missed { packets: inputs.observations.missed });
    }
    let mut evaluation = Evaluation::new(inputs);
    let mut frames = Frames::open(inputs.packets)?;
    while let Some(frame) = frames.next()? {
        evaluation.frame(&frame);
    }
    Ok(evaluation.finish())
}

/// A connection that has sent packets.
struct TrackedConnection {
    /// The two ends, the initiator first.
    ends: [Endpoint; 2],
    /// Counters of both ends at the end of the warm-up.
    before: [Stats; 2],
    /// Bytes of data acknowledged by the receiver at the end of the warm-up, and at the end of the arrival process.
    received: (u64, u64),
}

/// A segment with an acknowledgement on its way to a host.
struct InFlight {
    /// Time of arrival.
    at: Instant,
    /// Sequence number that makes the order total.
    number: u64,
    /// Index in the list of connections.
    connection: usize,
    /// Index of the receiving end.
    end: usize,
    segment: Segment,
}

impl InFlight {
    fn due(&self) -> (Instant, u64) {
        (self.at, self.number)
    }
}

impl PartialEq for InFlight {
    fn eq(&self, other: &InFlight) -> bool {
        self.due() == other.due()
    }
}

impl Eq for InFlight {}

impl PartialOrd for InFlight {
    fn partial_cmp(&self, other: &InFlight) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for InFlight {
    fn cmp(&self, other: &InFlight) -> Ordering {
        self.due().cmp(&other.due())
    }
}

/// Identifies a connection among those that are open at a time. The initiator's port alone does not: Linux gives one port to
/// several connections whose addresses or destination ports differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    /// Whether the client opened it.
    from_client: bool,
    /// Address of the client, which has the numbers of the host, on either side, and of the class of round-trip times.
    client: IpAddr,
    /// Address of the server, which has the number of the tunnel.
    server: IpAddr,
    /// Port of the initiator.
    port: u16,
    /// Port of the other end.
    to_port: u16,
}

impl Key {
    fn of_connection(connection: &Connection, flow: &Flow) -> Key {
        Key {
            from_client: connection.from_client,
            client: client_address(flow.host, flow.class).into(),
            server: server_address(flow.host, flow.tunnel).into(),
            port: connection.port,
            to_port: flow.port(),
        }
    }

    /// Key of the connection of a segment from one address to another through the queue of `direction`, and whether the
    /// initiator sent it.
    fn of_segment(direction: Direction, [from, to]: [IpAddr; 2], segment: &Segment) -> (Key, bool) {
        // Hosts listen on well-known ports and connect from higher ones.
        let by_initiator = segment.src_port > segment.dst_port;
        let by_client = direction == Direction::Down;
        let key = Key {
            from_client: by_client == by_initiator,
            client: if by_client { from } else { to },
            server: if by_client { to } else { from },
            port: segment.src_port.max(segment.dst_port),
            to_port: segment.src_port.min(segment.dst_port),
        };
        (key, by_initiator)
    }
}

/// State of the evaluation after some of the packets.
struct Evaluation<'a> {
    inputs: &'a Inputs<'a>,
    recorder: Recorder,
    /// Queues by direction.
    queues: [QueueTracker; 2],
    /// Links by direction.
    links: [LinkRate; 2],
    /// Indices in the list of connections that have not started, by key, the next one last.
    upcoming: HashMap<Key, Vec<usize>>,
    /// Indices in the list of connections of those that started last, by key.
    current: HashMap<Key, usize>,
    /// Connections by index in the list.
    tracked: HashMap<usize, TrackedConnection>,
    in_flight: BinaryHeap<Reverse<InFlight>>,
    /// Workloads of datagrams by port: that of both ends, or the source port of those at a constant rate.
    datagrams: HashMap<u16, usize>,
    /// Number of segments put into `in_flight` so far.
    segments: u64,
    warmed_up: bool,
}

impl<'a> Evaluation<'a> {
    fn new(inputs: &'a Inputs<'a>) -> Evaluation<'a> {
        let mut upcoming: HashMap<Key, Vec<usize>> = HashMap::new();
        for (place, connection) in inputs.observations.connections.iter().enumerate().rev() {
            let flow = &inputs.planned.experiment.flows[connection.flow as usize];
            let key = Key::of_connection(connection, flow);
            upcoming.entry(key).or_default().push(place);
        }
        let link = |direction| LinkRate::new(inputs.spec.scenario.link(direction));
        let mut recorder = Recorder::new(&inputs.spec, inputs.backend, inputs.engine);
        if !inputs.spec.scenario.groups().is_empty() {
            recorder.count_groups();
        }
        let experiment = &inputs.planned.experiment;
        let sockets = experiment.datagrams.iter();
        let sockets = sockets.map(|socket| (socket.port, socket.flow.workload));
        let sources = experiment.cbr.iter();
        let sources = sources.map(|flow| (flow.port(), flow.workload));
        Evaluation {
            recorder,
            datagrams: sockets.chain(sources).collect(),
            queues: Default::default(),
            links: [link(Direction::Down), link(Direction::Up)],
            upcoming,
            current: HashMap::new(),
            tracked: HashMap::new(),
            in_flight: BinaryHeap::new(),
            segments: 0,
            warmed_up: inputs.spec.scenario.warmup == Nanos::ZERO,
            inputs,
        }
    }

    fn frame(&mut self, frame: &Frame) {
        self.deliver_until(frame.at);
        if !self.warmed_up && frame.at >= self.inputs.spec.scenario.measures_from() {
            self.warmed_up = true;
            for tracked in self.tracked.values_mut() {
                tracked.before = [0, 1].map(|end| tracked.ends[end].stats().clone());
            }
        }
        match frame.point {
            CapturePoint::DownEntry => self.enter(Direction::Down, frame),
            CapturePoint::UpEntry => self.enter(Direction::Up, frame),
            CapturePoint::DownExit => self.leave(Direction::Down, frame),
            CapturePoint::UpExit => self.leave(Direction::Up, frame),
        }
    }

    fn enter(&mut self, direction: Direction, frame: &Frame) {
        let class = frame.class();
        let counts = self.recorder.offered(frame.at, direction, class);
        let connection = self.connection_of(direction, frame, true);
        let group = self.counted_group(frame, connection.map(|(place, _)| place));
        if let Some(group) = group.filter(|_| counts) {
            self.recorder.group_offered(group, direction);
        }
        self.queues[direction as usize].enter(frame, QueuedPacket { since: frame.at, class, group, counts });
        let Some((place, end)) = connection else {
            return;
        };
        let warmup = self.inputs.spec.scenario.measures_from();
        let connection = &self.inputs.observations.connections[place];
        let flow = &self.inputs.planned.experiment.flows[connection.flow as usize];
        let tracked = self.tracked.entry(place).or_insert_with(|| TrackedConnection {
            ends: Default::default(),
            before: Default::default(),
            received: (0, 0),
        });
        let Some(segment) = &frame.segment else {
            return;
        };
        tracked.ends[end].sends(frame.at, segment);
        // The number of bytes received while measuring is needed only for long-lived flows.
        let receiver = usize::from(flow.initiator_sends);
        if flow.bytes.is_none() && end == receiver {
            let acknowledged = tracked.ends[1 - end].acknowledged(segment);
            if frame.at < warmup {
                tracked.received.0 = acknowledged;
            }
            if frame.at <= self.inputs.spec.scenario.stops_at() {
                tracked.received.1 = acknowledged;
            }
        }
    }

    fn leave(&mut self, direction: Direction, frame: &Frame) {
        let link = &mut self.links[direction as usize];
        let bytes = link.bytes(frame.ip_bytes);
        let done = frame.at + link.time_to_send(frame.at, bytes);
        // A packet that was queued before the tap started has no entry.
        let Some(packet) = self.queues[direction as usize].leave(frame) else {
            return;
        };
        let delay = frame.at.saturating_since(packet.since);
        self.recorder.left(frame.at, direction, delay);
        let carried = self.recorder.carried(direction, frame.at, done, bytes);
        if let Some(group) = packet.group {
            self.recorder.group_left(group, direction, frame.at, delay, carried);
        }
        if packet.counts {
            self.recorder.sent(direction);
        }
        let Some((place, sender)) = self.connection_of(direction, frame, false) else {
            return;
        };
        let Some(segment) = frame.segment.as_ref().filter(|s| s.ack.is_some()) else {
            return;
        };
        let connection = &self.inputs.observations.connections[place];
        let flow = &self.inputs.planned.experiment.flows[connection.flow as usize];
        let extra = self.inputs.planned.extra_rtts.get(usize::from(flow.class));
        let extra = Nanos(extra.copied().unwrap_or_default().0 / 2);
        self.segments += 1;
        self.in_flight.push(Reverse(InFlight {
            at: done + self.inputs.spec.scenario.link(direction).delay + extra,
            number: self.segments,
            connection: place,
            end: 1 - sender,
            segment: segment.clone(),
        }));
    }

    fn deliver_until(&mut self, now: Instant) {
        while let Some(Reverse(next)) = self.in_flight.peek()
            && next.at <= now
        {
            if let Some(Reverse(next)) = self.in_flight.pop()
                && let Some(tracked) = self.tracked.get_mut(&next.connection)
            {
                tracked.ends[next.end].receives(next.at, &next.segment);
            }
        }
    }

    /// Index of a segment's connection in the list, and of the sending end: 0 for the initiator.
    fn connection_of(&mut self, direction: Direction, frame: &Frame, entering: bool) -> Option<(usize, usize)> {
        let segment = frame.segment.as_ref()?;
        let (key, by_initiator) = Key::of_segment(direction, frame.addresses, segment);
        if entering && by_initiator && segment.is_syn() {
            let repeated = self.current.get(&key).is_some_and(|place| {
                let tracked = self.tracked.get(place);
                tracked.is_some_and(|tracked| tracked.ends[0].began_with(segment.seq))
            });
            if !repeated {
                let place = self.upcoming.get_mut(&key)?.pop()?;
                self.current.insert(key, place);
            }
        }
        Some((*self.current.get(&key)?, usize::from(!by_initiator)))
    }

    /// Index of the group for which a packet with payload counts; `place` is that of its connection in the list.
    fn counted_group(&self, frame: &Frame, place: Option<usize>) -> Option<usize> {
        if frame.class() != Class::Data {
            return None;
        }
        let workload = match (place, frame.datagram) {
            (Some(place), _) => {
                let flow = self.inputs.observations.connections[place].flow;
                self.inputs.planned.experiment.flows[flow as usize].workload
            }
            (None, Some([from, _])) => *self.datagrams.get(&from)?,
            (None, None) => return None,
        };
        self.recorder.group_of(workload)
    }

    fn finish(mut self) -> RunRecord {
        self.deliver_until(Instant::NEVER);
        let last = self.inputs.observations.samples.last();
        for direction in Direction::BOTH {
            let spec = match direction {
                Direction::Down => self.inputs.spec.scheme,
                Direction::Up => &self.inputs.spec.scenario.link(Direction::Up).qdisc,
            };
            let queue = std::mem::take(&mut self.queues[direction as usize]);
            let queued = last.map_or(0, |sample| counters::queued(sample, direction));
            let dropped = queue.dropped(queued);
            let counters = QueueCounters::of(self.inputs.observations, self.inputs.spec.scenario, direction, spec);
            let reasons = counters.of_drops(dropped.len());
            for (packet, reason) in dropped.into_iter().zip(reasons) {
                self.recorder.dropped(direction, packet.class, Some(reason));
                if let Some(group) = packet.group {
                    self.recorder.group_dropped(group, direction);
                }
            }
            self.recorder.marked(direction, counters.marks());
        }
        let nothing = TrackedConnection { ends: Default::default(), before: Default::default(), received: (0, 0) };
        for (place, connection) in self.inputs.observations.connections.iter().enumerate() {
            let tracked = self.tracked.get(&place).unwrap_or(&nothing);
            report(self.inputs, connection, tracked, &mut self.recorder);
        }
        for part in &self.inputs.observations.applications {
            if let Some(application) = self.recorder.application(part.workload) {
                application.add(&part.record);
            }
        }
        for UserNote { flow, note } in &self.inputs.observations.notes {
            let flow = &self.inputs.planned.experiment.flows[*flow as usize];
            note.record(flow.workload, &mut self.recorder);
        }
        self.recorder.finish()
    }
}

/// Reports a connection to the recorder.
fn report(inputs: &Inputs<'_>, connection: &Connection, tracked: &TrackedConnection, to: &mut Recorder) {
    let flow = &inputs.planned.experiment.flows[connection.flow as usize];
    let started = Instant(connection.started_ns);
    let stats = [0, 1].map(|end| tracked.ends[end].stats());
    let Some(bytes) = flow.bytes else {
        for (stats, before) in stats.into_iter().zip(&tracked.before) {
            to.endpoint(flow.workload, stats, before);
        }
        if flow.user.is_some() {
            return;
        }
        let (before, after) = tracked.received;
        let bytes = after.saturating_sub(before);
        let direction = inputs.spec.scenario.workloads[flow.workload].direction;
        to.goodput(direction, bytes, started, Instant(flow.until_ns));
        return;
    };
    if started < inputs.spec.scenario.measures_from() {
        return;
    }
    let since = |at_ns: u64| Nanos(at_ns.saturating_sub(connection.started_ns));
    let ending = match (connection.outcome, connection.ended_ns) {
        (ConnectionOutcome::Completed, Some(at)) => Ending::Completed(since(at)),
        (ConnectionOutcome::Failed, _) => Ending::Failed,
        (ConnectionOutcome::Completed | ConnectionOutcome::Unfinished, _) => Ending::Unfinished,
    };
    let mss = u64::from(inputs.spec.scenario.profile.mss);
    let segments = bytes.div_ceil(mss).max(1);
    to.connection(flow.workload, started, segments, ending, connection.connected_ns.map(since), &stats);
}

#[cfg(test)]
mod tests {
    use super::*;

    const PORT: u16 = 51_392;

    fn flow(host: u8, class: u8, tunnel: u8, from_client: bool, initiator_sends: bool) -> Flow {
        Flow {
            at_ns: 0,
            bytes: None,
            until_ns: 1,
            from_client,
            initiator_sends,
            class,
            workload: 0,
            dscp: 0,
            host,
            tunnel,
            user: None,
        }
    }

    /// The queue that a segment of the connection of a flow passes, its addresses, and the segment.
    fn sent(flow: &Flow, by_initiator: bool) -> (Direction, [IpAddr; 2], Segment) {
        let mut ports = [PORT, flow.port()];
        let mut addresses =
            [client_address(flow.host, flow.class).into(), server_address(flow.host, flow.tunnel).into()];
        if !by_initiator {
            ports.reverse();
        }
        let mut direction = Direction::Down;
        if flow.from_client != by_initiator {
            addresses.reverse();
            direction = Direction::Up;
        }
        let segment = Segment {
            src_port: ports[0],
            dst_port: ports[1],
            seq: 1,
            ack: Some(1),
            syn: false,
            fin: false,
            payload: 1_448,
            sacks: Vec::new(),
            stamps: None,
        };
        (direction, addresses, segment)
    }

    /// Linux gives one port to connections of different hosts, classes of round-trip times, tunnels and services.
    #[test]
    fn connections_with_one_port_are_told_apart() {
        let mut flows = Vec::new();
        for (host, class, tunnel) in [(0, 0, 0), (0, 1, 0), (3, 0, 0), (0, 0, 1)] {
            for (from_client, sends) in [(true, true), (true, false), (false, true), (false, false)] {
                flows.push(flow(host, class, tunnel, from_client, sends));
            }
        }
        let keys: Vec<Key> =
            flows.iter().map(|flow| Key::of_connection(&Connection::started(flow, 0, PORT, 0), flow)).collect();
        for (place, flow) in flows.iter().enumerate() {
            for by_initiator in [true, false] {
                let (direction, addresses, segment) = sent(flow, by_initiator);
                let (key, sender) = Key::of_segment(direction, addresses, &segment);
                assert_eq!(sender, by_initiator);
                let found: Vec<usize> = (0..keys.len()).filter(|&n| keys[n] == key).collect();
                assert_eq!(found, [place]);
            }
        }
    }
}
