//! `las`: least attained service, exactly (Kleinrock, Queueing Systems, volume 2, 1976; Rai, Urvoy-Keller and Biersack,
//! "Analysis of LAS scheduling for job size distributions with high variance", SIGMETRICS 2003). An ideal to compare
//! with: it keeps a counter for every flow forever and sorts packets, so no router can have it.

use crate::plumbing::options::{Kind, OptionSpec};
use crate::plumbing::packet::Packet;
use crate::plumbing::qdisc::{Dequeue, DropReason, Qdisc, Signals};
use crate::plumbing::scheme::Scheme;
use crate::plumbing::spec::Spec;
use gentle_units::Instant;
use std::collections::{BTreeMap, HashMap};

/// Least attained service with a limit in bytes.
pub static SCHEME: Scheme = Scheme {
    name: "las",
    summary: "ideal, not deployable: serves the flow that has sent least; a full queue drops from the flow that has \
              sent most",
    source: "Rai, Urvoy-Keller and Biersack 2003",
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
    Box::new(Las {
        flows: HashMap::new(),
        packets: BTreeMap::new(),
        arrivals: 0,
        backlog: 0,
        limit: spec.options().size("limit"),
    })
}

#[derive(Debug)]
struct Las<P> {
    /// Bytes that each flow has sent.
    flows: HashMap<u64, u64>,
    /// By what the flow had sent before the packet, then by arrival.
    packets: BTreeMap<(u64, u64), P>,
    arrivals: u64,
    backlog: u64,
    limit: u64,
}

impl<P: Packet + Send> Qdisc<P> for Las<P> {
    fn enqueue(&mut self, now: Instant, mut packet: P, signals: &mut Signals<P>) {
        packet.set_arrived(now);
        let sent = self.flows.entry(packet.flow()).or_default();
        let before = *sent;
        *sent += u64::from(packet.bytes());
        self.backlog += u64::from(packet.bytes());
        self.packets.insert((before, self.arrivals), packet);
        self.arrivals += 1;
        while self.backlog > self.limit
            && let Some((_, packet)) = self.packets.pop_last()
        {
            self.backlog -= u64::from(packet.bytes());
            signals.dropped(packet, DropReason::PushOut);
        }
    }

    fn dequeue(&mut self, _now: Instant, _signals: &mut Signals<P>) -> Dequeue<P> {
        let Some((_, packet)) = self.packets.pop_first() else {
            return Dequeue::Empty;
        };
        self.backlog -= u64::from(packet.bytes());
        Dequeue::Packet(packet)
    }

    fn len(&self) -> usize {
        self.packets.len()
    }

    fn backlog(&self) -> u64 {
        self.backlog
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{TestPacket, build};
    use crate::{Dequeue, DropReason, Signals};
    use gentle_units::Instant;

    #[test]
    fn the_flow_that_has_sent_least_goes_first_and_the_one_that_has_sent_most_loses() {
        let mut queue = build("las limit=5000");
        let mut signals = Signals::new();
        for (id, (flow, bytes)) in
            [(1, 1000), (1, 1000), (1, 1000), (2, 900), (2, 100), (3, 1500)].into_iter().enumerate()
        {
            let packet = TestPacket::data(flow, bytes).numbered(id as u32);
            queue.enqueue(Instant::ZERO, packet, &mut signals);
        }
        let dropped: Vec<_> = signals.drain().map(|(packet, why)| (packet.id, why)).collect();
        assert_eq!(dropped, [(2, DropReason::PushOut)]);
        let mut order = Vec::new();
        while let Dequeue::Packet(packet) = queue.dequeue(Instant::ZERO, &mut signals) {
            order.push(packet.id);
        }
        assert_eq!(order, [0, 3, 5, 4, 1]);
    }
}
