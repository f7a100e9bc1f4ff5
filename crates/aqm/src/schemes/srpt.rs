//! `srpt`: shortest remaining processing time (Schrage, "A proof of the optimality of the shortest remaining processing
//! time discipline", Operations Research 1968), by packets as in pFabric (Alizadeh et al., SIGCOMM 2013). An ideal to
//! compare with: senders report to the queue the bytes that they still have to send, which no router can know.
//!
//! The flow that has least left goes first, by what it said last, and sends its packets in order. A full queue drops the
//! last packet of the flow that has most left. A packet without a known remainder (a datagram) is taken for the only one
//! that its flow has left.

use crate::plumbing::options::{Kind, OptionSpec};
use crate::plumbing::packet::Packet;
use crate::plumbing::packet_queue::PacketQueue;
use crate::plumbing::qdisc::{Dequeue, DropReason, Head, Qdisc, Signals};
use crate::plumbing::scheme::Scheme;
use crate::plumbing::spec::Spec;
use gentle_units::Instant;
use std::collections::{BTreeMap, HashMap};

/// Shortest remaining processing time with a limit in bytes.
pub static SCHEME: Scheme = Scheme {
    name: "srpt",
    summary: "ideal, not deployable: serves the flow with least left to send; a full queue drops from the flow with \
              most left to send",
    source: "Schrage 1968; pFabric: Alizadeh et al. 2013",
    options: &[OptionSpec {
        name: "limit",
        kind: Kind::Size(1, 1 << 31),
        default: Some("32mb"),
        help: "bytes the queue holds",
    }],
    drops: &[DropReason::PushOut],
    samples: &["limit=20kb"],
    ..Scheme::PLAIN
};

pub(crate) fn build<P: Packet + Send + 'static>(spec: &Spec, _seed: u64) -> Box<dyn Qdisc<P>> {
    Box::new(Srpt {
        order: BTreeMap::new(),
        places: HashMap::new(),
        arrivals: 0,
        packets: 0,
        backlog: 0,
        limit: spec.options().size("limit"),
    })
}

/// Key of a flow in the order of service: the bytes that it has left to send, then the number of the packet with which it
/// became backlogged, which breaks ties in favour of the flow that waits longer.
type Place = (u64, u64);

#[derive(Debug)]
struct Srpt<P> {
    /// Flows with packets, those with least left first.
    order: BTreeMap<Place, (u64, PacketQueue<P>)>,
    /// Where each of these flows is in the order.
    places: HashMap<u64, Place>,
    arrivals: u64,
    packets: usize,
    backlog: u64,
    limit: u64,
}

impl<P: Packet> Srpt<P> {
    /// Removes the packet that `pop` takes from the queue of the flow at `place`.
    fn take(&mut self, place: Place, pop: fn(&mut PacketQueue<P>) -> Option<P>) -> Option<P> {
        let (flow, queue) = self.order.get_mut(&place)?;
        let (flow, packet) = (*flow, pop(queue));
        if queue.is_empty() {
            self.order.remove(&place);
            self.places.remove(&flow);
        }
        let packet = packet?;
        self.packets -= 1;
        self.backlog -= u64::from(packet.bytes());
        Some(packet)
    }
}

impl<P: Packet + Send> Qdisc<P> for Srpt<P> {
    fn enqueue(&mut self, now: Instant, mut packet: P, signals: &mut Signals<P>) {
        packet.set_arrived(now);
        let flow = packet.flow();
        let bytes = u64::from(packet.bytes());
        let left = packet.remaining().unwrap_or(bytes);
        let before = self.places.get(&flow).copied();
        let place = (left, before.map_or(self.arrivals, |(_, since)| since));
        self.arrivals += 1;
        let waiting = before.and_then(|before| self.order.remove(&before));
        let (_, mut queue) = waiting.unwrap_or_else(|| (flow, PacketQueue::default()));
        queue.push_back(packet);
        self.order.insert(place, (flow, queue));
        self.places.insert(flow, place);
        self.packets += 1;
        self.backlog += bytes;
        while self.backlog > self.limit
            && let Some((&place, _)) = self.order.last_key_value()
        {
            if let Some(packet) = self.take(place, PacketQueue::pop_back) {
                signals.dropped(packet, DropReason::PushOut);
            }
        }
    }

    fn dequeue(&mut self, _now: Instant, _signals: &mut Signals<P>) -> Dequeue<P> {
        let first = self.order.first_key_value().map(|(place, _)| *place);
        first.and_then(|place| self.take(place, PacketQueue::pop_front)).into()
    }

    fn len(&self) -> usize {
        self.packets
    }

    fn backlog(&self) -> u64 {
        self.backlog
    }

    fn head(&self) -> Head {
        let first = self.order.first_key_value();
        first.and_then(|(_, (_, queue))| queue.front()).into()
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{TestPacket, build};
    use crate::{Dequeue, DropReason, Signals};
    use gentle_units::Instant;

    /// Numbers of the packets that leave, and of those that are dropped, when all arrive at once.
    fn order(spec: &str, packets: &[TestPacket]) -> (Vec<u32>, Vec<u32>) {
        let mut queue = build(spec);
        let mut signals = Signals::new();
        for (id, packet) in (0..).zip(packets) {
            queue.enqueue(Instant::ZERO, packet.numbered(id), &mut signals);
        }
        let mut left = Vec::new();
        while let Dequeue::Packet(packet) = queue.dequeue(Instant::ZERO, &mut signals) {
            left.push(packet.id);
        }
        let dropped = signals.drain().map(|(packet, why)| {
            assert_eq!(why, DropReason::PushOut);
            packet.id
        });
        (left, dropped.collect())
    }

    fn data(flow: u64, remaining: u64) -> TestPacket {
        TestPacket::data(flow, 1000).with_remaining(remaining)
    }

    #[test]
    fn the_flow_with_least_left_goes_first_with_its_packets_in_order() {
        // The second flow says at last that it has 500 bytes left, less than the third.
        let packets = [data(1, 9000), data(2, 2500), data(3, 1000), data(2, 1500), data(2, 500), data(1, 8000)];
        assert_eq!(order("srpt", &packets).0, [1, 3, 4, 2, 0, 5]);
    }

    #[test]
    fn of_flows_with_equally_much_left_the_one_that_waits_longer_goes_first() {
        let packets = [data(2, 100), data(1, 100), data(2, 100)];
        assert_eq!(order("srpt", &packets).0, [0, 2, 1]);
    }

    #[test]
    fn a_datagram_has_only_itself_left() {
        let packets = [data(1, 500), TestPacket::data(2, 400), data(3, 300)];
        assert_eq!(order("srpt", &packets).0, [2, 1, 0]);
    }

    #[test]
    fn a_full_queue_drops_the_last_packet_of_the_flow_with_most_left() {
        let packets = [data(1, 9000), data(1, 8000), data(2, 4000), data(2, 3000), data(3, 100)];
        let (left, dropped) = order("srpt limit=3000", &packets);
        assert_eq!((left, dropped), (vec![4, 2, 3], vec![1, 0]));
    }
}
