//! Analysis of packets as they pass: attempts as they are decided, and statistics of the last seconds, minute and hour.
//!
//! Connections are followed and attempts classified as in captures. Attempts count when they are decided, not when their
//! connection ends, so a window lags by a few seconds; a cause that depends on other attempts is that
//! of the attempts in the same window.

mod results;
mod windows;

pub use results::{Attempt, Span, Window};

use crate::connections::{CLIENT, ClosedConnection, ClosedSink, ConnectionFlags, Connections, Decided, QUIET, SERVER};
use crate::decode::Decoder;
use crate::flow_key::FlowKeyHasher;
use crate::names::{self, GivenNames, Names};
use crate::options::Options;
use crate::points::Sightings;
use crate::results::DirectionBy;
use crate::segment::Batch;
use crate::tally::Tally;
use gentle_capture::RawPacket;
use gentle_units::Instant;
use gentle_wire::Address;
use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use windows::Windows;

/// Segments followed at a time. The packets of a batch are copied anyway, so few are enough.
const SEGMENTS: usize = 512;

/// Analysis of packets as they pass.
pub struct Live {
    decoder: Decoder,
    batch: Batch,
    sightings: Sightings,
    connections: Connections,
    tally: Tally,
    windows: Windows,
    names: Arc<GivenNames>,
    /// Whether all segments between these addresses and ports (of client and server) are seen.
    sees_all: Box<dyn Fn([Address; 2], [u16; 2]) -> bool + Send>,
    reliable: Reliable,
    packets: u64,
}

/// Attempts whose packets were all seen. Others do not count.
struct Reliable {
    /// Whether the handshakes between these addresses and ports (of client and server) are seen.
    sees_handshake: Box<dyn Fn([Address; 2], [u16; 2]) -> bool + Send>,
    /// Time from which on the first SYN of an attempt is its first one: earlier ones may have been missed.
    from: Instant,
    /// Attempts that did not count.
    left_out: u64,
}

impl Reliable {
    fn counts(&self, Decided { connection, addresses }: Decided<'_>) -> bool {
        connection.first >= self.from && (self.sees_handshake)(addresses, connection.ports())
    }
}

impl Live {
    /// Analysis that begins at `now`. Of `options`, those about files, directions and lists are not used.
    pub fn new(options: &Options, now: Instant) -> Live {
        let hasher = FlowKeyHasher::default();
        let mut connections = Connections::new(options, true, hasher.clone());
        connections.decide_early();
        Live {
            decoder: Decoder::new(options, DirectionBy::Initiator, 1, hasher),
            batch: Batch::with_capacity(SEGMENTS),
            sightings: Sightings::new(options.memory() / 16),
            connections,
            tally: Tally::default(),
            windows: Windows::new(options, now),
            names: Arc::clone(&options.names),
            sees_all: Box::new(|_, _| true),
            reliable: Reliable { sees_handshake: Box::new(|_, _| true), from: Instant::ZERO, left_out: 0 },
            packets: 0,
        }
    }

    /// Sets which connections are captured completely, by the addresses and ports of client and server. Of others, the
    /// acknowledgement of a SYN/ACK is not expected: without a repetition, it is assumed.
    pub fn sees_all_of(&mut self, sees_all: impl Fn([Address; 2], [u16; 2]) -> bool + Send + 'static) {
        self.sees_all = Box::new(sees_all);
    }

    /// Sets which handshakes are captured, by the addresses and ports of client and server. Attempts of others do not count.
    pub fn sees_handshakes_of(&mut self, sees: impl Fn([Address; 2], [u16; 2]) -> bool + Send + 'static) {
        self.reliable.sees_handshake = Box::new(sees);
    }

    /// Records that packets before `time` may have been missed. Attempts that began before, or so soon after that their
    /// first SYN may have been a repetition, do not count.
    pub fn missed_before(&mut self, time: Instant) {
        self.reliable.from = self.reliable.from.max(time + QUIET);
    }

    /// Records that the listen queue of a socket of this host overflowed since the last call, by the kernel's counters: attempts at it
    /// without an answer have that cause.
    pub fn listen_queue_overflowed(&mut self, socket: SocketAddr) {
        self.windows.overflowed(socket);
    }

