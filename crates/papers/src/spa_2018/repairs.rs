//! Observation of a run: what becomes of each lost segment, and whether a timer or an ACK has it sent again.

use crate::lab::Observation;
use gentle_aqm::Packet as _;
use gentle_experiment::{Class, Direction, RunSpec};
use gentle_sim::{DropCause, Ended, Packet, Tap};
use gentle_tcp::Flags;
use gentle_units::{Instant, Nanos};
use std::collections::BTreeMap;

/// Length of an interval in which the bits of arriving SYNs are counted.
const SLICE: Nanos = Nanos::from_millis(100);

/// Number of last data segments of a connection after which too few follow for a fast retransmit.
const TAIL: u64 = 3;

/// Round-trip time of Table III with the packet FIFO full: 94 ms and 50 packets of 1,514 bytes at 2.4 Mb/s.
const ROUND_TRIP: Nanos = Nanos::from_millis(346);

/// Kind of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// SYN or SYN/ACK.
    Syn,
    /// FIN, with or without data.
    Fin,
    /// One of the last three segments with data.
    Tail,
    /// Another segment with data.
    Middle,
}

/// A retransmission.
#[derive(Debug, Clone, Copy)]
pub(super) struct Repair {
    pub(super) kind: Kind,
    /// Whether the copy before it was lost.
    pub(super) lost: bool,
    /// Whether a timer sent it, not an ACK.
    pub(super) timer: bool,
    /// Whether the copy before it was sent by a timer as well.
    pub(super) after_timer: bool,
    /// Time since the copy before it.
    pub(super) wait: Nanos,
}

/// Packets offered to the queue under test, and lost ones among them.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Fate {
    pub(super) offered: u64,
    pub(super) lost: u64,
}

impl Fate {
    fn offered(&mut self) {
        self.offered += 1;
    }

    /// Share that was lost.
    pub(super) fn loss(self) -> Option<f64> {
        (self.offered > 0).then(|| self.lost as f64 / self.offered as f64)
    }
}

/// Last copy of a segment.
#[derive(Debug, Clone, Copy)]
struct Copy {
    at: Instant,
    lost: bool,
    timer: bool,
}

/// Segments that one end of a connection has sent, by their distance from its SYN.
#[derive(Debug, Default)]
struct End {
    initial: Option<u32>,
    copies: BTreeMap<u32, Copy>,
    /// Time at which a timer of this end fired last.
    timer: Option<Instant>,
}

#[derive(Debug, Default)]
struct Connection {
    /// The initiator and the responder.
    ends: [End; 2],
    /// Direction of the initiator's packets.
    forward: Option<Direction>,
    /// Retransmissions, with the data segment's position if it has data, from 1 on.
    repairs: Vec<(Repair, Option<u64>)>,
    /// Time at which the link began to send its last packet, and the longest time between two.
    served: Option<Instant>,
    gap: Nanos,
    /// Begin of the last event of losses, and the time of the last repair by an ACK.
    event: Option<Instant>,
    repaired: Option<Instant>,
}

/// Record of a run.
#[derive(Debug)]
pub(super) struct Repairs {
    mss: u32,
    /// Open connections by number.
    connections: BTreeMap<u32, Connection>,
    /// Retransmissions of both directions, of connections that are over.
    pub(super) repairs: Vec<Repair>,
    /// Number of connections that are over.
    pub(super) ended: u64,
    /// SYNs at the queue under test: those sent first, and those sent again.
    pub(super) first_syns: Fate,
    pub(super) later_syns: Fate,
    /// Packets at the queue under test without data.
    pub(super) without_data: u64,
    /// Longest time between two packets on the link, of each connection of more than 100 segments that is over.
    pub(super) gaps: Vec<Nanos>,
    /// Bytes in the queue under test.
    backlog: u64,
    /// RED's lower threshold in bytes; 0 with other schemes.
    threshold: u64,
    /// Packets lost at the queue under test; those that found it shorter than the threshold, and the SYNs among these.
    pub(super) lost: u64,
    pub(super) lost_below: u64,
    pub(super) syns_lost_below: u64,
    /// Number of the present slice, and the bits of SYNs that arrived in it.
    slice: (u64, u64),
    most_syn_bits: u64,
    /// Events: losses of data of a connection within a round trip of the first of them.
    pub(super) events: u64,
    /// Data packets, in all and within two round trips after a loss was repaired.
    pub(super) data: Fate,
    pub(super) data_after: Fate,
}

