//! Client and server joined by a path with a changing round-trip time, and the core on the client's device.
//!
//! The simulation knows the fate of each packet, and thereby the spurious copies: those sent while the answer to an
//! earlier packet of the handshake was in flight.

use crate::packets::{ACK, SYN, Segment, timestamps};
use gentle_rexmit::{Config, Direction, Event as CoreEvent, Frame, Retransmitter, Selection};
use gentle_units::{Instant, Nanos};
use gentle_wire::LinkType;
use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Round-trip times and losses of a path.
pub(crate) trait PathModel {
    fn round_trip(&mut self, now: Instant, rng: &mut Xoshiro256PlusPlus) -> Nanos;
    /// Whether the SYN is lost, and whether its answer is lost.
    fn lost(&mut self, now: Instant, rng: &mut Xoshiro256PlusPlus) -> (bool, bool);
}

/// Behaviour of the endpoints and place of the core.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Endpoints {
    /// Whether the server answers a repeated SYN, at most twice a second, as Linux does.
    pub(crate) repeats_answers: bool,
    /// Whether SYN/ACKs arrive on another device.
    pub(crate) asymmetric: bool,
    /// Whether both endpoints use timestamps.
    pub(crate) timestamps: bool,
}

/// Result of a handshake.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Outcome {
    pub(crate) started: Instant,
    pub(crate) took: Option<Nanos>,
    pub(crate) copies: u32,
    pub(crate) spurious: u32,
    /// Whether the first packet or its answer was lost.
    pub(crate) lost: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Start(usize),
    /// Arrival of the answer to a packet.
    Answered(usize, u32),
    StackTimer(usize, u32),
}

struct Connection {
    segment: Segment,
    /// Arrival time of the answer to an earlier packet.
    answer_due: Option<Instant>,
    /// Times at which the server answered the first SYN, and a repeated one.
    server: [Option<Instant>; 2],
}

/// Initial RTO of the client's stack (RFC 6298, 2.1).
const INITIAL_RTO: Nanos = Nanos::from_secs(1);
/// Minimum interval between answers to repeated SYNs: net.ipv4.tcp_invalid_ratelimit.
const MIN_REPEAT_INTERVAL: Nanos = Nanos::from_millis(500);
/// Number of SYN retransmissions of the client's stack.
const RETRIES: u32 = 4;

/// State of a simulation from the first handshake to the last.
pub(crate) struct Run<'a, W> {
    dry_run: bool,
    pub(crate) core: Retransmitter,
    path: &'a mut W,
    pub(crate) endpoints: Endpoints,
    rng: &'a mut Xoshiro256PlusPlus,
    events: BinaryHeap<Reverse<(Instant, u64, Event)>>,
    number: u64,
    connections: Vec<Connection>,
    pub(crate) outcomes: Vec<Outcome>,
}

/// Simulates handshakes that begin at these times, with the default configuration of the client side.
pub(crate) fn run<'a, W: PathModel>(
    path: &'a mut W,
    endpoints: Endpoints,
    starts: &[Instant],
    rng: &'a mut Xoshiro256PlusPlus,
) -> Run<'a, W> {
    let selection = Selection { client: true, ..Selection::default() };
    run_with(Config::new(selection), path, endpoints, starts, rng)
}

/// Simulates handshakes that begin at these times. In a dry run, copies do not enter the path.
pub(crate) fn run_with<'a, W: PathModel>(
    config: Config,
    path: &'a mut W,
    endpoints: Endpoints,
    starts: &[Instant],
    rng: &'a mut Xoshiro256PlusPlus,
) -> Run<'a, W> {
    let mut run = Run {
        dry_run: config.dry_run,
        core: Retransmitter::new(config, 7),
        path,
        endpoints,
        rng,
        events: BinaryHeap::new(),
        number: 0,
        connections: Vec::new(),
        outcomes: Vec::new(),
    };
    for (number, at) in starts.iter().enumerate() {
        let segment = Segment { seq: number as u32 * 64_000, ..Segment::syn(1_024 + (number % 60_000) as u16) };
        run.connections.push(Connection { segment, answer_due: None, server: [None; 2] });
        run.outcomes.push(Outcome { started: *at, ..Outcome::default() });
        run.schedule(*at, Event::Start(number));
    }
    run.run();
    run
}

