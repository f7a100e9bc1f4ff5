//! Priority of handshake packets over any two queues: the wrapper of `syn_prio`, `syn_fin_prio` and `spa`.
//!
//! Braud, Heusse and Duda, "The Virtue of Gentleness" (Networking 2018), section V. Each of the two queues has its own
//! state and limit, like two children of Linux's `prio`. The option `share` limits the bytes that priority packets may
//! take while data waits. The kernel module `kernel/sch_spa.c` makes the same decisions.

use crate::laws::share::PriorityShare;
use crate::plumbing::options::{Kind, OptionSpec, Options};
use crate::plumbing::packet::Packet;
use crate::plumbing::qdisc::{Dequeue, Qdisc, Signals};
use crate::plumbing::scheme::{FinRule, Order, Preset, Priority};
use gentle_units::Instant;
use std::collections::VecDeque;

pub(crate) const FIN: OptionSpec = OptionSpec {
    name: "fin",
    kind: Kind::Choice(&["inorder", "priority", "none"]),
    default: Some("inorder"),
    help: "treatment of FINs: behind their data and not dropped, the next packet is marked or dropped instead (inorder); in the priority queue, as published (priority); as data (none)",
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

pub(crate) const HELD: OptionSpec = OptionSpec {
    name: "held",
    kind: Kind::Count(0, 100_000),
    default: Some("1000"),
    help: "with fin=inorder: maximum number of FINs kept after the queue has dropped them",
};

/// The scheme as published: FINs have priority, and neither length nor share of priority packets is limited.
pub(crate) const PUBLISHED: Preset = Preset {
    name: "published",
    options: "fin=priority maxlen=0 share=100",
};

/// Samples for the wrappers that have all options.
pub(crate) const SAMPLES: &[&str] = &[
    "fin=inorder share=100",
    "fin=inorder held=2 share=1",
    "fin=priority maxlen=0 share=100",
    "fin=priority maxlen=0 share=50",
    "fin=none",
];

/// The value of [`FIN`]; a scheme without that option treats a FIN as data.
fn fin_rule(options: &Options) -> FinRule {
    if options.specs().iter().all(|option| option.name != FIN.name) {
        return FinRule::None;
    }
    match options.choice(FIN.name) {
        "priority" => FinRule::Priority,
        "inorder" => FinRule::InOrder,
        _ => FinRule::None,
    }
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
            fin: fin_rule(options),
            maxlen: maxlen(options),
            share: Some(options.count("share")),
            protected_bytes: None,
        }),
        ..Order::FIFO
    }
}

/// Two queues; the one for handshake packets is served first.
#[derive(Debug)]
pub struct HandshakePriority<P, Q> {
    high: Q,
    low: Q,
    fin: FinRule,
    /// Maximum length of a priority packet in bytes; `u32::MAX`: no check.
    maxlen: u32,
    fins: RetainedFins<P>,
    share: PriorityShare,
    held_back: u64,
}

impl<P: Packet, Q: Qdisc<P>> HandshakePriority<P, Q> {
    /// The wrapper with the options of a scheme over the empty queues `high` and `low`.
    pub(crate) fn from_options(options: &Options, high: Q, low: Q) -> Self {
        let fin = fin_rule(options);
        let held = match fin {
            FinRule::InOrder => options.count("held") as usize,
            FinRule::Priority | FinRule::None => 0,
        };
        HandshakePriority::new(
            high,
            low,
            fin,
            options.count(MAXLEN.name) as u32,
            held,
            options.count("share") as u8,
        )
    }

    /// A wrapper that serves `high` before `low`.
    ///
    /// * `maxlen`: maximum of [`Packet::ip_bytes`] for priority, in bytes; 0: no check;
    /// * `held`: maximum number of FINs kept under [`FinRule::InOrder`] after `low` has dropped them;
    /// * `share`: percentage of the bytes that `high` may send while `low` waits, 1 to 100; 100: no limit.
    pub fn new(high: Q, low: Q, fin: FinRule, maxlen: u32, held: usize, share: u8) -> Self {
        HandshakePriority {
            high,
            low,
            fin,
            maxlen: if maxlen == 0 { u32::MAX } else { maxlen },
            fins: RetainedFins::new(held),
            share: PriorityShare::new(share),
            held_back: 0,
        }
    }

