//! The end of a flow that sends datagrams of one length at regular times.

use super::datagram::{Datagram, DatagramEnd, Message};
use super::meter::Meter;
use super::playout::Playout;
use super::stream::Stream;
use crate::metrics::application::ApplicationRecord;
use gentle_units::Instant;

/// Sends a stream, and measures the one that arrives.
pub(super) struct StreamEnd {
    /// Length of an IP packet, bytes.
    packet: u32,
    sent: Stream,
    meter: Meter,
    /// Buffer from which what arrives is played; `None`: it is used at once.
    playout: Option<Playout>,
}

impl StreamEnd {
    pub(super) fn new(packet: u32, sent: Stream, warmup: Instant) -> StreamEnd {
        StreamEnd { packet, sent, meter: Meter::new(warmup), playout: None }
    }

    pub(super) fn with_playout(mut self, playout: Playout) -> StreamEnd {
        self.playout = Some(playout);
        self
    }
}

impl DatagramEnd for StreamEnd {
    fn next_at(&self) -> Instant {
        self.sent.next_at()
    }

    fn on_timer(&mut self, now: Instant, out: &mut Vec<Datagram>, record: &mut ApplicationRecord) {
        while self.sent.take(now).is_some() {
            let datagram = (self.meter).send(now, self.packet, Message::Packet, record);
            out.push(datagram);
        }
    }

    fn on_datagram(
        &mut self,
        now: Instant,
        datagram: &Datagram,
        _: &mut Vec<Datagram>,
        record: &mut ApplicationRecord,
    ) {
        self.meter.receive(now, datagram, record);
        if let Some(playout) = &mut self.playout {
            playout.arrive(now, datagram.number, record);
        }
    }

    fn finish(&mut self, record: &mut ApplicationRecord) {
        if let Some(playout) = &mut self.playout {
            playout.finish(record);
        }
    }
}
