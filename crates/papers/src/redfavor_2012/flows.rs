//! Events of each flow, for quantities that run records do not have.

use crate::Observation;
use gentle_aqm::Packet as _;
use gentle_experiment::{Class, Direction, Ending, RunSpec};
use gentle_sim::{DropCause, Ended, Packet, Tap};
use gentle_tcp::{Flags, Seq};
use gentle_units::{Instant, Rate};

/// Counts of the link under test and the fate of each flow, after the warm-up. SYNs are all packets with that flag, also
/// SYN/ACKs and the SYNs of a flood; the paper calls the others standard packets.
#[derive(Debug)]
pub(super) struct Flows {
    warmup: Instant,
    end: Instant,
    rate: Rate,
    mss: u32,
    long: usize,
    /// State of each connection, by its number.
    connections: Vec<Connection>,
    /// SYNs, and standard packets.
    pub(super) syns: Kind,
    pub(super) standard: Kind,
    /// Dropped SYNs that found no packet in the queue, and those that found a standard packet.
    pub(super) dropped_syns_at_empty: u64,
    pub(super) dropped_syns_despite_data: u64,
    /// Largest number of SYNs in the queue.
    pub(super) most_syns: u64,
    /// Positions in their flows of the dropped SYNs (0) and data packets (from 1 on).
    pub(super) positions: Vec<u32>,
    /// Times from the drop of a data packet to its retransmission.
    pub(super) recovery: Mean,
    /// Bytes of datagrams that reached the other side.
    datagram_bytes: u64,
    /// Completed requests that began after the warm-up.
    pub(super) requests: Vec<Request>,
}

/// Packets of a kind at the queue of the link under test.
#[derive(Debug, Default)]
pub(super) struct Kind {
    /// Packets offered to the queue.
    pub(super) offered: u64,
    /// Packets that the queue dropped.
    pub(super) dropped: u64,
    /// Packets in the queue.
    queued: u64,
    /// Packets and bytes that the link sent.
    pub(super) sent: u64,
    pub(super) sent_bytes: u64,
    /// Times in the queue.
    pub(super) wait: Mean,
}

/// Sum of times in seconds, and their number.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Mean {
    sum_s: f64,
    number: u64,
}

impl Mean {
    fn add(&mut self, seconds: f64) {
        self.sum_s += seconds;
        self.number += 1;
    }

    /// The mean in seconds; not a number without a time.
    pub(super) fn seconds(self) -> f64 {
        self.sum_s / self.number as f64
    }
}

/// A completed request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Request {
    /// Size in full segments.
    pub(super) packets: u64,
    /// Completion time of section IV.A: from the server's first packet to the client's receipt of the last, seconds.
    pub(super) time: f64,
    /// Time from the first SYN until the end that connects may send data, seconds.
    pub(super) handshake: f64,
    /// A SYN or SYN/ACK was dropped.
    pub(super) lost_syn: bool,
    /// A SYN was sent again.
    pub(super) repeated_syn: bool,
}

#[derive(Debug, Default, Clone)]
struct Connection {
    /// Sequence number of the SYN of the end that sends the data.
    initial: Option<Seq>,
    /// SYNs without ACK that were offered to a queue.
    syns: u32,
    lost_syn: bool,
    /// Data packets that were dropped and not sent again yet.
    missing: Vec<(Seq, Instant)>,
    /// Data packets that have arrived, by their numbers, and the last arrival of a new one. Not of long-lived connections.
    arrived: Vec<bool>,
    last: Option<Instant>,
    /// Bytes delivered in order or not, without duplicates of the highest: at the end of the warm-up, and so far.
    before: u32,
    delivered: u32,
}

impl Flows {
    /// Goodput of each long-lived flow in bits per second, the shortest round-trip time first.
    pub(super) fn long_goodput_bps(&self) -> Vec<f64> {
        let seconds = (self.end - self.warmup).as_secs_f64();
        let long = self.connections.iter().take(self.long).rev();
        long.map(|flow| f64::from(flow.delivered - flow.before) * 8.0 / seconds).collect()
    }

    /// Rate of all datagrams in bits per second.
    pub(super) fn datagrams_bps(&self) -> f64 {
        self.datagram_bytes as f64 * 8.0 / (self.end - self.warmup).as_secs_f64()
    }

    /// Part of the link's rate that was used.
    pub(super) fn utilization(&self) -> f64 {
        let bits = (self.syns.sent_bytes + self.standard.sent_bytes) as f64 * 8.0;
        bits / (self.end - self.warmup).as_secs_f64() / self.rate.bits_per_second() as f64
    }

    /// Packets that were offered to the queue.
    pub(super) fn offered(&self) -> u64 {
        self.syns.offered + self.standard.offered
    }

    /// Packets that the queue dropped.
    pub(super) fn dropped(&self) -> u64 {
        self.syns.dropped + self.standard.dropped
    }

    fn kind(&mut self, packet: &Packet) -> &mut Kind {
        match packet.segment().flags.contains(Flags::SYN) {
            true => &mut self.syns,
            false => &mut self.standard,
        }
    }

    fn connection(&mut self, packet: &Packet) -> Option<&mut Connection> {
        let number = packet.connection()? as usize;
        if number >= self.connections.len() {
            self.connections.resize(number + 1, Connection::default());
        }
        self.connections.get_mut(number)
    }
}

