//! First in, first out: what `pfifo` and `bfifo` share (Linux: `net/sched/sch_fifo.c`), with tail drop in time besides.

use crate::plumbing::options::{Kind, OptionSpec, Options};
use crate::plumbing::packet::Packet;
use crate::plumbing::qdisc::{Dequeue, DropReason, Qdisc, Signals};
use crate::plumbing::store::Store;
use gentle_units::Nanos;

/// Tail drop in time, which both FIFOs have.
pub(crate) const DELAY: OptionSpec = OptionSpec {
    name: "delay",
    kind: Kind::Time(Nanos::ZERO, Nanos::from_secs(60)),
    default: Some("0"),
    help: "refuse arrivals while the first packet has waited longer than this; 0: no such limit (not in Linux)",
};

/// The option `delay` and the sentence with which deployment refuses it.
pub(crate) const NO_DELAY: (&str, &str) = (
    DELAY.name,
    "the FIFOs of Linux have no limit in time; leave it out, or use codel",
);

/// The value of [`DELAY`], with "no such limit" as a delay that nothing exceeds.
pub(crate) fn delay_limit(options: &Options) -> Nanos {
    match options.time("delay") {
        Nanos::ZERO => Nanos::MAX,
        delay => delay,
    }
}

/// What a [`Fifo`] holds at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// So many packets.
    Packets(usize),
    /// So many bytes.
    Bytes(u64),
}

/// A queue that drops what arrives when it is full.
#[derive(Debug)]
pub struct Fifo<P> {
    store: Store<P>,
    limit: Limit,
    delay: Nanos,
}

impl<P: Packet> Fifo<P> {
    /// An empty queue that refuses arrivals beyond `limit`, and while its first packet has waited longer than `delay`
    /// ([`Nanos::MAX`]: no such limit).
    pub fn new(limit: Limit, delay: Nanos) -> Self {
        Fifo {
            store: Store::default(),
            limit,
            delay,
        }
    }

    fn is_full(&self, bytes: u32) -> bool {
        match self.limit {
            Limit::Packets(limit) => self.store.len() >= limit,
            Limit::Bytes(limit) => self.store.bytes() + u64::from(bytes) > limit,
        }
    }
}

impl<P: Packet + Send> Qdisc<P> for Fifo<P> {
    fn enqueue(&mut self, now: Nanos, mut packet: P, signals: &mut Signals<P>) {
        if self.is_full(packet.bytes()) || self.store.head_wait(now) > self.delay {
            signals.dropped(packet, DropReason::Tail);
            return;
        }
        packet.set_arrived(now);
        self.store.push_back(packet);
    }

    fn dequeue(&mut self, _now: Nanos, _signals: &mut Signals<P>) -> Dequeue<P> {
        self.store.pop_front().into()
    }

    fn len(&self) -> usize {
        self.store.len()
    }

    fn backlog(&self) -> u64 {
        self.store.bytes()
    }
}

#[cfg(test)]
mod tests {
    use crate::plumbing::testing::{Packet, build};
    use crate::{DropReason, Qdisc, Signals};
    use gentle_units::Nanos;

    #[test]
    fn a_head_that_has_waited_too_long_closes_the_queue() {
        for spec in ["pfifo delay=10ms", "bfifo delay=10ms"] {
            let mut queue = build(spec);
            let mut drops = Signals::new();
            for ms in [0, 10, 11] {
                queue.enqueue(Nanos::from_millis(ms), Packet::data(1, 1500), &mut drops);
            }
            assert_eq!(queue.len(), 2, "{spec}");
            assert!(drops.drain().all(|(_, reason)| reason == DropReason::Tail));
            // The next in line has waited 2 ms only.
            queue.dequeue(Nanos::from_millis(12), &mut drops);
            queue.enqueue(Nanos::from_millis(12), Packet::data(1, 1500), &mut drops);
            assert_eq!((queue.len(), drops.len()), (2, 0), "{spec}");
        }
    }
}
