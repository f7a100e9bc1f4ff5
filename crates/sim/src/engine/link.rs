//! One direction of the bottleneck: a queue, a transmitter with a rate, and what happens to packets behind it.

use super::disturbance::Disturbance;
use super::opportunities::Opportunities;
use super::packet::Packet;
use super::pipe::Pipe;
use super::transmitter::Transmitter;
use gentle_aqm::{Dequeue, Packet as _, Qdisc, Signals};
use gentle_experiment::LinkConfig;
use gentle_experiment::draw::Stream;
use gentle_units::{Instant, Nanos, Rate};
use std::sync::Arc;

/// A queue discipline of the simulator's packets.
pub type Queue = Box<dyn Qdisc<Box<Packet>>>;

/// The transmitter takes a packet out of the queue when it begins to send it, as a device without its own ring would;
/// the packet then travels `delay`. If the rate follows a recording, it begins at an opportunity, as Mahimahi's
/// `LinkQueue::rationalize` (`src/frontend/link_queue.cc`) takes a packet out of its queue: until then, the packet
/// counts in the queue's length and sojourn time.
pub(crate) struct Link {
    pub(crate) qdisc: Queue,
    /// Whether the next SYN or SYN/ACK is dropped before it reaches the queue.
    pub(crate) drops_handshake: bool,
    transmitter: Transmitter,
    /// Instead of the transmitter, if the rate follows a recording.
    opportunities: Option<Box<Opportunities>>,
    delay: Nanos,
    pub(crate) overhead: u32,
    /// Later changes of the rate, the next one last.
    changes: Vec<(Instant, Rate)>,
    sending: Option<Box<Packet>>,
    /// When the packet being sent has left, or, of an idle link, when its queue has to be asked again;
    /// [`Instant::NEVER`]: not before a packet arrives.
    pub(crate) done_at: Instant,
    /// Packets under way that have no delay but the link's.
    pub(crate) wire: Pipe,
    disturbance: Option<Box<Disturbance>>,
    pub(crate) signals: Signals<Box<Packet>>,
    /// Packets that the queue has marked.
    pub(crate) marked: u64,
}

impl Link {
    /// The link with `qdisc`, which draws from `rng` what happens to packets behind that.
    pub(crate) fn new(config: &LinkConfig, qdisc: Queue, rng: Stream) -> Link {
        Link {
            qdisc,
            drops_handshake: false,
            transmitter: Transmitter::new(config.rate),
            opportunities: (config.trace.as_ref()).map(|trace| Box::new(Opportunities::new(Arc::clone(trace)))),
            delay: config.delay,
            overhead: config.overhead,
            changes: config.rate_changes().rev().collect(),
            sending: None,
            done_at: Instant::NEVER,
            wire: Pipe::default(),
            disturbance: Disturbance::new(config, rng).map(Box::new),
            signals: Signals::new(),
            marked: 0,
        }
    }

    /// Sets the rate from the next packet on, instead of all that was planned for it.
    pub(crate) fn set_rate(&mut self, rate: Rate) {
        self.transmitter = Transmitter::new(rate);
        self.opportunities = None;
        self.changes.clear();
    }

    /// Time of the next event of the link: a packet is sent, or one arrives at the far end.
    #[inline]
    pub(crate) fn next_at(&self) -> Instant {
        self.done_at.min(self.wire.next_at())
    }

    /// Whether it sends nothing.
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        self.sending.is_none()
    }

    /// An idle link begins to send the next packet, if there is one that may leave; returns when that entered the
    /// queue. Packets that the queue dropped, and its marks, are in `signals`. `carried` learns from when to when how many
    /// bytes are transmitted.
    #[inline(always)]
    pub(crate) fn send(&mut self, now: Instant, mut carried: impl FnMut(Instant, Instant, u32)) -> Option<Instant> {
        if let Some(opportunities) = &mut self.opportunities {
            let next = opportunities.next_from(now);
            if next > now {
                self.done_at = if self.qdisc.is_empty() { Instant::NEVER } else { next };
                return None;
            }
        }
        let packet = match self.qdisc.dequeue(now, &mut self.signals) {
            Dequeue::Packet(packet) => packet,
            Dequeue::Empty => {
                self.done_at = Instant::NEVER;
                return None;
            }
            Dequeue::NotBefore(time) => {
                debug_assert!(time > now, "a queue that is asked again at once");
                self.done_at = time.max(now + Nanos(1));
                return None;
            }
        };
        while self.changes.last().is_some_and(|(at, _)| *at <= now) {
            if let Some((_, rate)) = self.changes.pop() {
                self.transmitter = Transmitter::new(rate);
            }
        }
        let bytes = packet.bytes();
        self.done_at = match &mut self.opportunities {
            None => {
                let done = now + self.transmitter.time_to_send(bytes);
                carried(now, done, bytes);
                done
            }
            Some(opportunities) => opportunities.send(now, bytes, |at, bytes| carried(at, at, bytes)),
        };
        let arrived = packet.arrived();
        self.sending = Some(packet);
        Some(arrived)
    }

    /// The packet being sent.
    #[inline]
    pub(crate) fn sending(&self) -> Option<&Packet> {
        self.sending.as_deref()
    }

    /// Takes the packet that has just been sent; the link is idle then. `None`: it was idle, and its queue is to be
    /// asked.
    pub(crate) fn sent(&mut self) -> Option<Box<Packet>> {
        self.done_at = Instant::NEVER;
        self.sending.take()
    }

    /// How long after it has been sent a packet may arrive.
    pub(crate) fn lookahead(&self) -> Nanos {
        match self.disturbance {
            None => self.delay,
            Some(_) => Nanos::ZERO,
        }
    }

    /// Whether the packet just sent gets lost.
    #[inline]
    pub(crate) fn loses(&mut self) -> bool {
        self.disturbance.as_mut().is_some_and(|link| link.loses())
    }

    /// Arrival time of a packet that has just been sent, with its extra delay.
    #[inline]
    pub(crate) fn arrival(&mut self, now: Instant, packet: &Packet) -> Instant {
        let extra = packet.extra_delay;
        match &mut self.disturbance {
            None => now + self.delay + extra,
            Some(link) => {
                let sending = self.transmitter.time_to_send(packet.bytes());
                link.arrival(now, sending, self.delay, extra)
            }
        }
    }
}