    /// The number of data packets sent while priority packets waited because their share was exhausted.
    pub fn held_back(&self) -> u64 {
        self.held_back
    }

    /// True if a packet without priority is queued.
    fn data_waits(&self) -> bool {
        !self.low.is_empty() || self.fins.len() > 0
    }

    fn has_priority(&self, packet: &P) -> bool {
        let flags = packet.handshake();
        (flags.syn || (flags.fin && self.fin == FinRule::Priority))
            && packet.ip_bytes() <= self.maxlen
    }

    fn is_protected(&self, packet: &P) -> bool {
        self.fin == FinRule::InOrder && packet.handshake().fin && packet.ip_bytes() <= self.maxlen
    }

    fn enqueue_low(&mut self, now: Instant, mut packet: P, signals: &mut Signals<P>) {
        packet.set_arrived(now);
        self.fins.on_enqueue(now);
        let before = signals.len();
        self.low.enqueue(now, packet, signals);
        if signals.len() == before || self.fin != FinRule::InOrder {
            return;
        }
        for (dropped, _) in signals.since(before) {
            self.fins.on_departure(dropped.arrived());
        }
        let mut index = before;
        while let Some((dropped, _)) = signals.get(index) {
            if self.is_protected(dropped) && self.fins.has_room() {
                let (fin, _) = signals.remove(index);
                self.fins.hold(now, fin, self.low.len());
            } else {
                index += 1;
            }
        }
    }

    fn dequeue_low(&mut self, now: Instant, signals: &mut Signals<P>) -> Dequeue<P> {
        let before = signals.len();
        let answer = self.low.dequeue(now, signals);
        if self.fin != FinRule::InOrder {
            return answer;
        }
        if let Dequeue::Packet(packet) = &answer {
            self.fins.on_departure(packet.arrived());
        }
        if signals.len() == before {
            return answer;
        }
        let (packet, otherwise) = match answer {
            Dequeue::Packet(packet) => (Some(packet), Dequeue::Empty),
            answer => (None, answer),
        };
        self.retain_fins(before, packet, signals)
            .map_or(otherwise, Dequeue::Packet)
    }

    fn dequeue_data(&mut self, now: Instant, signals: &mut Signals<P>) -> Dequeue<P> {
        let answer = Dequeue::from(self.fins.pop())
            .or_else(|| self.dequeue_low(now, signals))
            .or_else(|| self.fins.pop().into());
        if let Dequeue::Packet(packet) = &answer {
            self.share.on_data_sent(packet.bytes());
        }
        answer
    }

    fn dequeue_high(&mut self, now: Instant, signals: &mut Signals<P>) -> Dequeue<P> {
        let answer = self.high.dequeue(now, signals);
        if let Dequeue::Packet(packet) = &answer
            && self.data_waits()
        {
            self.share.on_priority_sent(packet.bytes());
        }
        answer
    }

    /// Withdraws the drops of FINs after the first `before` drops and returns the first of these FINs. `packet`, the
    /// next to be sent, takes the congestion signal in their place: it is marked and follows the FINs, or it is
    /// dropped.
    fn retain_fins(
        &mut self,
        before: usize,
        packet: Option<P>,
        signals: &mut Signals<P>,
    ) -> Option<P> {
        let mut first_reason = None;
        let mut index = before;
        while let Some((dropped, _)) = signals.get(index) {
            self.fins.on_departure(dropped.arrived());
            if self.is_protected(dropped) && self.fins.has_room() {
                let (fin, reason) = signals.remove(index);
                self.fins.push_ready(fin);
                first_reason.get_or_insert(reason);
            } else {
                index += 1;
            }
        }
        let Some(reason) = first_reason else {
            return packet;
        };
        let fin = self.fins.pop();
        if let Some(mut packet) = packet {
            if self.is_protected(&packet) || self.low.mark_departed(&mut packet, signals) {
                self.fins.push_ready(packet);
            } else {
                signals.dropped(packet, reason);
            }
        }
        fin
    }
}

