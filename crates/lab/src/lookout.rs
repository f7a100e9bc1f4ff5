//! The next time at which something worth seeing happens, found by running ahead.

use gentle_aqm::Packet as _;
use gentle_experiment::{Class, Direction};
use gentle_sim::{DropCause, Packet};
use gentle_tcp::Flags;
use gentle_units::{Instant, Nanos};
use serde::Serialize;
use std::collections::{HashMap, VecDeque};

/// Something that happens on the link under test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sight {
    /// The first SYN or SYN/ACK of a connection reaches the queue.
    Handshake,
    /// The queue drops a SYN or SYN/ACK.
    HandshakeDrop,
    /// A FIN leaves the queue while earlier data of its connection wait.
    FinOvertakes,
    /// The queue drops packets of four connections within 200 ms.
    BurstOfDrops,
    /// A SYN of a flood reaches the queue.
    Flood,
    /// A datagram leaves the queue after at least 100 ms.
    LateDatagram,
}

/// Connections whose drops make a burst.
const CROWD: usize = 4;
/// Longest burst of drops: about the largest round-trip time of the built-in scenarios.
const BURST: Nanos = Nanos::from_millis(200);
/// Sojourn time that a call notices: with the rest of the path, more than the 150 ms that ITU-T G.114 recommends.
const LATE: Nanos = Nanos::from_millis(100);

impl Sight {
    /// All sights, and their names on the page.
    pub const NAMED: [(&'static str, Sight); 6] = [
        ("handshake", Sight::Handshake),
        ("handshake-drop", Sight::HandshakeDrop),
        ("fin-overtakes", Sight::FinOvertakes),
        ("burst-of-drops", Sight::BurstOfDrops),
        ("flood", Sight::Flood),
        ("late-datagram", Sight::LateDatagram),
    ];
}

/// When and to which connection it happened.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Seen {
    /// Time, seconds.
    pub at_s: f64,
    /// Number of the connection; `None`: the packet belongs to no connection.
    pub connection: Option<u32>,
}

/// Looks out for a [`Sight`].
#[derive(Debug)]
pub(crate) struct Lookout {
    sight: Sight,
    after: Instant,
    seen: Option<Seen>,
    /// Number after the largest of a connection whose handshake was seen.
    next: u32,
    /// Arrival times of the data that wait, by connection.
    waiting: HashMap<u32, Vec<Instant>>,
    /// A FIN that left while earlier data seemed to wait, and its arrival time: packets that the queue dropped to get at
    /// it are reported after it.
    overtaking: Option<(Seen, Instant)>,
    /// The latest drops.
    drops: VecDeque<(Instant, u32)>,
}

fn is_handshake(packet: &Packet) -> bool {
    matches!(packet.class(), Class::Syn | Class::SynAck)
}

impl Lookout {
    pub(crate) fn new(sight: Sight, after: Instant) -> Lookout {
        Lookout { sight, after, seen: None, next: 0, waiting: HashMap::new(), overtaking: None, drops: VecDeque::new() }
    }

    pub(crate) fn seen(&self) -> Option<Seen> {
        self.seen
    }

    fn see(&mut self, at: Instant, packet: &Packet) {
        if at >= self.after && self.seen.is_none() {
            self.seen = Some(Seen { at_s: at.as_secs_f64(), connection: packet.connection() });
        }
    }

    /// Whether data of a connection wait that arrived no later than its FIN.
    fn has_earlier(&self, connection: Option<u32>, arrived: Instant) -> bool {
        let waiting = connection.and_then(|connection| self.waiting.get(&connection));
        waiting.is_some_and(|times| times.iter().any(|time| *time <= arrived))
    }

    /// Forgets a data packet that waits no longer.
    fn gone(&mut self, packet: &Packet) {
        let Some(connection) = packet.connection() else {
            return;
        };
        if let Some(times) = self.waiting.get_mut(&connection) {
            if let Some(place) = times.iter().position(|time| *time == packet.arrived()) {
                times.swap_remove(place);
            }
            if times.is_empty() {
                self.waiting.remove(&connection);
            }
        }
    }

    pub(crate) fn offered(&mut self, now: Instant, direction: Direction, packet: &Packet) {
        if direction != Direction::Down {
            return;
        }
        match (self.sight, packet.connection()) {
            (Sight::Handshake, Some(connection)) if is_handshake(packet) && connection >= self.next => {
                self.next = connection + 1;
                self.see(now, packet);
            }
            (Sight::Flood, _) if packet.is_of_flood() => self.see(now, packet),
            (Sight::FinOvertakes, Some(connection)) if packet.class() == Class::Data => {
                self.waiting.entry(connection).or_default().push(now);
            }
            _ => {}
        }
    }

    pub(crate) fn dequeued(&mut self, now: Instant, direction: Direction, packet: &Packet) {
        if direction != Direction::Down {
            return;
        }
        if let Some((seen, arrived)) = self.overtaking.take()
            && self.has_earlier(seen.connection, arrived)
        {
            self.seen = self.seen.or(Some(seen));
        }
        match self.sight {
            Sight::LateDatagram if packet.is_udp() && now.saturating_since(packet.arrived()) >= LATE => {
                self.see(now, packet);
            }
            Sight::FinOvertakes if packet.class() == Class::Data => self.gone(packet),
            Sight::FinOvertakes
                if packet.segment().flags.contains(Flags::FIN)
                    && now >= self.after
                    && self.has_earlier(packet.connection(), packet.arrived()) =>
            {
                let seen = Seen { at_s: now.as_secs_f64(), connection: packet.connection() };
                self.overtaking = Some((seen, packet.arrived()));
            }
            _ => {}
        }
    }

    pub(crate) fn dropped(&mut self, now: Instant, direction: Direction, packet: &Packet, cause: DropCause) {
        if direction != Direction::Down || !matches!(cause, DropCause::Queue(_)) {
            return;
        }
        match self.sight {
            Sight::HandshakeDrop if is_handshake(packet) => self.see(now, packet),
            Sight::FinOvertakes if packet.class() == Class::Data => self.gone(packet),
            Sight::BurstOfDrops => {
                let Some(connection) = packet.connection() else {
                    return;
                };
                self.drops.retain(|(at, other)| *at + BURST >= now && *other != connection);
                self.drops.push_back((now, connection));
                if self.drops.len() >= CROWD {
                    self.see(now, packet);
                }
            }
            _ => {}
        }
    }
}
