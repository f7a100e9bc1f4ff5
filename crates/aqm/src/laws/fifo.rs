//! First in, first out with tail drop, for `pfifo` and `bfifo` (Linux: `net/sched/sch_fifo.c`). A limit in time, which
//! Linux does not have, is optional.

use crate::plumbing::options::{Kind, OptionSpec, Options};
use crate::plumbing::packet::Packet;
use crate::plumbing::packet_queue::PacketQueue;
use crate::plumbing::qdisc::{Dequeue, DropReason, Head, Qdisc, Signals};
use gentle_units::{Instant, Nanos};

/// Limit in time of both FIFOs.
pub(crate) const DELAY: OptionSpec = OptionSpec {
    name: "delay",
    kind: Kind::Time(Nanos::ZERO, Nanos::from_secs(60)),
    default: Some("0"),
    help: "drop arrivals while the sojourn time of the first packet exceeds this; 0: no limit (not in Linux)",
};

/// Refusal of the option `delay` in deployment.
pub(crate) const NO_DELAY: (&str, &str) =
    (DELAY.name, "the FIFOs of Linux have no limit in time; leave it out, or use codel");

/// The value of [`DELAY`]; [`Nanos::MAX`] for no limit.
pub(crate) fn delay_limit(options: &Options) -> Nanos {
    match options.time("delay") {
        Nanos::ZERO => Nanos::MAX,
        delay => delay,
    }
}

/// Capacity of a [`Fifo`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// Maximum number of packets.
    Packets(usize),
    /// Maximum number of bytes.
    Bytes(u64),
}

/// A queue that drops arriving packets when it is full.
#[derive(Debug)]
pub struct Fifo<P> {
    store: PacketQueue<P>,
    limit: Limit,
    delay: Nanos,
}

impl<P: Packet> Fifo<P> {
    /// An empty queue. It drops arrivals beyond `limit`, and arrivals while the sojourn time of its first packet
    /// exceeds `delay` ([`Nanos::MAX`]: no limit).
    pub fn new(limit: Limit, delay: Nanos) -> Self {
        Fifo { store: PacketQueue::default(), limit, delay }
    }

    fn is_full(&self, bytes: u32) -> bool {
        match self.limit {
            Limit::Packets(limit) => self.store.len() >= limit,
            Limit::Bytes(limit) => self.store.bytes() + u64::from(bytes) > limit,
        }
    }
}

impl<P: Packet + Send> Qdisc<P> for Fifo<P> {
    fn enqueue(&mut self, now: Instant, mut packet: P, signals: &mut Signals<P>) {
        if self.is_full(packet.bytes()) || self.store.head_sojourn(now) > self.delay {
            signals.dropped(packet, DropReason::Tail);
            return;
        }
        packet.set_arrived(now);
        self.store.push_back(packet);
    }

    fn dequeue(&mut self, _now: Instant, _signals: &mut Signals<P>) -> Dequeue<P> {
        self.store.pop_front().into()
    }

    fn len(&self) -> usize {
        self.store.len()
    }

    fn backlog(&self) -> u64 {
        self.store.bytes()
    }

    fn head(&self) -> Head {
        self.store.front().into()
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{TestPacket, build};
    use crate::{DropReason, Qdisc, Signals};
    use gentle_units::Instant;

    #[test]
    fn a_head_that_has_waited_too_long_closes_the_queue() {
        for spec in ["pfifo delay=10ms", "bfifo delay=10ms"] {
            let mut queue = build(spec);
            let mut drops = Signals::new();
            for ms in [0, 10, 11] {
                queue.enqueue(Instant::from_millis(ms), TestPacket::data(1, 1500), &mut drops);
            }
            assert_eq!(queue.len(), 2, "{spec}");
            assert!(drops.drain().all(|(_, reason)| reason == DropReason::Tail));
            // The new head has waited 2 ms only.
            queue.dequeue(Instant::from_millis(12), &mut drops);
            queue.enqueue(Instant::from_millis(12), TestPacket::data(1, 1500), &mut drops);
            assert_eq!((queue.len(), drops.len()), (2, 0), "{spec}");
        }
    }
}
