//! Client and server joined by a path with a changing round-trip time, and the core on the client's device.
//!
//! The simulation knows the fate of each packet, and thereby the needless copies: those sent while the answer to an
//! earlier packet of the handshake was in flight.

use crate::packets::{ACK, SYN, Segment, timestamps};
use gentle_rexmit::{Config, Direction, Due, Frame, Retransmitter, Selection};
use gentle_units::Nanos;
use gentle_wire::LinkType;
use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Round-trip times and losses of a path.
pub(crate) trait Way {
    fn round_trip(&mut self, now: Nanos, rng: &mut Xoshiro256PlusPlus) -> Nanos;
    /// Whether the SYN is lost, and whether its answer is lost.
    fn lost(&mut self, now: Nanos, rng: &mut Xoshiro256PlusPlus) -> (bool, bool);
}

/// Behaviour of the ends and place of the core.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ends {
    /// Whether the server answers a repeated SYN, at most twice a second, as Linux does.
    pub(crate) answers_again: bool,
    /// Whether SYN/ACKs arrive on another device.
    pub(crate) one_way: bool,
    /// Whether both ends use timestamps.
    pub(crate) timestamps: bool,
}

/// Result of a handshake.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Outcome {
    pub(crate) began: Nanos,
    pub(crate) took: Option<Nanos>,
    pub(crate) copies: u32,
    pub(crate) needless: u32,
    /// Whether the first packet or its answer was lost.
    pub(crate) lost: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Begins(usize),
    /// Arrival of the answer to a packet.
    Answered(usize, u32),
    StackTimer(usize, u32),
}

struct Connection {
    segment: Segment,
    /// Arrival time of the answer to an earlier packet.
    coming: Option<Nanos>,
    /// Times at which the server answered the first SYN, and a repeated one.
    server: [Option<Nanos>; 2],
}

/// Initial RTO of the client's stack (RFC 6298, 2.1).
const RTO: Nanos = Nanos::from_secs(1);
/// Minimum interval between answers to repeated SYNs: net.ipv4.tcp_invalid_ratelimit.
const AGAIN: Nanos = Nanos::from_millis(500);
/// Number of SYN retransmissions of the client's stack.
const RETRIES: u32 = 4;

/// State of a simulation from the first handshake to the last.
pub(crate) struct Run<'a, W> {
    pub(crate) core: Retransmitter,
    way: &'a mut W,
    pub(crate) ends: Ends,
    rng: &'a mut Xoshiro256PlusPlus,
    events: BinaryHeap<Reverse<(Nanos, u64, Event)>>,
    number: u64,
    connections: Vec<Connection>,
    pub(crate) outcomes: Vec<Outcome>,
}

/// Simulates handshakes that begin at these times, with the default configuration of the client side.
pub(crate) fn run<'a, W: Way>(
    way: &'a mut W,
    ends: Ends,
    begins: &[Nanos],
    rng: &'a mut Xoshiro256PlusPlus,
) -> Run<'a, W> {
    let config = Config::new(Selection {
        client: true,
        ..Selection::default()
    });
    let mut run = Run {
        core: Retransmitter::new(config, 7),
        way,
        ends,
        rng,
        events: BinaryHeap::new(),
        number: 0,
        connections: Vec::new(),
        outcomes: Vec::new(),
    };
    for (number, at) in begins.iter().enumerate() {
        let segment = Segment {
            seq: number as u32 * 64_000,
            ..Segment::syn(1_024 + (number % 60_000) as u16)
        };
        run.connections.push(Connection {
            segment,
            coming: None,
            server: [None; 2],
        });
        run.outcomes.push(Outcome {
            began: *at,
            ..Outcome::default()
        });
        run.at(*at, Event::Begins(number));
    }
    run.all();
    run
}