impl Observation for Flows {
    /// The first `long` connections of the run are the long-lived ones on the link under test.
    fn of(run: &RunSpec<'_>) -> Flows {
        let scenario = run.scenario;
        Flows {
            warmup: scenario.measures_from(),
            end: scenario.stops_at(),
            rate: scenario.links[0].rate,
            mss: u32::from(scenario.profile.mss),
            long: scenario.long_flows(Direction::Down) as usize,
            connections: Vec::new(),
            syns: Kind::default(),
            standard: Kind::default(),
            dropped_syns_at_empty: 0,
            dropped_syns_despite_data: 0,
            most_syns: 0,
            positions: Vec::new(),
            recovery: Mean::default(),
            datagram_bytes: 0,
            requests: Vec::new(),
        }
    }
}

impl Tap for Flows {
    fn offered(&mut self, now: Instant, direction: Direction, packet: &Packet) {
        let segment = *packet.segment();
        let measured = now >= self.warmup;
        if direction == Direction::Down {
            let kind = self.kind(packet);
            kind.queued += 1;
            kind.offered += u64::from(measured);
            if measured {
                self.most_syns = self.most_syns.max(self.syns.queued);
            }
        }
        let Some(connection) = self.connection(packet) else {
            return;
        };
        if segment.flags.contains(Flags::SYN) {
            connection.syns += u32::from(!segment.flags.contains(Flags::ACK));
            if direction == Direction::Down {
                connection.initial = Some(segment.seq);
            }
        } else if direction == Direction::Down
            && let Some(index) = (connection.missing.iter()).position(|(seq, _)| *seq == segment.seq)
            && segment.len > 0
        {
            let (_, dropped) = connection.missing.swap_remove(index);
            if measured {
                self.recovery.add((now - dropped).as_secs_f64());
            }
        }
    }

    fn dropped(&mut self, now: Instant, direction: Direction, packet: &Packet, _: DropCause) {
        let (mss, is_syn) = (self.mss, packet.segment().flags.contains(Flags::SYN));
        if let Some(connection) = self.connection(packet) {
            connection.lost_syn |= is_syn;
        }
        if direction != Direction::Down {
            return;
        }
        let measured = now >= self.warmup;
        let kind = self.kind(packet);
        kind.queued -= 1;
        kind.dropped += u64::from(measured);
        if is_syn && measured {
            let standard = self.standard.queued > 0;
            self.dropped_syns_despite_data += u64::from(standard);
            self.dropped_syns_at_empty += u64::from(!standard && self.syns.queued == 0);
        }
        match packet.class() {
            Class::Syn | Class::SynAck if measured => self.positions.push(0),
            Class::Data => {
                let seq = packet.segment().seq;
                let Some(connection) = self.connection(packet) else {
                    return;
                };
                connection.missing.push((seq, now));
                if let Some(initial) = connection.initial.filter(|_| measured) {
                    let byte = seq.0.wrapping_sub(initial.0).wrapping_sub(1);
                    self.positions.push(byte / mss + 1);
                }
            }
            _ => {}
        }
    }

    fn dequeued(&mut self, now: Instant, direction: Direction, packet: &Packet) {
        if direction != Direction::Down {
            return;
        }
        let measured = (self.warmup..self.end).contains(&now);
        let kind = self.kind(packet);
        kind.queued -= 1;
        if measured {
            kind.sent += 1;
            kind.sent_bytes += u64::from(packet.bytes());
            kind.wait.add((now - packet.arrived()).as_secs_f64());
        }
    }

    fn delivered(&mut self, now: Instant, direction: Direction, packet: &Packet) {
        let segment = *packet.segment();
        let (warmup, end, mss, long) = (self.warmup, self.end, self.mss, self.long);
        if direction != Direction::Down {
            return;
        }
        if packet.is_udp() && !packet.is_of_flood() && (warmup..end).contains(&now) {
            self.datagram_bytes += u64::from(packet.bytes());
        }
        let is_long = packet.connection().is_some_and(|number| (number as usize) < long);
        let Some(connection) = self.connection(packet) else {
            return;
        };
        let Some(initial) = connection.initial.filter(|_| segment.len > 0) else {
            return;
        };
        let first = segment.seq.0.wrapping_sub(initial.0).wrapping_sub(1);
        if now < end {
            connection.delivered = connection.delivered.max(first + segment.len);
            if now < warmup {
                connection.before = connection.delivered;
            }
        }
        if !is_long {
            let number = (first / mss) as usize;
            if number >= connection.arrived.len() {
                connection.arrived.resize(number + 1, false);
            }
            if !std::mem::replace(&mut connection.arrived[number], true) {
                connection.last = Some(now);
            }
        }
    }

    fn ended(&mut self, _: Instant, ended: &Ended) {
        let Some(connection) = self.connections.get_mut(ended.connection as usize) else {
            return;
        };
        // Nothing more happens to it.
        connection.arrived = Vec::new();
        connection.missing = Vec::new();
        if ended.started < self.warmup || !matches!(ended.ending, Ending::Completed(_)) {
            return;
        }
        let times = (ended.segments, connection.last, ended.handshake);
        if let (Some(packets), Some(last), Some(handshake)) = times {
            self.requests.push(Request {
                packets,
                time: (last - ended.started).as_secs_f64(),
                handshake: handshake.as_secs_f64(),
                lost_syn: connection.lost_syn,
                repeated_syn: connection.syns > 1,
            });
        }
    }
}
