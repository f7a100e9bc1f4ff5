//! The tap of a session: collects events as rows of numbers, and sums and curves.

use crate::event::{self, AGAIN, Kind, ROW, Shape};
use crate::history::Follower;
use crate::lookout::{Lookout, Seen};
use crate::meter::Meter;
use gentle_aqm::Packet as _;
use gentle_experiment::{Class, Direction, Ending};
use gentle_sim::{DropCause, Ended, Packet, Tap};
use gentle_units::Instant;
use std::collections::HashMap;

/// Most rows kept until they are taken.
const MOST_ROWS: usize = 40_000;
/// Most connections whose sequence numbers are kept.
const MOST_CONNECTIONS: usize = 100_000;

/// Sequence numbers of a connection, by direction.
#[derive(Debug, Clone, Copy, Default)]
struct Sequence {
    /// First number; known once the SYN was seen.
    first: [Option<u32>; 2],
    /// Number after the last one sent.
    next: [u32; 2],
}

/// Events, sums and curves of a session.
#[derive(Debug)]
pub struct Watcher {
    /// Whether events are collected.
    details: bool,
    rows: Vec<f64>,
    /// Events that were not kept because too many were not taken.
    missed: u64,
    /// Numbers and kinds of the packets under way, by their address, which is theirs as long as they are.
    packets: HashMap<usize, (u32, u8)>,
    next_packet: u32,
    sequences: HashMap<u32, Sequence>,
    /// The connection whose life is collected.
    follower: Option<Follower>,
    lookout: Option<Lookout>,
    /// Sums and curves.
    pub(crate) meter: Meter,
    /// Packets offered, sent, dropped and delivered: what a page steps by.
    pub(crate) events_seen: u64,
}

impl Watcher {
    pub(crate) fn new(meter: Meter) -> Watcher {
        Watcher {
            details: false,
            rows: Vec::new(),
            missed: 0,
            packets: HashMap::new(),
            next_packet: 0,
            sequences: HashMap::new(),
            follower: None,
            lookout: None,
            meter,
            events_seen: 0,
        }
    }

    /// Collects events from now on, or no more. Packets that are under way when collecting begins are not shown.
    pub(crate) fn set_details(&mut self, details: bool) {
        if details != self.details {
            self.details = details;
            self.packets.clear();
            self.sequences.clear();
            self.rows.clear();
        }
    }

    /// Collects the life of a connection.
    pub(crate) fn follow(&mut self, follower: Follower) {
        self.follower = Some(follower);
    }

    /// The collector of one connection's life, if a connection is followed.
    pub(crate) fn follower(&self) -> Option<&Follower> {
        self.follower.as_ref()
    }

    /// Looks out for a sight.
    pub(crate) fn look_out(&mut self, lookout: Lookout) {
        self.lookout = Some(lookout);
    }

    /// Sight that the lookout has found.
    pub(crate) fn seen(&self) -> Option<Seen> {
        self.lookout.as_ref().and_then(Lookout::seen)
    }

    /// Takes the rows collected so far ([`ROW`]).
    pub(crate) fn take(&mut self) -> Vec<f64> {
        std::mem::take(&mut self.rows)
    }

    fn row(&mut self, row: [f64; ROW]) {
        if self.rows.len() < MOST_ROWS * ROW {
            self.rows.extend(row);
        } else {
            self.missed += 1;
        }
    }

    /// A packet that was offered before.
    fn known(&mut self, kind: Kind, now: Instant, packet: &Packet, detail: f64) {
        let place = std::ptr::from_ref(packet).addr();
        let Some((number, shape)) = self.packets.get(&place).copied() else {
            return;
        };
        if matches!(kind, Kind::Dropped | Kind::Delivered) {
            self.packets.remove(&place);
        }
        self.packet_row(kind, now, packet, number, shape, detail);
    }

    fn packet_row(&mut self, kind: Kind, now: Instant, packet: &Packet, number: u32, shape: u8, detail: f64) {
        self.row([
            f64::from(kind as u8),
            now.as_secs_f64(),
            event::side(packet.direction()),
            f64::from(number),
            packet.connection().map_or(-1.0, f64::from),
            f64::from(shape),
            f64::from(packet.bytes()),
            detail,
        ]);
    }