impl<P: Packet + Send, Q: Qdisc<P>> Qdisc<P> for HandshakePriority<P, Q> {
    fn enqueue(&mut self, now: Instant, packet: P, signals: &mut Signals<P>) {
        if self.has_priority(&packet) {
            self.high.enqueue(now, packet, signals);
        } else {
            self.enqueue_low(now, packet, signals);
        }
    }

    fn dequeue(&mut self, now: Instant, signals: &mut Signals<P>) -> Dequeue<P> {
        if self.share.is_exhausted() && self.data_waits() {
            let answer = self.dequeue_data(now, signals);
            if matches!(answer, Dequeue::Packet(_)) {
                self.held_back += u64::from(!self.high.is_empty());
            }
            return answer.or_else(|| self.dequeue_high(now, signals));
        }
        self.dequeue_high(now, signals)
            .or_else(|| self.dequeue_data(now, signals))
    }

    fn len(&self) -> usize {
        self.high.len() + self.low.len() + self.fins.len()
    }

    fn backlog(&self) -> u64 {
        self.high.backlog() + self.low.backlog() + self.fins.bytes
    }
}

/// FINs that the data queue has dropped and that are sent nevertheless.
#[derive(Debug)]
struct RetainedFins<P> {
    /// Packets to send before those of the data queue.
    ready: VecDeque<P>,
    /// FINs dropped on arrival or pushed out: each waits until the packets queued before it have left.
    held: VecDeque<HeldFin<P>>,
    /// Packets in the data queue that held FINs wait for: the sum of [`HeldFin::ahead`].
    awaited: usize,
    bytes: u64,
    limit: usize,
}

/// A FIN that waits until all packets that arrived until `since` have left the data queue.
///
/// Packets of the data queue are identified by their time of arrival only, because the queue may reorder them
/// (FQ-CoDel). `ahead` counts the packets that no earlier held FIN counts.
#[derive(Debug)]
struct HeldFin<P> {
    fin: P,
    since: Instant,
    ahead: usize,
}

impl<P: Packet> RetainedFins<P> {
    fn new(limit: usize) -> Self {
        RetainedFins {
            ready: VecDeque::new(),
            held: VecDeque::new(),
            awaited: 0,
            bytes: 0,
            limit,
        }
    }

    fn has_room(&self) -> bool {
        self.len() < self.limit
    }

    /// Counts a packet that is offered to the data queue at `now`.
    fn on_enqueue(&mut self, now: Instant) {
        if let Some(held) = self.counter_of(now) {
            held.ahead += 1;
            self.awaited += 1;
        }
    }

    /// Counts the departure from the data queue, by a drop or not, of a packet that had arrived at `arrived`.
    fn on_departure(&mut self, arrived: Instant) {
        if let Some(held) = self.counter_of(arrived) {
            held.ahead -= 1;
            self.awaited -= 1;
        }
    }

    /// The FIN that counts packets that arrived at `arrived`: the first held at that time or later.
    fn counter_of(&mut self, arrived: Instant) -> Option<&mut HeldFin<P>> {
        let index = self.held.partition_point(|held| held.since < arrived);
        self.held.get_mut(index)
    }

    /// Holds a FIN until the `queued` packets that are in the data queue at `now` have left.
    fn hold(&mut self, now: Instant, fin: P, queued: usize) {
        let ahead = queued - self.awaited;
        self.awaited = queued;
        self.bytes += u64::from(fin.bytes());
        self.held.push_back(HeldFin {
            fin,
            since: now,
            ahead,
        });
    }

    /// Appends a packet to those that are ready to be sent.
    fn push_ready(&mut self, packet: P) {
        self.bytes += u64::from(packet.bytes());
        self.ready.push_back(packet);
    }

    /// Removes the next packet that may be sent.
    fn pop(&mut self) -> Option<P> {
        let packet = match self.ready.pop_front() {
            Some(packet) => packet,
            None if self.held.front()?.ahead == 0 => self.held.pop_front()?.fin,
            None => return None,
        };
        self.bytes -= u64::from(packet.bytes());
        Some(packet)
    }