impl Repairs {
    /// Bits per second of SYNs in the slice with most of them.
    pub(super) fn syn_rate_bps(&self) -> f64 {
        self.most_syn_bits as f64 / SLICE.as_secs_f64()
    }

    /// Loss of SYNs, sent first or again.
    pub(super) fn syn_loss(&self) -> Option<f64> {
        let [first, later] = [self.first_syns, self.later_syns];
        Fate { offered: first.offered + later.offered, lost: first.lost + later.lost }.loss()
    }

    /// Retransmissions that `which` accepts.
    pub(super) fn count(&self, which: impl Fn(&Repair) -> bool) -> f64 {
        self.repairs.iter().filter(|repair| which(repair)).count() as f64
    }

    /// Mean wait in seconds of the retransmissions that `which` accepts.
    pub(super) fn mean_wait(&self, which: impl Fn(&Repair) -> bool) -> Option<f64> {
        let waits = self.repairs.iter().filter(|repair| which(repair));
        let waits: Vec<f64> = waits.map(|repair| repair.wait.as_secs_f64()).collect();
        (!waits.is_empty()).then(|| waits.iter().sum::<f64>() / waits.len() as f64)
    }
}

/// The end of a connection that sends in `direction`, and the distance of a packet from that end's SYN.
fn place(connection: &mut Connection, direction: Direction, packet: &Packet) -> (usize, u32) {
    let forward = *connection.forward.get_or_insert(direction);
    let end = usize::from(forward != direction);
    let segment = packet.segment();
    let initial = *connection.ends[end].initial.get_or_insert(segment.seq.0);
    (end, segment.seq.0.wrapping_sub(initial))
}

/// Whether `now` is within two round trips after a repair.
fn follows(repaired: Option<Instant>, now: Instant) -> bool {
    repaired.is_some_and(|repaired| now - repaired <= ROUND_TRIP * 2)
}

impl Observation for Repairs {
    fn of(run: &RunSpec<'_>) -> Repairs {
        // As `tc` derives it: a twelfth of the limit.
        let red = run.scheme.scheme().name == "red";
        let options = run.scheme.options();
        Repairs {
            mss: u32::from(run.scenario.profile.mss),
            connections: BTreeMap::new(),
            repairs: Vec::new(),
            ended: 0,
            first_syns: Fate::default(),
            later_syns: Fate::default(),
            without_data: 0,
            gaps: Vec::new(),
            backlog: 0,
            threshold: if red { options.size("limit") / 12 } else { 0 },
            lost: 0,
            lost_below: 0,
            syns_lost_below: 0,
            slice: (0, 0),
            most_syn_bits: 0,
            events: 0,
            data: Fate::default(),
            data_after: Fate::default(),
        }
    }
}

