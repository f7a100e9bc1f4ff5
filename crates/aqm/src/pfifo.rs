//! `pfifo`: first in, first out, limited in packets (Linux: `net/sched/sch_fifo.c`).

use crate::options::{Kind, OptionSpec};
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
    options: &[OptionSpec {
        name: "limit",
        kind: Kind::Count(1, 1_000_000),
        default: Some("1000"),
        help: "packets the queue holds (Linux: the device's txqueuelen)",
    }],
    child: None,
    check: any_options,
};

pub(crate) fn build<P: Packet + Send + 'static>(spec: &Spec, _seed: u64) -> Box<dyn Qdisc<P>> {
    Box::new(Pfifo::new(spec.options().count("limit") as usize))
}

/// A queue of at most `limit` packets.
#[derive(Debug)]
pub struct Pfifo<P> {
    store: Store<P>,
    limit: usize,
}

impl<P: Packet> Pfifo<P> {
    /// An empty queue for `limit` packets.
    pub fn new(limit: usize) -> Self {
        Pfifo {
            store: Store::default(),
            limit,
        }
    }
}

impl<P: Packet + Send> Qdisc<P> for Pfifo<P> {
    fn enqueue(&mut self, now: Nanos, mut packet: P, drops: &mut Drops<P>) {
        if self.store.len() >= self.limit {
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
