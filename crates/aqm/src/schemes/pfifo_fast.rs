//! `pfifo_fast`: three FIFOs by the priority of packets, served strictly one after the other (Linux:
//! `net/sched/sch_generic.c`).

use crate::plumbing::options::{Kind, OptionSpec};
use crate::plumbing::packet::Packet;
use crate::plumbing::packet_queue::PacketQueue;
use crate::plumbing::qdisc::{Dequeue, DropReason, Head, Qdisc, Signals};
use crate::plumbing::scheme::{KernelQdisc, Scheme, TcSyntax};
use crate::plumbing::spec::Spec;
use gentle_units::Instant;

/// Three FIFOs by priority.
pub static SCHEME: Scheme = Scheme {
    name: "pfifo_fast",
    summary: "three FIFOs by the priority in the DS field; a band waits while those before it have packets",
    source: "Linux sch_generic.c, ptr_ring.h",
    options: &[OptionSpec {
        name: LIMIT,
        kind: Kind::Count(1, 1_000_000),
        default: Some("1000"),
        help: "packets each band holds (Linux: the device's txqueuelen)",
    }],
    drops: &[DropReason::Tail],
    linux: Some(TcSyntax { txqueuelen: Some(LIMIT), ..TcSyntax::plain(&KernelQdisc::of_linux("pfifo_fast")) }),
    samples: &["limit=3", "limit=40"],
    ..Scheme::PLAIN
};

const LIMIT: &str = "limit";

pub(crate) fn build<P: Packet + Send + 'static>(spec: &Spec, _seed: u64) -> Box<dyn Qdisc<P>> {
    Box::new(PfifoFast::new(spec.options().count(LIMIT) as usize))
}

/// Number of bands.
const BANDS: usize = 3;

/// Band of each priority (Linux: `sch_default_prio2band`).
const PRIORITY_TO_BAND: [u8; 16] = [1, 2, 2, 2, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1];

/// Places of a ring that Linux frees at once: pointers in two cache lines of 64 bytes (`__ptr_ring_set_size`).
const BATCH: usize = 16;

/// Three FIFOs, the first served first.
#[derive(Debug)]
pub struct PfifoFast<P> {
    bands: [Band<P>; BANDS],
}

impl<P: Packet> PfifoFast<P> {
    /// Empty bands for up to `limit` packets each, at least one.
    pub fn new(limit: usize) -> Self {
        PfifoFast { bands: std::array::from_fn(|_| Band::new(limit)) }
    }
}

impl<P: Packet + Send> Qdisc<P> for PfifoFast<P> {
    fn enqueue(&mut self, now: Instant, mut packet: P, signals: &mut Signals<P>) {
        let band = PRIORITY_TO_BAND[usize::from(packet.priority() & 15)];
        let band = &mut self.bands[usize::from(band)];
        if band.is_full() {
            signals.dropped(packet, DropReason::Tail);
            return;
        }
        packet.set_arrived(now);
        band.store.push_back(packet);
    }

    fn dequeue(&mut self, _now: Instant, _signals: &mut Signals<P>) -> Dequeue<P> {
        self.bands.iter_mut().find_map(Band::pop).into()
    }

    fn len(&self) -> usize {
        self.bands.iter().map(|band| band.store.len()).sum()
    }

    fn backlog(&self) -> u64 {
        self.bands.iter().map(|band| band.store.bytes()).sum()
    }

    fn head(&self) -> Head {
        self.bands.iter().find_map(|band| band.store.front()).into()
    }
}

/// A FIFO in a ring of places. Linux frees the places of departed packets in batches, and at the end of the ring, so
/// that a band which was full drops until a batch of packets has left (`struct ptr_ring`).
#[derive(Debug)]
struct Band<P> {
    store: PacketQueue<P>,
    size: usize,
    batch: usize,
    /// The place of the next packet to leave.
    head: usize,
    /// The first place that is not free.
    tail: usize,
}

impl<P: Packet> Band<P> {
    fn new(size: usize) -> Self {
        Band { store: PacketQueue::default(), size, batch: if BATCH > size / 2 { 1 } else { BATCH }, head: 0, tail: 0 }
    }

    fn is_full(&self) -> bool {
        self.store.len() + (self.head - self.tail) >= self.size
    }

    fn pop(&mut self) -> Option<P> {
        let packet = self.store.pop_front()?;
        self.head += 1;
        if self.head >= self.size {
            (self.head, self.tail) = (0, 0);
        } else if self.head - self.tail >= self.batch {
            self.tail = self.head;
        }
        Some(packet)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{TestPacket, build};
    use crate::{Qdisc, Signals};
    use gentle_units::Instant;

    fn fill(queue: &mut dyn Qdisc<TestPacket>, dscp: u8, packets: u32) -> usize {
        let mut drops = Signals::new();
        for number in 0..packets {
            let packet = TestPacket::data(1, 1500).numbered(number);
            queue.enqueue(Instant::ZERO, TestPacket { dscp, ..packet }, &mut drops);
        }
        drops.len()
    }

    fn take(queue: &mut dyn Qdisc<TestPacket>) -> Option<TestPacket> {
        queue.dequeue(Instant::ZERO, &mut Signals::new()).packet()
    }

    #[test]
    fn bands_are_those_of_the_type_of_service() {
        let mut queue = build("pfifo_fast");
        // AF41 as bulk, best effort, CS6 and EF in the middle, "minimise delay" first.
        for dscp in [34, 0, 48, 46, 4] {
            fill(&mut *queue, dscp, 1);
        }
        let order: Vec<u8> = std::iter::from_fn(|| take(&mut *queue)).map(|packet| packet.dscp).collect();
        assert_eq!(order, [4, 0, 48, 46, 34]);
    }

    #[test]
    fn each_band_has_the_whole_limit() {
        let mut queue = build("pfifo_fast limit=5");
        assert_eq!([0, 4, 2].map(|dscp| fill(&mut *queue, dscp, 6)), [1, 1, 1]);
        assert_eq!((queue.len(), queue.backlog()), (15, 15 * 1500));
    }

    #[test]
    fn a_full_band_has_room_again_after_a_batch() {
        let mut queue = build("pfifo_fast limit=40");
        assert_eq!(fill(&mut *queue, 0, 41), 1);
        for _ in 0..15 {
            take(&mut *queue);
        }
        assert_eq!(fill(&mut *queue, 0, 1), 1);
        take(&mut *queue);
        assert_eq!(fill(&mut *queue, 0, 17), 1);
    }
}