    /// Kind of an offered packet, and its first sequence number relative to that of its SYN.
    fn classify(&mut self, packet: &Packet) -> (u8, u32) {
        let segment = packet.segment();
        let Some(connection) = packet.connection() else {
            return (event::shape(packet, 0) as u8, 0);
        };
        if self.sequences.len() >= MOST_CONNECTIONS && !self.sequences.contains_key(&connection) {
            self.sequences.clear();
        }
        let known = self.sequences.entry(connection).or_default();
        let side = packet.direction().index();
        let is_syn = matches!(packet.class(), Class::Syn | Class::SynAck);
        let start = segment.seq.0;
        // A connection that began before collecting did: as if it were old.
        let first = match known.first[side] {
            Some(first) => first,
            None if is_syn => start,
            None => start.wrapping_sub(u32::MAX / 4),
        };
        let offset = start.wrapping_sub(first);
        let occupies = segment.len + u32::from(is_syn);
        let end = offset.wrapping_add(occupies);
        let again = occupies > 0 && known.first[side].is_some() && end <= known.next[side];
        if known.first[side].is_none() {
            known.first[side] = Some(first);
        }
        known.next[side] = known.next[side].max(end);
        let shape = event::shape(packet, offset.saturating_sub(1)) as u8;
        (shape + if again { AGAIN } else { 0 }, offset)
    }
}

impl Tap for Watcher {
    fn offered(&mut self, now: Instant, direction: Direction, packet: &Packet) {
        if let Some(follower) = &mut self.follower {
            follower.offered(now, direction, packet);
        }
        if let Some(lookout) = &mut self.lookout {
            lookout.offered(now, direction, packet);
        }
        self.events_seen += 1;
        self.meter.offered(now, direction, packet);
        if self.details {
            let (shape, offset) = self.classify(packet);
            let number = self.next_packet;
            self.next_packet = number.wrapping_add(1);
            let place = std::ptr::from_ref(packet).addr();
            self.packets.insert(place, (number, shape));
            self.packet_row(Kind::Offered, now, packet, number, shape, f64::from(offset));
        }
    }

    fn dequeued(&mut self, now: Instant, direction: Direction, packet: &Packet) {
        if let Some(lookout) = &mut self.lookout {
            lookout.dequeued(now, direction, packet);
        }
        self.events_seen += 1;
        self.meter.dequeued(now, direction, packet);
        if self.details {
            let sojourn = now.saturating_since(packet.arrived()).as_secs_f64();
            self.known(Kind::Dequeued, now, packet, sojourn);
        }
    }

    fn marked(&mut self, now: Instant, direction: Direction, packet: &Packet) {
        self.meter.marked(direction);
        if self.details {
            self.known(Kind::Marked, now, packet, 0.0);
        }
    }

    fn sent(&mut self, now: Instant, _: Direction, packet: &Packet) {
        if self.details {
            self.known(Kind::Sent, now, packet, 0.0);
        }
    }

    fn dropped(&mut self, now: Instant, direction: Direction, packet: &Packet, cause: DropCause) {
        if let Some(follower) = &mut self.follower {
            follower.dropped(now, direction, packet, cause);
        }
        if let Some(lookout) = &mut self.lookout {
            lookout.dropped(now, direction, packet, cause);
        }
        self.events_seen += 1;
        self.meter.dropped(now, direction, packet);
        if self.details {
            let cause = event::cause(cause) as f64;
            self.known(Kind::Dropped, now, packet, cause);
        }
    }

    fn delivered(&mut self, now: Instant, direction: Direction, packet: &Packet) {
        if let Some(follower) = &mut self.follower {
            follower.delivered(now, direction, packet);
        }
        self.events_seen += 1;
        if self.details {
            self.known(Kind::Delivered, now, packet, 0.0);
        }
    }

    fn timer(&mut self, now: Instant, connection: u32, responder: bool) {
        if let Some(follower) = &mut self.follower {
            follower.timer(now, connection, responder);
        }
        if self.details {
            let shape = f64::from(Shape::Syn as u8);
            let end = f64::from(u8::from(responder));
            let kind = f64::from(Kind::Timer as u8);
            let at = now.as_secs_f64();
            self.row([kind, at, 0.0, end, f64::from(connection), shape, 0.0, 0.0]);
        }
    }

    fn ended(&mut self, now: Instant, ended: &Ended) {
        if let Some(follower) = &mut self.follower {
            follower.ended(now, ended);
        }
        self.meter.ended(ended);
        self.sequences.remove(&ended.connection);
        if self.details {
            let (outcome, time) = match ended.ending {
                Ending::Completed(time) => (0.0, time.as_secs_f64()),
                Ending::Failed => (1.0, 0.0),
                Ending::Unfinished => (2.0, 0.0),
            };
            let segments = ended.segments.unwrap_or_default() as f64;
            let kind = f64::from(Kind::Ended as u8);
            let connection = f64::from(ended.connection);
            self.row([kind, now.as_secs_f64(), 0.0, segments, connection, outcome, 0.0, time]);
        }
    }
}