impl<W: PathModel> Run<'_, W> {
    fn schedule(&mut self, at: Instant, event: Event) {
        self.number += 1;
        self.events.push(Reverse((at, self.number, event)));
    }

    fn run(&mut self) {
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
                    self.dispatch(now, event);
                }
                (None, None) => return,
            }
        }
    }

    fn poll(&mut self, now: Instant) {
        let mut copied = Vec::new();
        while let Some(event) = self.core.poll(now) {
            if let CoreEvent::Copy(copy) = event
                && !self.dry_run
            {
                let ports = [copy.bytes[34], copy.bytes[35]];
                let seq = copy.bytes[38..42].try_into().expect("four bytes");
                assert_eq!(u16::from_be_bytes(ports), copy.connection.src.1);
                copied.push((u32::from_be_bytes(seq) / 64_000) as usize);
            }
        }
        for number in copied {
            self.outcomes[number].copies += 1;
            if self.connections[number].answer_due.is_some() {
                self.outcomes[number].spurious += 1;
            }
            self.transmit(now, number, 0);
        }
    }

    fn dispatch(&mut self, now: Instant, event: Event) {
        match event {
            Event::Start(number) => {
                self.send_syn(now, number, 0);
                self.outcomes[number].lost = self.connections[number].answer_due.is_none();
                self.schedule(now + INITIAL_RTO, Event::StackTimer(number, 1));
            }
            Event::StackTimer(number, tries) => {
                if self.outcomes[number].took.is_none() && tries <= RETRIES {
                    self.send_syn(now, number, tries);
                    self.schedule(now + INITIAL_RTO, Event::StackTimer(number, tries + 1));
                }
            }
            Event::Answered(number, echoed) => self.answered(now, number, echoed),
        }
    }

    /// The stack's SYN passes the device.
    fn send_syn(&mut self, now: Instant, number: usize, tries: u32) {
        let mut syn = self.connections[number].segment.clone();
        if self.endpoints.timestamps {
            syn.options = timestamps(tsval(tries), 0);
        }
        self.pass(now, Direction::Out, &syn);
        self.transmit(now, number, tries);
    }

    /// A SYN is in flight, with the timestamp of this attempt.
    fn transmit(&mut self, now: Instant, number: usize, tries: u32) {
        let (syn_lost, answer_lost) = self.path.lost(now, self.rng);
        let round_trip = self.path.round_trip(now, self.rng);
        let connection = &mut self.connections[number];
        if syn_lost {
            return;
        }
        let arrives = now + Nanos(round_trip.0 / 2);
        let [first, repeated] = &mut connection.server;
        if first.is_none() {
            *first = Some(arrives);
        } else if self.endpoints.repeats_answers
            && repeated.is_none_or(|last| arrives.saturating_since(last) >= MIN_REPEAT_INTERVAL)
        {
            *repeated = Some(arrives);
        } else {
            return;
        }
        let back = now + round_trip;
        if answer_lost {
            // The server's own retransmission.
            self.schedule(back + INITIAL_RTO, Event::Answered(number, tries));
            return;
        }
        connection.answer_due = Some(connection.answer_due.map_or(back, |answer_due| answer_due.min(back)));
        self.schedule(back, Event::Answered(number, tries));
    }

    fn answered(&mut self, now: Instant, number: usize, tries: u32) {
        let outcome = &mut self.outcomes[number];
        let first = outcome.took.is_none();
        outcome.took.get_or_insert(now.saturating_since(outcome.started));
        let syn = self.connections[number].segment.clone();
        let mut answer = syn.answer(SYN | ACK);
        if self.endpoints.timestamps {
            answer.options = timestamps(9, tsval(tries));
        }
        if !self.endpoints.asymmetric {
            self.pass(now, Direction::In, &answer);
        }
        if first {
            let third = Segment { seq: syn.seq + 1, ack: answer.seq + 1, flags: ACK, options: Vec::new(), ..syn };
            self.pass(now, Direction::Out, &third);
        }
    }

    fn pass(&mut self, now: Instant, direction: Direction, segment: &Segment) {
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
fn tsval(tries: u32) -> u32 {
    100 + tries * 1_000
}

/// Start times of handshakes: on average `per_hour` of them until `end`, in groups of up to `together`.
pub(crate) fn arrivals(per_hour: f64, together: u32, end: Instant, rng: &mut Xoshiro256PlusPlus) -> Vec<Instant> {
    let mut times = Vec::new();
    let mut now = 0.0;
    loop {
        let mean = 3_600.0 / per_hour * f64::from(together + 1) / 2.0;
        now -= mean * libm::log(1.0 - rng.random::<f64>());
        if now >= end.as_secs_f64() {
            return times;
        }
        for n in 0..rng.random_range(1..=together) {
            times.push(Instant::from_secs_f64(now) + Nanos::from_millis(n.into()));
        }
    }
}
