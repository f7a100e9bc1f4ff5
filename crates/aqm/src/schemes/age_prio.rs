//! `age_prio`: strict priority by the age of flows, each band a queue of its own. What `gentle` is on kernels without its
//! module: Linux's `prio` with a classifier in BPF (`crates/deploy/bpf/ages.c`).
//!
//! The law of ages is that of `gentle` (`laws/flow_ages.rs`), with 512 flows. A classifier does not see packets leave, so
//! that it cannot measure the rate of the link: the largest number of bytes that arrived in a second stands for it.

use crate::laws::flow_ages::{self, FlowAges};
use crate::plumbing::flow_hash::FlowHash;
use crate::plumbing::packet::Packet;
use crate::plumbing::qdisc::{Dequeue, Qdisc, Signals};
use crate::plumbing::scheme::{
    Conformance, Hashing, KernelQdisc, Order, Scheme, StockParts, TcSyntax,
};
use crate::plumbing::spec::Spec;
use crate::schemes::codel;
use gentle_units::Instant;
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Priority by age, by default over CoDel.
pub static SCHEME: Scheme = Scheme {
    name: "age_prio",
    summary: "flows that have sent little go first, in bands by age, each band a queue of its own: gentle without its module",
    source: "docs/gentle.md; Linux sch_prio.c and cls_bpf.c",
    options: &[flow_ages::BANDS, flow_ages::FIRST, flow_ages::FORGIVE],
    child: Some(&codel::SCHEME),
    // A flow that has been forgiven may overtake what it sent before.
    order: |_| Order {
        fifo: false,
        ..Order::FIFO
    },
    linux: Some(TcSyntax {
        stock: Some(StockParts::AgeClassifier),
        ..TcSyntax::plain(&KernelQdisc {
            openwrt_package: Some("kmod-sched-prio"),
            ..KernelQdisc::of_linux("prio")
        })
    }),
    conformance: Conformance {
        hash: Hashing::Whole,
        ..Conformance::EXACT
    },
    samples: &["bands=2 first=64 forgive=0", "bands=15 forgive=300"],
    ..Scheme::PLAIN
};

/// Flows whose ages are known: the table of the classifier.
const FLOWS: u32 = 512;

pub(crate) fn build<P: Packet + Send + 'static>(spec: &Spec, seed: u64) -> Box<dyn Qdisc<P>> {
    let options = spec.options();
    let child = spec.child().expect("a wrapper has a child");
    let bands = options.count(flow_ages::BANDS.name);
    let hash = FlowHash::draw(&mut Xoshiro256PlusPlus::seed_from_u64(seed));
    Box::new(AgePrio {
        // The children see the same hash of a packet.
        bands: (0..bands).map(|_| super::build(child, seed)).collect(),
        ages: FlowAges::new(FLOWS, options, hash),
        arrived: 0,
        peak: 0,
    })
}

/// Part of the peak that a second takes away: a link that was busy minutes ago still has that rate.
const FADING: u64 = 64;

/// Priority by age.
struct AgePrio<P> {
    /// From the youngest to the oldest.
    bands: Box<[Box<dyn Qdisc<P>>]>,
    ages: FlowAges,
    /// Bytes that have arrived in this period.
    arrived: u64,
    /// Largest number of bytes that have arrived in a period, fading.
    peak: u64,
}

impl<P: Packet> AgePrio<P> {
    fn band(&mut self, now: Instant, packet: &P) -> usize {
        if self.ages.ends_period(now) {
            self.peak = (self.peak - self.peak / FADING).max(self.arrived);
            self.arrived = 0;
        }
        let bytes = packet.bytes();
        self.arrived += u64::from(bytes);
        self.ages.band(now, packet.flow(), bytes, Some(self.peak))
    }
}

impl<P: Packet + Send> Qdisc<P> for AgePrio<P> {
    fn enqueue(&mut self, now: Instant, packet: P, signals: &mut Signals<P>) {
        let band = self.band(now, &packet);
        self.bands[band].enqueue(now, packet, signals);
    }

    fn dequeue(&mut self, now: Instant, signals: &mut Signals<P>) -> Dequeue<P> {
        let mut answer = Dequeue::Empty;
        for band in &mut self.bands {
            answer = answer.or_else(|| band.dequeue(now, signals));
            if matches!(answer, Dequeue::Packet(_)) {
                break;
            }
        }
        answer
    }

    fn len(&self) -> usize {
        self.bands.iter().map(|band| band.len()).sum()
    }

    fn backlog(&self) -> u64 {
        self.bands.iter().map(|band| band.backlog()).sum()
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{TestPacket, build};
    use crate::{Dequeue, Qdisc, Signals};
    use gentle_units::Instant;

    fn flows(queue: &mut dyn Qdisc<TestPacket>, now: Instant) -> Vec<u64> {
        let mut signals = Signals::new();
        let mut flows = Vec::new();
        while let Dequeue::Packet(packet) = queue.dequeue(now, &mut signals) {
            flows.push(crate::Packet::flow(&packet));
        }
        flows
    }

    #[test]
    fn young_flows_are_served_first() {
        let mut queue = build("age_prio first=1000 child=pfifo");
        let mut signals = Signals::new();
        for flow in [1, 1, 1, 2, 1, 2] {
            queue.enqueue(Instant::ZERO, TestPacket::data(flow, 1000), &mut signals);
        }
        assert_eq!(flows(&mut *queue, Instant::ZERO), [1, 2, 1, 2, 1, 1]);
    }

    #[test]
    fn every_band_has_a_limit_of_its_own() {
        let mut queue = build("age_prio first=1000 child=pfifo limit=2");
        let mut signals = Signals::new();
        for _ in 0..16 {
            queue.enqueue(Instant::ZERO, TestPacket::data(1, 1000), &mut signals);
        }
        // Of ages 0, 1, 2 and 3, 4 to 7, and 8 to 15 packets, the bands take 1, 1, 2, 2 and 2.
        assert_eq!((queue.len(), signals.len()), (8, 8));
    }

    #[test]
    fn what_arrives_stands_for_the_rate_of_the_link() {
        let mut queue = build("age_prio first=1000 forgive=100 child=pfifo");
        let mut signals = Signals::new();
        let mut offer = |queue: &mut dyn Qdisc<TestPacket>, ms, flow, packets| {
            for _ in 0..packets {
                let packet = TestPacket::data(flow, 1000);
                queue.enqueue(Instant::from_millis(ms), packet, &mut signals);
            }
        };
        offer(&mut *queue, 0, 1, 40);
        offer(&mut *queue, 0, 2, 40);
        // No flow was in debt, and 80,000 bytes arrived: nothing of the link was left.
        offer(&mut *queue, 1000, 1, 1);
        offer(&mut *queue, 1000, 2, 1);
        // Both are in debt, so that each is forgiven half of the peak, 78,750 bytes by now: nearly all of 41,000.
        offer(&mut *queue, 2000, 3, 1);
        offer(&mut *queue, 2000, 1, 1);
        let last = flows(&mut *queue, Instant::from_millis(2000));
        // Of age zero; of 1000, and flow 1 again with an age of 1,625 bytes; of 2000 and 3000.
        assert_eq!(last[..10], [1, 2, 3, 1, 2, 1, 1, 1, 2, 2]);
        assert_eq!(last.len(), 84);
    }
}