impl Tap for Repairs {
    fn offered(&mut self, now: Instant, direction: Direction, packet: &Packet) {
        let Some(number) = packet.connection() else {
            return;
        };
        let segment = *packet.segment();
        let connection = self.connections.entry(number).or_default();
        let (end, distance) = place(connection, direction, packet);
        let sender = &mut connection.ends[end];
        let timer = sender.timer == Some(now);
        let mut again = false;
        if segment.seq_len() > 0 {
            let copy = Copy { at: now, lost: false, timer };
            if let Some(before) = sender.copies.insert(distance, copy) {
                again = true;
                let kind = match segment.flags {
                    flags if flags.contains(Flags::SYN) => Kind::Syn,
                    flags if flags.contains(Flags::FIN) => Kind::Fin,
                    _ => Kind::Middle,
                };
                let repair =
                    Repair { kind, lost: before.lost, timer, after_timer: before.timer, wait: now - before.at };
                let position = u64::from(distance.saturating_sub(1) / self.mss) + 1;
                let position = (kind == Kind::Middle).then_some(position);
                connection.repairs.push((repair, position));
                if kind == Kind::Middle && !timer {
                    connection.repaired = Some(now);
                }
            }
        }
        if direction != Direction::Down {
            return;
        }
        self.backlog += u64::from(packet.bytes());
        self.without_data += u64::from(segment.len == 0);
        if segment.len > 0 {
            self.data.offered();
            if follows(connection.repaired, now) {
                self.data_after.offered();
            }
        }
        if packet.class() == Class::Syn {
            match again {
                false => self.first_syns.offered(),
                true => self.later_syns.offered(),
            }
            let slice = now.0 / SLICE.0;
            if self.slice.0 != slice {
                self.slice = (slice, 0);
            }
            self.slice.1 += 8 * u64::from(packet.bytes());
            self.most_syn_bits = self.most_syn_bits.max(self.slice.1);
        }
    }

    fn dequeued(&mut self, now: Instant, direction: Direction, packet: &Packet) {
        if direction != Direction::Down {
            return;
        }
        self.backlog -= u64::from(packet.bytes());
        let connection = packet.connection();
        let connection = connection.and_then(|number| self.connections.get_mut(&number));
        if let Some(connection) = connection
            && let Some(served) = connection.served.replace(now)
        {
            connection.gap = connection.gap.max(now - served);
        }
    }

    fn dropped(&mut self, now: Instant, direction: Direction, packet: &Packet, cause: DropCause) {
        let syn = packet.class() == Class::Syn;
        let mut again = false;
        let number = packet.connection();
        if let Some(connection) = number.and_then(|number| self.connections.get_mut(&number)) {
            let (end, distance) = place(connection, direction, packet);
            if let Some(copy) = connection.ends[end].copies.get_mut(&distance) {
                copy.lost = true;
            }
            again = syn && connection.repairs.iter().any(|(repair, _)| repair.kind == Kind::Syn);
        }
        // A packet that is lost behind the queue has left it.
        if direction != Direction::Down || !matches!(cause, DropCause::Queue(_)) {
            return;
        }
        self.backlog -= u64::from(packet.bytes());
        self.lost += 1;
        let connection = number.and_then(|number| self.connections.get_mut(&number));
        if let Some(connection) = connection.filter(|_| packet.segment().len > 0) {
            self.data.lost += 1;
            self.data_after.lost += u64::from(follows(connection.repaired, now));
            if connection.event.is_none_or(|event| now - event > ROUND_TRIP) {
                connection.event = Some(now);
                self.events += 1;
            }
        }
        if self.backlog < self.threshold {
            self.lost_below += 1;
            self.syns_lost_below += u64::from(syn);
        }
        if syn {
            match again {
                false => self.first_syns.lost += 1,
                true => self.later_syns.lost += 1,
            }
        }
    }

    fn timer(&mut self, now: Instant, connection: u32, responder: bool) {
        if let Some(connection) = self.connections.get_mut(&connection) {
            connection.ends[usize::from(responder)].timer = Some(now);
        }
    }

    fn ended(&mut self, _: Instant, ended: &Ended) {
        let Some(connection) = self.connections.remove(&ended.connection) else {
            return;
        };
        self.ended += 1;
        let tail = ended.segments.map(|segments| segments.saturating_sub(TAIL));
        let repairs = connection.repairs.into_iter();
        self.repairs.extend(repairs.map(|(mut repair, position)| {
            if position.zip(tail).is_some_and(|(position, tail)| position > tail) {
                repair.kind = Kind::Tail;
            }
            repair
        }));
        if ended.segments.is_some_and(|segments| segments > 100) {
            self.gaps.push(connection.gap);
        }
    }
}