    /// Handles the next packet. Attempts that end are passed to `decided`.
    pub fn packet(&mut self, packet: &RawPacket<'_>, decided: &mut dyn FnMut(&Attempt)) {
        self.packets += 1;
        self.decoder.decode(0, packet, &mut self.batch);
        if self.batch.is_full() {
            self.follow(decided);
        }
    }

    /// Moves the clock to `now`, which must not be before the packets so far: attempts that are over are passed to `decided`.
    pub fn advance(&mut self, now: Instant, decided: &mut dyn FnMut(&Attempt)) {
        self.follow(decided);
        self.windows.advance(now);
        self.windows.record_lookups(self.decoder.take_lookups(now));
        let names = Names { given: &self.names, dns: &self.decoder.names };
        let mut sink = DecidedSink { windows: &mut self.windows, names, reliable: &mut self.reliable, decided };
        self.connections.decide(now, &self.sees_all, &mut sink);
    }

    fn follow(&mut self, decided: &mut dyn FnMut(&Attempt)) {
        let lost = self.connections.lost();
        self.sightings.leave_out_repeats(&mut self.batch, &mut self.tally);
        let names = Names { given: &self.names, dns: &self.decoder.names };
        let mut sink = DecidedSink { windows: &mut self.windows, names, reliable: &mut self.reliable, decided };
        let Ok(()) = self.connections.observe_all(&mut self.batch, &mut self.tally, &mut sink);
        self.batch.clear();
        if self.connections.lost() > lost {
            self.missed_before(self.connections.latest());
        }
    }

    /// Statistics of the attempts decided in the latest `span`; lists have at most `top` entries.
    pub fn window(&self, span: Span, top: usize) -> Window {
        let mut window = self.windows.window(span, top);
        window.names = names::of_window(Names { given: &self.names, dns: &self.decoder.names }, &window);
        window
    }

    /// Statistics of the attempts decided in the latest whole minute since the start: each attempt is in one minute.
    pub fn minute(&self, top: usize) -> Window {
        self.windows.minute(top)
    }

    /// Memory of the records about attempts in windows, bytes; at most a quarter of the memory limit.
    pub fn window_bytes(&self) -> usize {
        self.windows.bytes()
    }

    /// Number of packets so far.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// Number of connections followed now.
    pub fn connections(&self) -> usize {
        self.connections.len()
    }

    /// Number of connections forgotten before their end because memory was short.
    pub fn forgotten(&self) -> u64 {
        self.connections.forgotten()
    }

    /// Number of attempts forgotten before their outcome was known because memory was short.
    pub fn lost(&self) -> u64 {
        self.connections.lost()
    }

    /// Number of attempts that did not count because packets of them may have been missed.
    pub fn left_out(&self) -> u64 {
        self.reliable.left_out
    }
}

/// Counts decided attempts and passes them on.
struct DecidedSink<'a> {
    windows: &'a mut Windows,
    names: Names<'a>,
    reliable: &'a mut Reliable,
    decided: &'a mut dyn FnMut(&Attempt),
}

impl ClosedSink for DecidedSink<'_> {
    type Error = Infallible;

    fn on_closed(&mut self, _closed: ClosedConnection) -> Result<(), Infallible> {
        Ok(())
    }

    fn on_answer(&mut self, answered: Decided<'_>) {
        if self.reliable.counts(answered) {
            self.windows.record_answer(answered.connection, answered.addresses);
        }
    }

    fn on_data(&mut self, decided: Decided<'_>) {
        if self.reliable.counts(decided) {
            self.windows.record_data(decided.connection, decided.addresses);
        }
    }

    fn on_decided(&mut self, decided: Decided<'_>) {
        if !self.reliable.counts(decided) {
            self.reliable.left_out += u64::from(!decided.connection.flags.has(ConnectionFlags::LATER_VIEW));
            return;
        }
        let Decided { connection, addresses } = decided;
        if let Some(class) = self.windows.record(connection, addresses) {
            let ports = connection.ports();
            let ends = [CLIENT, SERVER].map(|side| SocketAddr::new(IpAddr::from(addresses[side]), ports[side]));
            let names = ends.map(|end| self.names.of(end.ip()));
            (self.decided)(&Attempt::new(connection, &class, ends, names));
        }
    }
}
