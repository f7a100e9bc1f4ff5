//! `pfifo`: first in, first out, limited in packets (Linux: `net/sched/sch_fifo.c`), and in time if wished.

use crate::options::{Kind, OptionSpec, Options};
use crate::packet::Packet;
use crate::qdisc::{DropReason, Drops, Qdisc};
use crate::registry::{Scheme, any_options};
use crate::spec::Spec;
use crate::store::Store;
use gentle_units::Nanos;

/// Packet FIFO.
pub static SCHEME: Scheme = Scheme {
    name: "pfifo",
    summary: "first in, first out; a full queue drops what arrives",
    source: "Linux sch_fifo.c",
    options: &[
        OptionSpec {
            name: "limit",
            kind: Kind::Count(1, 1_000_000),
            default: Some("1000"),
            help: "packets the queue holds (Linux: the device's txqueuelen)",
        },
        DELAY,
    ],
    child: None,
    check: any_options,
};

/// Tail drop in time, which both FIFOs have.
pub(crate) const DELAY: OptionSpec = OptionSpec {
    name: "delay",
    kind: Kind::Time(Nanos::ZERO, Nanos::from_secs(60)),
    default: Some("0"),
    help: "refuse arrivals while the first packet has waited longer than this; 0: no such limit (not in Linux)",
};

/// The value of [`DELAY`], with "no such limit" as a delay that nothing exceeds.
pub(crate) fn delay_limit(options: &Options) -> Nanos {
    match options.time("delay") {
        Nanos::ZERO => Nanos::MAX,
        delay => delay,
    }
}

pub(crate) fn build<P: Packet + Send + 'static>(spec: &Spec, _seed: u64) -> Box<dyn Qdisc<P>> {
    let options = spec.options();
    Box::new(Pfifo::new(
        options.count("limit") as usize,
        delay_limit(options),
    ))
}

/// A queue of at most `limit` packets.
#[derive(Debug)]
pub struct Pfifo<P> {
    store: Store<P>,
    limit: usize,
    delay: Nanos,
}

impl<P: Packet> Pfifo<P> {
    /// An empty queue for `limit` packets that refuses arrivals while its first packet has waited longer than
    /// `delay` ([`Nanos::MAX`]: no such limit).
    pub fn new(limit: usize, delay: Nanos) -> Self {
        Pfifo {
            store: Store::default(),
            limit,
            delay,
        }
    }
}

impl<P: Packet + Send> Qdisc<P> for Pfifo<P> {
    fn enqueue(&mut self, now: Nanos, mut packet: P, drops: &mut Drops<P>) {
        if self.store.len() >= self.limit || self.store.head_wait(now) > self.delay {
            drops.push(packet, DropReason::Tail);
            return;
        }
        packet.set_arrived(now);
        self.store.push_back(packet);
    }

    fn dequeue(&mut self, _now: Nanos, _drops: &mut Drops<P>) -> Option<P> {
        self.store.pop_front()
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
    use crate::testing::{Packet, build};
    use crate::{DropReason, Drops, Qdisc};
    use gentle_units::Nanos;

    #[test]
    fn a_head_that_has_waited_too_long_closes_the_queue() {
        for spec in ["pfifo delay=10ms", "bfifo delay=10ms"] {
            let mut queue = build(spec);
            let mut drops = Drops::new();
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
