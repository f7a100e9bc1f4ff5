//! The life of one connection of a session, found by running the session again.

use crate::event;
use gentle_experiment::{Class, Direction, Ending};
use gentle_sim::{DropCause, Ended, Packet, Tap};
use gentle_units::{Instant, Nanos};
use serde::Serialize;

/// Most moments of a connection that are kept.
const MOST: usize = 20_000;

/// A packet of the connection: when it reached the queue, and what became of it.
#[derive(Debug, Clone, Serialize)]
pub struct Moment {
    /// When the packet was offered to its queue, seconds.
    pub at_s: f64,
    /// Direction: 0 down, 1 up.
    pub side: usize,
    /// `syn`, `syn/ack`, `data`, `ack` or `fin`.
    pub kind: &'static str,
    /// First sequence number relative to the SYN's, bytes.
    pub seq: u32,
    /// Payload, bytes.
    pub length: u32,
    /// Acknowledgement number relative to the SYN of the other side, bytes.
    pub ack: Option<u32>,
    /// Whether the same bytes were sent before.
    pub again: bool,
    /// When it reached the other host, seconds.
    pub delivered_s: Option<f64>,
    /// When it was dropped, seconds.
    pub dropped_s: Option<f64>,
    /// Why it was dropped.
    pub cause: Option<&'static str>,
    /// Of a dropped packet: time until the same bytes were sent again, seconds.
    pub cost_s: Option<f64>,
    #[serde(skip)]
    place: usize,
    #[serde(skip)]
    absolute: u32,
}

/// A connection.
#[derive(Debug, Clone, Default, Serialize)]
pub struct History {
    /// Packets in the order in which they reached their queues.
    pub moments: Vec<Moment>,
    /// Times at which a timer of an end point fired and something was sent again, seconds; whether it is the responder's.
    pub timers: Vec<(f64, bool)>,
    /// Whether more happened than is kept.
    pub cut: bool,
    /// Size in segments; `None`: not over, or long-lived.
    pub segments: Option<u64>,
    /// Time from the first SYN to completion, seconds.
    pub response_s: Option<f64>,
    /// Time from the first SYN until the initiator could send data, seconds.
    pub handshake_s: Option<f64>,
    /// Whether it is over, and how: `completed`, `failed`, `unfinished`.
    pub outcome: Option<&'static str>,
}

/// Collects the packets of one connection.
#[derive(Debug)]
pub(crate) struct Follower {
    connection: u32,
    first: [Option<u32>; 2],
    next: [u32; 2],
    history: History,
    fired: Option<(Instant, bool)>,
}

impl Follower {
    pub(crate) fn new(connection: u32) -> Follower {
        Follower { connection, first: [None; 2], next: [0; 2], history: History::default(), fired: None }
    }

    /// The life of the followed connection up to now.
    pub(crate) fn history(&self) -> &History {
        &self.history
    }

    fn find(&mut self, packet: &Packet) -> Option<&mut Moment> {
        if packet.connection() != Some(self.connection) {
            return None;
        }
        let place = std::ptr::from_ref(packet).addr();
        let moments = self.history.moments.iter_mut().rev();
        let mut open = moments.filter(|m| m.delivered_s.is_none() && m.dropped_s.is_none());
        open.find(|moment| moment.place == place)
    }
}

impl Tap for Follower {
    fn offered(&mut self, now: Instant, direction: Direction, packet: &Packet) {
        if packet.connection() != Some(self.connection) {
            return;
        }
        if self.history.moments.len() >= MOST {
            self.history.cut = true;
            return;
        }
        let side = direction.index();
        let segment = packet.segment();
        let first = *self.first[side].get_or_insert(segment.seq.0);
        let seq = segment.seq.0.wrapping_sub(first);
        let is_syn = matches!(packet.class(), Class::Syn | Class::SynAck);
        let occupies = segment.len + u32::from(is_syn);
        let end = seq.wrapping_add(occupies);
        let again = occupies > 0 && end <= self.next[side];
        self.next[side] = self.next[side].max(end);
        let kind = match event::shape(packet, 0) {
            event::Shape::Syn => "syn",
            event::Shape::SynAck => "syn/ack",
            event::Shape::Ack => "ack",
            event::Shape::End => "fin",
            _ => "data",
        };
        let at_s = now.as_secs_f64();
        if let Some((at, responder)) = self.fired.take()
            && again
            && now.saturating_since(at) < Nanos::from_millis(1)
        {
            self.history.timers.push((at.as_secs_f64(), responder));
        }
        if again {
            let lost = self
                .history
                .moments
                .iter_mut()
                .filter(|moment| moment.side == side && moment.dropped_s.is_some() && moment.cost_s.is_none());
            let absolute = segment.seq.0;
            let covers =
                |moment: &&mut Moment| moment.absolute.wrapping_sub(absolute) < occupies.max(1) && moment.kind != "ack";
            for moment in lost.filter(covers) {
                moment.cost_s = Some(at_s - moment.at_s);
            }
        }
        let ack = self.first[1 - side].map(|other| segment.ack.0.wrapping_sub(other));
        self.history.moments.push(Moment {
            at_s,
            side,
            kind,
            seq,
            length: segment.len,
            ack: ack.filter(|_| !matches!(packet.class(), Class::Syn)),
            again,
            delivered_s: None,
            dropped_s: None,
            cause: None,
            cost_s: None,
            place: std::ptr::from_ref(packet).addr(),
            absolute: segment.seq.0,
        });
    }

    fn dropped(&mut self, now: Instant, _: Direction, packet: &Packet, cause: DropCause) {
        if let Some(moment) = self.find(packet) {
            moment.dropped_s = Some(now.as_secs_f64());
            moment.cause = Some(cause.name());
        }
    }

    fn delivered(&mut self, now: Instant, _: Direction, packet: &Packet) {
        if let Some(moment) = self.find(packet) {
            moment.delivered_s = Some(now.as_secs_f64());
        }
    }

    fn timer(&mut self, now: Instant, connection: u32, responder: bool) {
        if connection == self.connection {
            self.fired = Some((now, responder));
        }
    }

    fn ended(&mut self, _: Instant, ended: &Ended) {
        if ended.connection != self.connection {
            return;
        }
        self.history.segments = ended.segments;
        self.history.handshake_s = ended.handshake.map(Nanos::as_secs_f64);
        self.history.outcome = Some(match ended.ending {
            Ending::Completed(time) => {
                self.history.response_s = Some(time.as_secs_f64());
                "completed"
            }
            Ending::Failed => "failed",
            Ending::Unfinished => "unfinished",
        });
    }
}
