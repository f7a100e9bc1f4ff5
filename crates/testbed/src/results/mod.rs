//! Evaluates the observations of a run, with the simulator's definitions of all metrics.
//!
//! Response and handshake times come from the sockets. Everything about packets comes from the router's devices: a
//! packet that entered a queue and did not leave it was dropped. A host's packets reach the router's entry without
//! loss, so all retransmissions are seen there. An acknowledgement reaches its host one wire delay after it left the
//! queue.

mod endpoint;
mod error;
mod frames;
mod passage;
mod reasons;
mod split;
mod wire;

pub use error::ResultsError;
pub use split::split;

use crate::conduct::{Connection, End, Observed, Point};
use crate::experiment::Planned;
use endpoint::Endpoint;
use frames::{Frame, Frames, Segment};
use gentle_experiment::{Class, Direction, Ending, Recorder, RunRecord, RunSpec};
use gentle_tcp::Stats;
use gentle_units::Nanos;
use passage::{Passage, Waiting};
use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, HashMap};
use std::path::Path;
use wire::Wire;

/// Inputs of the evaluation of one run.
pub struct Run<'a> {
    /// What was run.
    pub run: RunSpec<'a>,
    /// The name of the kernel, for the record.
    pub backend: &'a str,
    /// What was planned.
    pub planned: &'a Planned,
    /// Observations of the run.
    pub observed: &'a Observed,
    /// Packet capture of the run.
    pub packets: &'a Path,
}

/// Evaluates a run.
///
/// # Errors
/// If the file of packets cannot be read, or does not hold all of them.
pub fn measure(run: &Run<'_>) -> Result<RunRecord, ResultsError> {
    if run.observed.missed > 0 {
        return Err(ResultsError::Missed {
            packets: run.observed.missed,
        });
    }
    let mut measuring = Measuring::new(run);
    let mut frames = Frames::open(run.packets)?;
    while let Some(frame) = frames.next()? {
        measuring.frame(&frame);
    }
    Ok(measuring.finish())
}

/// An open connection with its two ends, the initiator first.
struct Tracked {
    ends: [Endpoint; 2],
    /// Counters of both ends at the end of the warm-up.
    before: [Stats; 2],
    /// Bytes of data acknowledged by the receiver at the end of the warm-up, and at the end of the flow.
    received: (u64, u64),
}

/// A segment with an acknowledgement on its way to a host.
struct Arriving {
    at: Nanos,
    /// Sequence number that makes the order total.
    number: u64,
    connection: usize,
    /// Index of the receiving end.
    end: usize,
    segment: Segment,
}

impl Arriving {
    fn due(&self) -> (Nanos, u64) {
        (self.at, self.number)
    }
}

impl PartialEq for Arriving {
    fn eq(&self, other: &Arriving) -> bool {
        self.due() == other.due()
    }
}

impl Eq for Arriving {}

impl PartialOrd for Arriving {
    fn partial_cmp(&self, other: &Arriving) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Arriving {
    fn cmp(&self, other: &Arriving) -> Ordering {
        self.due().cmp(&other.due())
    }
}

/// Key of a connection: whether the client opened it, and the port of the initiator.
type Key = (bool, u16);

struct Measuring<'a> {
    run: &'a Run<'a>,
    recorder: Recorder,
    passages: [Passage; 2],
    wires: [Wire; 2],
    /// Indices in the list of connections by key, the next one last.
    coming: HashMap<Key, Vec<usize>>,
    current: HashMap<Key, usize>,
    tracked: HashMap<usize, Tracked>,
    arriving: BinaryHeap<Reverse<Arriving>>,
    arrivals: u64,
    warmed_up: bool,
}

