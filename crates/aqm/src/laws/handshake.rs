//! Priority of handshake packets over any two queues: the wrapper of `syn_prio`, `syn_fin_prio` and `spa`.
//!
//! Braud, Heusse and Duda, "The Virtue of Gentleness" (Networking 2018), section V. Each of the two queues has its own
//! state and limit, like two children of Linux's `prio`. The option `share` limits the bytes that priority packets may
//! take from waiting data: handshake packets beyond it queue as data (`laws/share.rs`). The kernel module
//! `kernel/sch_spa.c` makes the same decisions.

use crate::laws::share::{Admission, PriorityShare};
use crate::plumbing::options::{Kind, OptionSpec, Options};
use crate::plumbing::packet::Packet;
use crate::plumbing::qdisc::{Dequeue, DropReason, Qdisc, Signals};
use crate::plumbing::scheme::{Order, Preset, Priority};
use gentle_units::Instant;

pub(crate) const FIN: OptionSpec = OptionSpec {
    name: "fin",
    kind: Kind::Choice(&["none", "priority"]),
    default: Some("none"),
    help: "treatment of FINs: as data (none), or in the priority queue, as published (priority)",
};

/// The longest SYN without data has 120 bytes: an IPv4 header of 60 bytes with options (or IPv6 and 20 bytes of
/// extensions) and a TCP header of 60 bytes with options. The default is the next length that a `tc` filter can compare
/// with a single mask, of the bits above the lowest seven. A SYN with data (TCP Fast Open, RFC 7413) or a FIN on a full
/// segment is longer and queues with data.
pub(crate) const MAXLEN: OptionSpec = OptionSpec {
    name: "maxlen",
    kind: Kind::Count(0, 65_535),
    default: Some("127"),
    help: "maximum length in bytes of an IP packet with priority; a longer packet is data despite SYN or FIN; 0: no check",
};

/// The scheme as published: FINs have priority, and neither length nor share of priority packets is limited.
pub(crate) const PUBLISHED: Preset = Preset { name: "published", options: "fin=priority maxlen=0 share=100" };

/// Samples for the wrappers that have all options.
pub(crate) const SAMPLES: &[&str] =
    &["share=1", "fin=priority maxlen=0 share=100", "fin=priority maxlen=0 share=50", "fin=none share=100"];

/// Whether FINs have priority; they have none in a scheme without the option [`FIN`].
fn fins(options: &Options) -> bool {
    let has_option = options.specs().iter().any(|option| option.name == FIN.name);
    has_option && options.choice(FIN.name) == "priority"
}

/// The value of [`MAXLEN`] in bytes; `u32::MAX` for no check.
pub(crate) fn maxlen(options: &Options) -> u32 {
    match options.count(MAXLEN.name) {
        0 => u32::MAX,
        bytes => bytes as u32,
    }
}

/// Order in which a wrapper sends the packets of a flow.
pub(crate) fn order(options: &Options) -> Order {
    Order {
        priority: Some(Priority {
            fins: fins(options),
            maxlen: maxlen(options),
            strict: options.count("share") == 100,
            protected_bytes: None,
        }),
        ..Order::FIFO
    }
}

/// Two queues; the one for handshake packets is served first.
#[derive(Debug)]
pub(crate) struct HandshakePriority<Q> {
    high: Q,
    low: Q,
    /// Whether FINs have priority.
    fins: bool,
    /// Maximum length of a priority packet in bytes; `u32::MAX`: no check.
    maxlen: u32,
    share: PriorityShare,
}

impl<Q> HandshakePriority<Q> {
    /// The wrapper with the options of a scheme over the empty queues `high` and `low`.
    pub(crate) fn new(options: &Options, high: Q, low: Q) -> Self {
        HandshakePriority {
            high,
            low,
            fins: fins(options),
            maxlen: maxlen(options),
            share: PriorityShare::new(options.count("share") as u8),
        }
    }

    fn has_priority<P: Packet>(&self, packet: &P) -> bool {
        let flags = packet.handshake();
        (flags.syn || (flags.fin && self.fins)) && packet.ip_bytes() <= self.maxlen
    }
}

impl<P: Packet + Send, Q: Qdisc<P>> Qdisc<P> for HandshakePriority<Q> {
    fn enqueue(&mut self, now: Instant, packet: P, signals: &mut Signals<P>) {
        let admission = if self.has_priority(&packet) {
            let waiting = !self.high.is_empty() || !self.low.is_empty();
            self.share.admit(packet.bytes(), waiting)
        } else {
            Admission::AsData
        };
        match admission {
            Admission::First => self.high.enqueue(now, packet, signals),
            Admission::AsData => self.low.enqueue(now, packet, signals),
            Admission::Refused => signals.dropped(packet, DropReason::Overlimit),
        }
    }

    fn dequeue(&mut self, now: Instant, signals: &mut Signals<P>) -> Dequeue<P> {
        let first = self.high.dequeue(now, signals);
        let answer = first.or_else(|| self.low.dequeue(now, signals));
        if let Dequeue::Packet(packet) = &answer {
            self.share.on_sent(packet.bytes());
        }
        answer
    }

    fn len(&self) -> usize {
        self.high.len() + self.low.len()
    }

