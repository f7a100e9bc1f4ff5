//! What happens to each flow, for what run records do not hold.

use crate::Observation;
use gentle_experiment::{Class, Direction, RunSpec};
use gentle_sim::{DropCause, Packet, Tap};
use gentle_tcp::{Flags, Seq};
use gentle_units::Instant;

/// Counts of the link under test and the fate of each flow, after the warm-up.
#[derive(Debug)]
pub(super) struct Flows {
    warmup: Instant,
    end: Instant,
    mss: u32,
    long: usize,
    /// State of each connection, by its number.
    connections: Vec<Connection>,
    /// Packets offered to the queue.
    pub(super) offered: u64,
    /// Packets that the queue dropped.
    pub(super) dropped: u64,
    /// SYNs and SYN/ACKs among them.
    pub(super) dropped_syns: u64,
    /// SYNs and SYN/ACKs among them that found no packet in the queue.
    pub(super) dropped_syns_at_empty: u64,
    /// Packets in the queue.
    queued: u64,
    /// Positions in their flows of the dropped SYNs (0) and data packets (from 1 on).
    pub(super) positions: Vec<u32>,
    /// Completion times in seconds of the connections that began after the warm-up.
    pub(super) times: Vec<f64>,
}

#[derive(Debug, Default, Clone, Copy)]
struct Connection {
    /// Time of the first SYN.
    began: Option<Instant>,
    /// Sequence number of the SYN of the end that sends the data.
    initial: Option<Seq>,
    /// Acknowledgement number that covers the FIN.
    fin: Option<Seq>,
    completed: bool,
    /// Bytes delivered in order or not, without duplicates of the highest: at the end of the warm-up, and so far.
    before: u32,
    delivered: u32,
}

impl Flows {
    /// Goodput of each long-lived flow in bits per second, the shortest round-trip time first.
    pub(super) fn long_goodput_bps(&self) -> Vec<f64> {
        let seconds = (self.end - self.warmup).as_secs_f64();
        let long = self.connections.iter().take(self.long).rev();
        long.map(|flow| f64::from(flow.delivered - flow.before) * 8.0 / seconds)
            .collect()
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
        Flows {
            warmup: run.scenario.measures_from(),
            end: run.scenario.stops_at(),
            mss: u32::from(run.scenario.profile.mss),
            long: run.scenario.long_flows(Direction::Down) as usize,
            connections: Vec::new(),
            offered: 0,
            dropped: 0,
            dropped_syns: 0,
            dropped_syns_at_empty: 0,
            queued: 0,
            positions: Vec::new(),
            times: Vec::new(),
        }
    }
}

impl Tap for Flows {
    fn offered(&mut self, now: Instant, direction: Direction, packet: &Packet) {
        if direction == Direction::Down {
            self.queued += 1;
            self.offered += u64::from(now >= self.warmup);
        }
        if !packet.segment().flags.contains(Flags::SYN) {
            return;
        }
        let seq = packet.segment().seq;
        if let Some(connection) = self.connection(packet) {
            connection.began.get_or_insert(now);
            if direction == Direction::Down {
                connection.initial = Some(seq);
            }
        }
    }

    fn dropped(&mut self, now: Instant, direction: Direction, packet: &Packet, _: DropCause) {
        if direction != Direction::Down {
            return;
        }
        self.queued -= 1;
        if now < self.warmup {
            return;
        }
        self.dropped += 1;
        let mss = self.mss;
        match packet.class() {
            Class::Syn | Class::SynAck => {
                self.dropped_syns += 1;
                self.dropped_syns_at_empty += u64::from(self.queued == 0);
                self.positions.push(0);
            }
            Class::Data => {
                let seq = packet.segment().seq;
                let initial = self
                    .connection(packet)
                    .and_then(|connection| connection.initial);
                if let Some(initial) = initial {
                    let byte = seq.0.wrapping_sub(initial.0).wrapping_sub(1);
                    self.positions.push(byte / mss + 1);
                }
            }
            Class::Other => {}
        }
    }

    fn dequeued(&mut self, _: Instant, direction: Direction, _: &Packet) {
        if direction == Direction::Down {
            self.queued -= 1;
        }
    }

    fn delivered(&mut self, now: Instant, direction: Direction, packet: &Packet) {
        let segment = *packet.segment();
        let (warmup, end) = (self.warmup, self.end);
        let Some(connection) = self.connection(packet) else {
            return;
        };
        match direction {
            Direction::Down => {
                let Some(initial) = connection.initial else {
                    return;
                };
                if segment.flags.contains(Flags::FIN) {
                    connection.fin = Some(Seq(segment.seq.0.wrapping_add(segment.seq_len())));
                }
                if segment.len > 0 && now < end {
                    let last = segment.seq.0.wrapping_add(segment.len);
                    let bytes = last.wrapping_sub(initial.0).wrapping_sub(1);
                    connection.delivered = connection.delivered.max(bytes);
                    if now < warmup {
                        connection.before = connection.delivered;
                    }
                }
            }
            Direction::Up => {
                let Some((began, fin)) = connection.began.zip(connection.fin) else {
                    return;
                };
                if !connection.completed
                    && segment.flags.contains(Flags::ACK)
                    && segment.ack.distance(fin) >= 0
                {
                    connection.completed = true;
                    if began >= warmup {
                        self.times.push((now - began).as_secs_f64());
                    }
                }
            }
        }
    }
}
