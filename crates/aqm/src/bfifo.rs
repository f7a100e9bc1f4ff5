//! `bfifo`: first in, first out, limited in bytes (Linux: `net/sched/sch_fifo.c`), and in time if wished.

use crate::options::{Kind, OptionSpec};
use crate::packet::Packet;
use crate::pfifo::{DELAY, delay_limit};
use crate::qdisc::{DropReason, Drops, Qdisc};
use crate::registry::{Scheme, any_options};
use crate::spec::Spec;
use crate::store::Store;
use gentle_units::Nanos;

/// Byte FIFO.
pub static SCHEME: Scheme = Scheme {
    name: "bfifo",
    summary: "first in, first out, limited in bytes; a packet that does not fit is dropped",
    source: "Linux sch_fifo.c",
    options: &[
        OptionSpec {
            name: "limit",
            kind: Kind::Size(1, 1 << 30),
            default: Some("1514000b"),
            help: "bytes the queue holds (Linux: txqueuelen full Ethernet frames, 1000 times 1514)",
        },
        DELAY,
    ],
    child: None,
    check: any_options,
};

pub(crate) fn build<P: Packet + Send + 'static>(spec: &Spec, _seed: u64) -> Box<dyn Qdisc<P>> {
    let options = spec.options();
    Box::new(Bfifo::new(options.size("limit"), delay_limit(options)))
}

/// A queue of at most `limit` bytes.
#[derive(Debug)]
pub struct Bfifo<P> {
    store: Store<P>,
    limit: u64,
    delay: Nanos,
}

impl<P: Packet> Bfifo<P> {
    /// An empty queue for `limit` bytes that refuses arrivals while its first packet has waited longer than `delay`
    /// ([`Nanos::MAX`]: no such limit).
    pub fn new(limit: u64, delay: Nanos) -> Self {
        Bfifo {
            store: Store::default(),
            limit,
            delay,
        }
    }
}

impl<P: Packet + Send> Qdisc<P> for Bfifo<P> {
    fn enqueue(&mut self, now: Nanos, mut packet: P, drops: &mut Drops<P>) {
        let fits = self.store.bytes() + u64::from(packet.bytes()) <= self.limit;
        if !fits || self.store.head_wait(now) > self.delay {
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
    use crate::{Drops, Qdisc};
    use gentle_units::Nanos;

    #[test]
    fn a_small_packet_fits_where_a_large_one_does_not() {
        let mut queue = build("bfifo limit=3000");
        let mut drops = Drops::new();
        for bytes in [1500, 1400, 1500, 100, 1] {
            queue.enqueue(Nanos::ZERO, Packet::data(1, bytes), &mut drops);
        }
        assert_eq!((queue.len(), queue.backlog()), (3, 3000));
        assert_eq!(drops.len(), 2);
    }
}