    fn backlog(&self) -> u64 {
        self.high.backlog() + self.low.backlog()
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{TestPacket, build};
    use crate::{DropReason, Qdisc, Signals};
    use gentle_units::Instant;

    const MTU: u32 = 1514;

    fn offer(queue: &mut dyn Qdisc<TestPacket>, packets: &[TestPacket]) -> Vec<(TestPacket, DropReason)> {
        let mut drops = Signals::new();
        for packet in packets {
            queue.enqueue(Instant::ZERO, *packet, &mut drops);
        }
        drops.drain().collect()
    }

    /// Dequeues all packets and returns their numbers.
    fn numbers(queue: &mut dyn Qdisc<TestPacket>) -> Vec<u32> {
        let mut drops = Signals::new();
        std::iter::from_fn(|| queue.dequeue(Instant::ZERO, &mut drops).packet().map(|p| p.id)).collect()
    }

    fn mixed() -> [TestPacket; 4] {
        [
            TestPacket::data(1, MTU).numbered(1),
            TestPacket::fin(1).numbered(2),
            TestPacket::data(2, MTU).numbered(3),
            TestPacket::syn(3).numbered(4),
        ]
    }

    #[test]
    fn who_goes_first() {
        for (spec, order) in [
            ("syn_prio", [4, 1, 2, 3]),
            ("syn_fin_prio fin=priority", [2, 4, 1, 3]),
            ("spa fin=priority", [2, 4, 1, 3]),
            ("spa", [4, 1, 2, 3]),
            ("spa fin=none child=pie", [4, 1, 2, 3]),
            ("spa fin=priority maxlen=51", [1, 2, 3, 4]),
        ] {
            let mut queue = build(spec);
            assert!(offer(&mut *queue, &mixed()).is_empty(), "{spec}");
            assert_eq!(numbers(&mut *queue), order, "{spec}");
        }
    }

    #[test]
    fn flags_on_data_buy_no_priority_unless_unchecked() {
        let packets = [
            TestPacket::data(1, MTU).numbered(1),
            TestPacket::syn(1).of_bytes(MTU).numbered(2),
            TestPacket::fin(1).of_bytes(MTU).numbered(3),
        ];
        for (spec, order) in [("spa fin=priority", [1, 2, 3]), ("spa fin=priority maxlen=0", [2, 3, 1])] {
            let mut queue = build(spec);
            offer(&mut *queue, &packets);
            assert_eq!(numbers(&mut *queue), order, "{spec}");
        }
    }

    #[test]
    fn each_child_has_its_own_limit() {
        let mut queue = build("syn_prio limit=2");
        let syns = [TestPacket::syn(1); 3];
        let data = [TestPacket::data(1, MTU); 3];
        assert_eq!(offer(&mut *queue, &syns).len(), 1);
        assert_eq!(offer(&mut *queue, &data).len(), 1);
        assert_eq!(queue.len(), 4);
    }

    /// Bytes of SYNs and of data among the first `bytes` that leave a link, while 100 data packets wait and SYNs arrive at
    /// this percentage of its rate; and the number of SYNs that were dropped.
    fn flood(share: u8, percent: u64, bytes: u64) -> (u64, u64, usize) {
        let mut queue = build(&format!("syn_prio limit=100000 share={share}"));
        let mut drops = Signals::new();
        let (mut arrived, mut syns, mut data) = (0, 0, 0);
        offer(&mut *queue, &[TestPacket::data(1, MTU); 100]);
        while syns + data < bytes {
            while arrived < percent * (syns + data) / 100 {
                queue.enqueue(Instant::ZERO, TestPacket::syn(2), &mut drops);
                arrived += 74;
            }
            let packet = queue.dequeue(Instant::ZERO, &mut drops).packet().unwrap();
            if packet.flags.syn {
                syns += u64::from(packet.bytes);
            } else {
                data += u64::from(packet.bytes);
                offer(&mut *queue, &[TestPacket::data(1, MTU)]);
            }
        }
        (syns, data, drops.len())
    }

    #[test]
    fn syns_beyond_the_share_wait_as_data_does() {
        for share in [1, 10, 25, 50, 75] {
            // While the first 100 packets of data wait, what goes first is all that is sent of the flood.
            let (syns, data, _) = flood(share, 500, 75_000);
            let part = u64::from(share) * (syns + data) / 100;
            assert!(syns <= part + 15_140 + 74, "{share}: {syns} of {part}");
            assert!(syns + 5_000 >= part, "{share}: {syns} of {part}");
        }
        let (_, data, _) = flood(100, 500, 75_000);
        assert!(data <= u64::from(MTU), "without a limit, data starves: {data}");
    }

    #[test]
    fn data_keeps_half_of_the_rest_in_any_flood() {
        for share in [1, 25, 50, 90] {
            let (syns, data, _) = flood(share, 1000, 10_000_000);
            let least = f64::from(100 - share) / 200.0;
            let part = data as f64 / (syns + data) as f64;
            assert!((part - least).abs() < 0.02, "{share}: {part}");
        }
    }

    #[test]
    fn a_flood_of_no_more_than_the_rest_costs_no_syn() {
        // Twice the share. The rest waits behind 100 packets of data.
        let (syns, _, drops) = flood(25, 60, 10_000_000);
        assert!(syns > 5_800_000 && drops == 0, "{syns} {drops}");
        let (.., drops) = flood(25, 70, 10_000_000);
        assert!(drops > 0);
    }
}