impl<W: Way> Run<'_, W> {
    fn at(&mut self, at: Nanos, event: Event) {
        self.number += 1;
        self.events.push(Reverse((at, self.number, event)));
    }

    fn all(&mut self) {
        loop {
            let next = self.events.peek().map(|Reverse((at, _, _))| *at);
            match (next, self.core.next_deadline()) {
                // A received answer is read before a timer fires.
                (Some(at), Some(due)) if due < at => self.poll(due),
                (None, Some(due)) => self.poll(due),
                (Some(now), _) => {
                    let Some(Reverse((_, _, event))) = self.events.pop() else {
                        return;
                    };
                    self.happens(now, event);
                }
                (None, None) => return,
            }
        }
    }

    fn poll(&mut self, now: Nanos) {
        let mut copied = Vec::new();
        while let Some(due) = self.core.poll(now) {
            if let Due::Copy(copy) = due {
                let ports = [copy.bytes[34], copy.bytes[35]];
                let seq = copy.bytes[38..42].try_into().expect("four bytes");
                assert_eq!(u16::from_be_bytes(ports), copy.connection.src.1);
                copied.push((u32::from_be_bytes(seq) / 64_000) as usize);
            }
        }
        for number in copied {
            self.outcomes[number].copies += 1;
            if self.connections[number].coming.is_some() {
                self.outcomes[number].needless += 1;
            }
            self.travels(now, number, 0);
        }
    }

    fn happens(&mut self, now: Nanos, event: Event) {
        match event {
            Event::Begins(number) => {
                self.leaves(now, number, 0);
                self.outcomes[number].lost = self.connections[number].coming.is_none();
                self.at(now + RTO, Event::StackTimer(number, 1));
            }
            Event::StackTimer(number, tries) => {
                if self.outcomes[number].took.is_none() && tries <= RETRIES {
                    self.leaves(now, number, tries);
                    self.at(now + RTO, Event::StackTimer(number, tries + 1));
                }
            }
            Event::Answered(number, echoed) => self.answered(now, number, echoed),
        }
    }

    /// The stack's SYN passes the device.
    fn leaves(&mut self, now: Nanos, number: usize, tries: u32) {
        let mut syn = self.connections[number].segment.clone();
        if self.ends.timestamps {
            syn.options = timestamps(stamp(tries), 0);
        }
        self.passes(now, Direction::Out, &syn);
        self.travels(now, number, tries);
    }

    /// A SYN is in flight, with the timestamp of this attempt.
    fn travels(&mut self, now: Nanos, number: usize, tries: u32) {
        let (syn_lost, answer_lost) = self.way.lost(now, self.rng);
        let round_trip = self.way.round_trip(now, self.rng);
        let connection = &mut self.connections[number];
        if syn_lost {
            return;
        }
        let arrives = now + Nanos(round_trip.0 / 2);
        let [first, again] = &mut connection.server;
        if first.is_none() {
            *first = Some(arrives);
        } else if self.ends.answers_again
            && again.is_none_or(|last| arrives.saturating_sub(last) >= AGAIN)
        {
            *again = Some(arrives);
        } else {
            return;
        }
        let back = now + round_trip;
        if answer_lost {
            // The server's own retransmission.
            self.at(back + RTO, Event::Answered(number, tries));
            return;
        }
        connection.coming = Some(connection.coming.map_or(back, |coming| coming.min(back)));
        self.at(back, Event::Answered(number, tries));
    }

    fn answered(&mut self, now: Nanos, number: usize, tries: u32) {
        let outcome = &mut self.outcomes[number];
        let first = outcome.took.is_none();
        outcome
            .took
            .get_or_insert(now.saturating_sub(outcome.began));
        let syn = self.connections[number].segment.clone();
        let mut answer = syn.answer(SYN | ACK);
        if self.ends.timestamps {
            answer.options = timestamps(9, stamp(tries));
        }
        if !self.ends.one_way {
            self.passes(now, Direction::In, &answer);
        }
        if first {
            let third = Segment {
                seq: syn.seq + 1,
                ack: answer.seq + 1,
                flags: ACK,
                options: Vec::new(),
                ..syn
            };
            self.passes(now, Direction::Out, &third);
        }
    }

    fn passes(&mut self, now: Nanos, direction: Direction, segment: &Segment) {
        let bytes = segment.frame();
        let frame = Frame {
            bytes: &bytes,
            original_len: bytes.len() as u32,
            link: LinkType::ETHERNET,
            vlan: None,
            partial_checksum: false,
            exact_time: true,
        };
        self.core.frame(now, direction, &frame);
    }
}

/// Timestamp of an attempt.
fn stamp(tries: u32) -> u32 {
    100 + tries * 1_000
}

/// Start times of handshakes: on average `per_hour` of them until `end`, in groups of up to `together`.
pub(crate) fn arrivals(
    per_hour: f64,
    together: u32,
    end: Nanos,
    rng: &mut Xoshiro256PlusPlus,
) -> Vec<Nanos> {
    let mut times = Vec::new();
    let mut now = 0.0;
    loop {
        let mean = 3_600.0 / per_hour * f64::from(together + 1) / 2.0;
        now -= mean * (1.0 - rng.random::<f64>()).ln();
        if now >= end.as_secs_f64() {
            return times;
        }
        for n in 0..rng.random_range(1..=together) {
            times.push(Nanos::from_secs_f64(now) + Nanos::from_millis(n.into()));
        }
    }
}
