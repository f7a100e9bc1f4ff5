//! Analysis of packets as they pass: attempts as they are decided, and statistics of the last seconds, minute and hour.
//!
//! Connections are followed and attempts classified as in captures. Attempts count when they are decided, not when their
//! connection ends, so a window lags by a few seconds; a cause that depends on other attempts is that
//! of the attempts in the same window.

mod names;
mod results;
mod windows;

pub use results::{Attempt, Span, Window};

use crate::connections::{CLIENT, ClosedConnection, ClosedSink, Connections, Decided, SERVER};
use crate::decode::Decoder;
use crate::flow_key::FlowKeyHasher;
use crate::options::Options;
use crate::points::Sightings;
use crate::results::DirectionBy;
use crate::segment::Batch;
use crate::tally::Tally;
use gentle_capture::RawPacket;
use gentle_units::Instant;
use gentle_wire::Address;
use names::Names;
use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
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
    names: Names,
    /// Whether all segments between these addresses and ports (of client and server) are seen.
    sees_all: Box<dyn Fn([Address; 2], [u16; 2]) -> bool + Send>,
    packets: u64,
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
            names: Names::default(),
            sees_all: Box::new(|_, _| true),
            packets: 0,
        }
    }

    /// Sets which connections are captured completely, by the addresses and ports of client and server. Of others, the
    /// acknowledgement of a SYN/ACK is not expected: without a repetition, it is assumed.
    pub fn sees_all_of(&mut self, sees_all: impl Fn([Address; 2], [u16; 2]) -> bool + Send + 'static) {
        self.sees_all = Box::new(sees_all);
    }

    /// Records that the listen queue of a socket of this host overflowed since the last call, by the kernel's counters: attempts at it
    /// without an answer have that cause.
    pub fn listen_queue_overflowed(&mut self, socket: SocketAddr) {
        self.windows.overflowed(socket);
    }

    /// Handles the next packet. Attempts that end are passed to `decided`.
    pub fn packet(&mut self, packet: &RawPacket<'_>, decided: &mut dyn FnMut(&Attempt)) {
        self.packets += 1;
        self.names.packet(packet);
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
        let mut sink = DecidedSink { windows: &mut self.windows, names: &self.names, decided };
        self.connections.decide(now, &self.sees_all, &mut sink);
    }

    fn follow(&mut self, decided: &mut dyn FnMut(&Attempt)) {
        self.sightings.leave_out_repeats(&mut self.batch, &mut self.tally);
        let mut sink = DecidedSink { windows: &mut self.windows, names: &self.names, decided };
        let Ok(()) = self.connections.observe_all(&mut self.batch, &mut self.tally, &mut sink);
        self.batch.clear();
    }

    /// Statistics of the attempts decided in the latest `span`; lists have at most `top` entries.
    pub fn window(&self, span: Span, top: usize) -> Window {
        let mut window = self.windows.window(span, top);
        let of_causes = window.causes.iter().flat_map(|cause| &cause.group.most).map(|party| &party.name);
        let of_servers = window.top.servers.iter().map(|entry| &entry.name);
        let servers = of_causes.chain(of_servers).filter_map(|name| name.parse::<SocketAddr>().ok());
        let named = servers.filter_map(|server| Some((server.ip(), self.names.get(server.ip())?.to_owned())));
        window.names = named.collect();
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
}

/// Counts decided attempts and passes them on.
struct DecidedSink<'a> {
    windows: &'a mut Windows,
    names: &'a Names,
    decided: &'a mut dyn FnMut(&Attempt),
}

impl ClosedSink for DecidedSink<'_> {
    type Error = Infallible;

    fn on_closed(&mut self, _closed: ClosedConnection) -> Result<(), Infallible> {
        Ok(())
    }

    fn on_answer(&mut self, Decided { connection, addresses }: Decided<'_>) {
        self.windows.record_answer(connection, addresses);
    }

    fn on_data(&mut self, Decided { connection, addresses }: Decided<'_>) {
        self.windows.record_data(connection, addresses);
    }

    fn on_decided(&mut self, Decided { connection, addresses }: Decided<'_>) {
        if let Some(class) = self.windows.record(connection, addresses) {
            let ports = connection.ports();
            let ends = [CLIENT, SERVER].map(|side| SocketAddr::new(IpAddr::from(addresses[side]), ports[side]));
            let name = self.names.get(ends[SERVER].ip());
            (self.decided)(&Attempt::new(connection, &class, ends, name));
        }
    }
}