impl<'a> Measuring<'a> {
    fn new(run: &'a Run<'a>) -> Measuring<'a> {
        let mut coming: HashMap<Key, Vec<usize>> = HashMap::new();
        for (place, connection) in run.observed.connections.iter().enumerate().rev() {
            let key = (connection.from_client, connection.port);
            coming.entry(key).or_default().push(place);
        }
        let wire = |direction| Wire::new(run.run.scenario.link(direction));
        Measuring {
            recorder: Recorder::new(&run.run, run.backend),
            passages: Default::default(),
            wires: [wire(Direction::Down), wire(Direction::Up)],
            coming,
            current: HashMap::new(),
            tracked: HashMap::new(),
            arriving: BinaryHeap::new(),
            arrivals: 0,
            warmed_up: run.run.scenario.warmup == Nanos::ZERO,
            run,
        }
    }

    fn frame(&mut self, frame: &Frame) {
        self.deliver_until(frame.at);
        if !self.warmed_up && frame.at >= self.run.run.scenario.warmup {
            self.warmed_up = true;
            for tracked in self.tracked.values_mut() {
                tracked.before = [0, 1].map(|end| *tracked.ends[end].stats());
            }
        }
        match frame.point {
            Point::DownEntry => self.enter(Direction::Down, frame),
            Point::UpEntry => self.enter(Direction::Up, frame),
            Point::DownExit => self.leave(Direction::Down, frame),
            Point::UpExit => self.leave(Direction::Up, frame),
        }
    }

    fn enter(&mut self, direction: Direction, frame: &Frame) {
        let class = frame.class();
        let counts = self.recorder.offered(frame.at, direction, class);
        self.passages[direction as usize].enter(
            frame,
            Waiting {
                since: frame.at,
                class,
                counts,
            },
        );
        let Some((place, end)) = self.connection_of(direction, frame, true) else {
            return;
        };
        let warmup = self.run.run.scenario.warmup;
        let connection = &self.run.observed.connections[place];
        let flow = &self.run.planned.experiment.flows[connection.flow as usize];
        let tracked = self.tracked.entry(place).or_insert_with(|| Tracked {
            ends: Default::default(),
            before: [Stats::default(); 2],
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
            if frame.at.0 <= flow.until_ns {
                tracked.received.1 = acknowledged;
            }
        }
    }

    fn leave(&mut self, direction: Direction, frame: &Frame) {
        let wire = &mut self.wires[direction as usize];
        let done = frame.at + wire.time_to_send(frame.at, frame.ip_bytes);
        // A packet that was queued before the tap started has no entry.
        let Some(waiting) = self.passages[direction as usize].leave(frame) else {
            return;
        };
        let delay = frame.at.saturating_sub(waiting.since);
        self.recorder.left(frame.at, direction, delay, done);
        if waiting.counts {
            self.recorder.sent(direction);
        }
        let Some((place, sender)) = self.connection_of(direction, frame, false) else {
            return;
        };
        let Some(segment) = frame.segment.as_ref().filter(|s| s.ack.is_some()) else {
            return;
        };
        let connection = &self.run.observed.connections[place];
        let flow = &self.run.planned.experiment.flows[connection.flow as usize];
        let extra = self.run.planned.extra_rtts.get(usize::from(flow.class));
        let extra = Nanos(extra.copied().unwrap_or_default().0 / 2);
        self.arrivals += 1;
        self.arriving.push(Reverse(Arriving {
            at: done + self.run.run.scenario.link(direction).delay + extra,
            number: self.arrivals,
            connection: place,
            end: 1 - sender,
            segment: segment.clone(),
        }));
    }

    fn deliver_until(&mut self, now: Nanos) {
        while let Some(Reverse(next)) = self.arriving.peek()
            && next.at <= now
        {
            if let Some(Reverse(next)) = self.arriving.pop()
                && let Some(tracked) = self.tracked.get_mut(&next.connection)
            {
                tracked.ends[next.end].receives(next.at, &next.segment);
            }
        }
    }

    /// Index of a segment's connection in the list, and of the sending end: 0 for the initiator.
    fn connection_of(
        &mut self,
        direction: Direction,
        frame: &Frame,
        entering: bool,
    ) -> Option<(usize, usize)> {
        let segment = frame.segment.as_ref()?;
        let from_client = direction == Direction::Down;
        // Hosts listen on well-known ports and connect from higher ones.
        let by_initiator = segment.src_port > segment.dst_port;
        let (opened_by_client, port, end) = if by_initiator {
            (from_client, segment.src_port, 0)
        } else {
            (!from_client, segment.dst_port, 1)
        };
        let key = (opened_by_client, port);
        if entering && by_initiator && segment.is_syn() {
            let repeated = self.current.get(&key).is_some_and(|place| {
                let tracked = self.tracked.get(place);
                tracked.is_some_and(|tracked| tracked.ends[0].began_with(segment.seq))
            });
            if !repeated {
                let place = self.coming.get_mut(&key)?.pop()?;
                self.current.insert(key, place);
            }
        }
        Some((*self.current.get(&key)?, end))
    }

    fn finish(mut self) -> RunRecord {
        self.deliver_until(Nanos::MAX);
        let last = self.run.observed.samples.last();
        for direction in Direction::BOTH {
            let spec = match direction {
                Direction::Down => self.run.run.scheme,
                Direction::Up => &self.run.run.scenario.link(Direction::Up).qdisc,
            };
            let passage = std::mem::take(&mut self.passages[direction as usize]);
            let waiting = last.map_or(0, |sample| reasons::waiting(sample, direction));
            let dropped: Vec<Class> = passage.dropped(waiting);
            let counted =
                reasons::Counted::of(self.run.observed, self.run.run.scenario, direction, spec);
            let reasons = counted.of_drops(dropped.len());
            for (class, reason) in dropped.into_iter().zip(reasons) {
                self.recorder.dropped(direction, class, Some(reason));
            }
            self.recorder.marked(direction, counted.marks());
        }
        let nothing = Tracked {
            ends: Default::default(),
            before: [Stats::default(); 2],
            received: (0, 0),
        };
        for (place, connection) in self.run.observed.connections.iter().enumerate() {
            let tracked = self.tracked.get(&place).unwrap_or(&nothing);
            report(self.run, connection, tracked, &mut self.recorder);
        }
        self.recorder.finish()
    }
}

fn report(run: &Run<'_>, connection: &Connection, tracked: &Tracked, to: &mut Recorder) {
    let flow = &run.planned.experiment.flows[connection.flow as usize];
    let started = Nanos(connection.started_ns);
    let stats = [0, 1].map(|end| tracked.ends[end].stats());
    let Some(bytes) = flow.bytes else {
        for (stats, before) in stats.into_iter().zip(&tracked.before) {
            to.endpoint(flow.workload, stats, before);
        }
        let (before, after) = tracked.received;
        let bytes = after.saturating_sub(before);
        to.goodput(bytes, started, Nanos(flow.until_ns));
        return;
    };
    if started < run.run.scenario.warmup {
        return;
    }
    let since = |at_ns: u64| Nanos(at_ns.saturating_sub(connection.started_ns));
    let ending = match (connection.end, connection.ended_ns) {
        (End::Completed, Some(at)) => Ending::Completed(since(at)),
        (End::Failed, _) => Ending::Failed,
        (End::Completed | End::Unfinished, _) => Ending::Unfinished,
    };
    let mss = u64::from(run.run.scenario.profile.mss);
    let segments = bytes.div_ceil(mss).max(1);
    to.connection(
        flow.workload,
        segments,
        ending,
        connection.connected_ns.map(since),
        &stats,
    );
}