    fn len(&self) -> usize {
        self.ready.len() + self.held.len()
    }
}

#[cfg(test)]
mod tests {
    use crate::laws::fifo::{Fifo, Limit};
    use crate::testing::{TestPacket, build};
    use crate::{Dequeue, DropReason, FinRule, Qdisc, Signals};
    use gentle_units::{Instant, Nanos};

    const MTU: u32 = 1514;

    fn offer(
        queue: &mut dyn Qdisc<TestPacket>,
        packets: &[TestPacket],
    ) -> Vec<(TestPacket, DropReason)> {
        let mut drops = Signals::new();
        for packet in packets {
            queue.enqueue(Instant::ZERO, *packet, &mut drops);
        }
        drops.drain().collect()
    }

    /// Dequeues all packets and returns their numbers.
    fn numbers(queue: &mut dyn Qdisc<TestPacket>) -> Vec<u32> {
        let mut drops = Signals::new();
        std::iter::from_fn(|| {
            queue
                .dequeue(Instant::ZERO, &mut drops)
                .packet()
                .map(|p| p.id)
        })
        .collect()
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
        for (spec, order) in [
            ("spa fin=priority", [1, 2, 3]),
            ("spa fin=priority maxlen=0", [2, 3, 1]),
        ] {
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

    #[test]
    fn a_fin_refused_by_a_full_queue_leaves_after_what_was_queued() {
        let mut queue = build("syn_fin_prio fin=inorder limit=2");
        let dropped = offer(
            &mut *queue,
            &[
                TestPacket::data(1, MTU).numbered(1),
                TestPacket::data(1, MTU).numbered(2),
                TestPacket::fin(1).numbered(3),
                TestPacket::data(2, MTU).numbered(9),
            ],
        );
        assert_eq!(dropped.len(), 1);
        assert_eq!(dropped[0].0.id, 9);
        assert_eq!((queue.len(), queue.backlog()), (3, 2 * u64::from(MTU) + 66));
        let mut drops = Signals::new();
        let first = queue.dequeue(Instant(1), &mut drops).packet().unwrap();
        // Later arrivals stay behind the FIN.
        queue.enqueue(Instant(1), TestPacket::data(2, MTU).numbered(4), &mut drops);
        assert_eq!((first.id, drops.len()), (1, 0));
        assert_eq!(numbers(&mut *queue), [2, 3, 4]);
        assert_eq!((queue.len(), queue.backlog()), (0, 0));
    }

    #[test]
    fn no_more_fins_are_held_than_allowed() {
        let mut queue = build("syn_fin_prio fin=inorder limit=1 held=2");
        let dropped = offer(&mut *queue, &[TestPacket::fin(1); 5]);
        assert_eq!((queue.len(), dropped.len()), (3, 2));
        assert_eq!(dropped[0].1, DropReason::Tail);
    }

    /// Bytes of SYNs and of data that leave under a flood of SYNs while data always waits, and the value of
    /// `held_back`.
    fn flood(share: u8, dequeues: u32) -> (u64, u64, u64) {
        let fifo = || Fifo::new(Limit::Packets(1000), Nanos::MAX);
        let mut queue =
            super::HandshakePriority::new(fifo(), fifo(), FinRule::InOrder, 142, 100, share);
        let mut drops = Signals::new();
        let (mut priority, mut data) = (0, 0);
        for _ in 0..dequeues {
            while queue.low.len() < 10 {
                queue.enqueue(Instant::ZERO, TestPacket::data(1, MTU), &mut drops);
            }
            while queue.high.len() < 10 {
                queue.enqueue(Instant::ZERO, TestPacket::syn(2), &mut drops);
            }
            let packet = queue.dequeue(Instant::ZERO, &mut drops).packet().unwrap();
            if packet.flags.syn {
                priority += u64::from(packet.bytes);
            } else {
                data += u64::from(packet.bytes);
            }
        }
        (priority, data, queue.held_back())
    }

    #[test]
    fn a_flood_of_syns_has_its_share_and_no_more() {
        for share in [1, 10, 25, 50, 75] {
            let (priority, data, held_back) = flood(share, 20_000);
            let part = u64::from(share) * (priority + data) / 100;
            assert!(priority <= part + 15_140, "{share}: {priority} of {part}");
            // A packet of data earns up to three times its length.
            assert!(priority + 5_000 >= part, "{share}: {priority} of {part}");
            assert_eq!(held_back, data / u64::from(MTU), "{share}");
        }
    }

    #[test]
    fn without_a_bound_a_flood_starves_data() {
        assert_eq!(flood(100, 400), (400 * 74, 0, 0));
    }

    #[test]
    fn priority_alone_is_never_held_back() {
        let mut queue = build("syn_prio share=1");
        for _ in 0..50 {
            assert!(offer(&mut *queue, &[TestPacket::syn(1); 20]).is_empty());
            assert_eq!(numbers(&mut *queue).len(), 20);
        }
        let packets = [
            TestPacket::data(1, MTU).numbered(1),
            TestPacket::syn(2).numbered(2),
        ];
        offer(&mut *queue, &packets);
        assert_eq!(numbers(&mut *queue), [2, 1]);
    }

    /// A child that drops every FIN on dequeue, as CoDel may.
    struct DropsFins(Fifo<TestPacket>);

    impl Qdisc<TestPacket> for DropsFins {
        fn enqueue(&mut self, now: Instant, packet: TestPacket, drops: &mut Signals<TestPacket>) {
            self.0.enqueue(now, packet, drops);
        }
        fn dequeue(
            &mut self,
            now: Instant,
            drops: &mut Signals<TestPacket>,
        ) -> Dequeue<TestPacket> {
            loop {
                let Dequeue::Packet(packet) = self.0.dequeue(now, drops) else {
                    return Dequeue::Empty;
                };
                if !packet.flags.fin {
                    return Dequeue::Packet(packet);
                }
                drops.dropped(packet, DropReason::Aqm);
            }
        }
        fn len(&self) -> usize {
            self.0.len()
        }
        fn backlog(&self) -> u64 {
            self.0.backlog()
        }
    }

    #[test]
    fn the_next_packet_is_dropped_in_place_of_a_fin() {
        let child = || DropsFins(Fifo::new(Limit::Packets(100), Nanos::MAX));
        let mut queue =
            super::HandshakePriority::new(child(), child(), FinRule::InOrder, 142, 100, 25);
        offer(
            &mut queue,
            &[
                TestPacket::data(1, MTU).numbered(1),
                TestPacket::fin(1).numbered(2),
                TestPacket::fin(2).numbered(3),
                TestPacket::data(3, MTU).numbered(4),
                TestPacket::data(3, MTU).numbered(5),
                TestPacket::fin(3).numbered(6),
            ],
        );
        let mut drops = Signals::new();
        let order: Vec<u32> =
            std::iter::from_fn(|| queue.dequeue(Instant(1), &mut drops).packet().map(|p| p.id))
                .collect();
        assert_eq!(order, [1, 2, 3, 5, 6]);
        let dropped: Vec<_> = drops.drain().map(|(p, why)| (p.id, why)).collect();
        assert_eq!(dropped, [(4, DropReason::Aqm)]);
    }

    #[test]
    fn the_next_packet_is_marked_in_place_of_a_fin_where_it_can_be() {
        let mut queue = build("spa ecn");
        let mut drops = Signals::new();
        // A FIN is not ECN-capable (RFC 3168, 6.1.4), so CoDel drops FINs while it marks data.
        for number in (0..300).step_by(2) {
            let data = TestPacket::data(1, MTU).ecn_capable().numbered(number);
            queue.enqueue(Instant::ZERO, data, &mut drops);
            let fin = TestPacket::fin(1).numbered(number + 1);
            queue.enqueue(Instant::ZERO, fin, &mut drops);
        }
        let mut order = Vec::new();
        for ms in 0..300 {
            let now = Instant::from_millis(6 * ms);
            order.extend(queue.dequeue(now, &mut drops).packet().map(|p| p.id));
        }
        assert!(drops.is_empty(), "{} dropped", drops.len());
        let marked = drops.marks().len();
        assert!(marked > 20, "{marked} marked");
        assert!(order.is_sorted() && order.len() == 300);
    }
}
