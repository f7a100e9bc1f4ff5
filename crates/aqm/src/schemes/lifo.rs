//! `lifo`: last in, first out. An example of a new scheme (CONTRIBUTING.md), which appears in no list.

use crate::plumbing::options::{Kind, OptionSpec};
use crate::plumbing::packet::Packet;
use crate::plumbing::packet_queue::PacketQueue;
use crate::plumbing::qdisc::{Dequeue, DropReason, Qdisc, Signals};
use crate::plumbing::scheme::{Order, Scheme};
use crate::plumbing::spec::Spec;
use gentle_units::Instant;

/// LIFO with a limit in packets.
pub static SCHEME: Scheme = Scheme {
    name: "lifo",
    listed: false,
    summary: "last in, first out; a full queue drops arrivals",
    source: "an example",
    options: &[OptionSpec {
        name: "limit",
        kind: Kind::Count(1, 1_000_000),
        default: Some("1000"),
        help: "packets the queue holds",
    }],
    drops: &[DropReason::Tail],
    order: |_| Order { fifo: false, ..Order::FIFO },
    samples: &["limit=3"],
    ..Scheme::PLAIN
};

pub(crate) fn build<P: Packet + Send + 'static>(spec: &Spec, _seed: u64) -> Box<dyn Qdisc<P>> {
    Box::new(Lifo { store: PacketQueue::default(), limit: spec.options().count("limit") as usize })
}

#[derive(Debug)]
struct Lifo<P> {
    store: PacketQueue<P>,
    limit: usize,
}

impl<P: Packet + Send> Qdisc<P> for Lifo<P> {
    fn enqueue(&mut self, now: Instant, mut packet: P, signals: &mut Signals<P>) {
        if self.store.len() >= self.limit {
            signals.dropped(packet, DropReason::Tail);
            return;
        }
        packet.set_arrived(now);
        self.store.push_back(packet);
    }

    fn dequeue(&mut self, _now: Instant, _signals: &mut Signals<P>) -> Dequeue<P> {
        self.store.pop_back().into()
    }

    fn len(&self) -> usize {
        self.store.len()
    }

    fn backlog(&self) -> u64 {
        self.store.bytes()
    }
}
