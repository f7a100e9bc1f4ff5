//! Strict priority for handshake packets over any two queues: the wrapper beneath `syn_prio`, `syn_fin_prio` and `spa`.
//!
//! Braud, Heusse and Duda, "The Virtue of Gentleness" (Networking 2018), section V. Each of the two queues has its own
//! state and its own limit, as two children of Linux's `prio` have. What priority may take while data waits is bounded
//! (option `share`). In Linux it is `kernel/sch_spa.c`, which decides the same.

use crate::laws::share::Share;
use crate::plumbing::options::{Kind, OptionSpec, Options};
use crate::plumbing::packet::Packet;
use crate::plumbing::qdisc::{Dequeue, Qdisc, Signals};
use crate::plumbing::registry;
use crate::plumbing::scheme::{Order, Preset, Priority};
use crate::plumbing::spec::Spec;
use gentle_units::Nanos;
use std::collections::VecDeque;

pub(crate) const FIN: OptionSpec = OptionSpec {
    name: "fin",
    kind: Kind::Choice(&["inorder", "priority", "none"]),
    default: Some("inorder"),
    help: "FIN: stays behind its data but is not dropped, the next packet is marked or dropped in its place (inorder); goes first, as published (priority); is data (none)",
};

/// The longest SYN without data has 120 bytes: 60 of IPv4 with all its options (or IPv6 and 20 of extensions), 60 of TCP
/// with all its options. The default is the next length below which a filter of stock parts needs one comparison only,
/// that of the bits above the lowest seven. A SYN that carries data (TCP Fast Open) or a FIN on a full last segment is
/// longer, and queues with the data that it is.
pub(crate) const MAXLEN: OptionSpec = OptionSpec {
    name: "maxlen",
    kind: Kind::Count(0, 65_535),
    default: Some("127"),
    help: "length of an IP packet in bytes above which SYN and FIN count as data: flags set on data buy nothing; 0: no check",
};

pub(crate) const HELD: OptionSpec = OptionSpec {
    name: "held",
    kind: Kind::Count(0, 100_000),
    default: Some("1000"),
    help: "with fin=inorder: FINs kept that the queue has dropped, beyond which they are dropped after all",
};

/// The scheme of the paper: FINs go first, and nothing bounds what has priority.
pub(crate) const PUBLISHED: Preset = Preset {
    name: "published",
    options: "fin=priority maxlen=0 share=100",
};

/// Samples of wrappers that have all options.
pub(crate) const SAMPLES: &[&str] = &[
    "fin=inorder share=100",
    "fin=inorder held=2 share=1",
    "fin=priority maxlen=0 share=100",
    "fin=priority maxlen=0 share=50",
    "fin=none",
];

/// What a FIN is to a [`HandshakePriority`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FinRule {
    /// It goes to the priority queue, as published. It may overtake its own connection's data, which receivers with
    /// SACK report and senders take for loss.
    Priority,
    /// It stays behind its data, and when the queue drops it at departure it is sent all the same: the next packet is
    /// marked in its place, or dropped where it cannot be marked.
    InOrder,
    /// It is data.
    None,
}

impl FinRule {
    /// The value of [`FIN`]; without that option a FIN is data.
    pub(crate) fn of(options: &Options) -> FinRule {
        if options.specs().iter().all(|option| option.name != FIN.name) {
            return FinRule::None;
        }
        match options.choice(FIN.name) {
            "priority" => FinRule::Priority,
            "inorder" => FinRule::InOrder,
            _ => FinRule::None,
        }
    }
}

/// The value of [`MAXLEN`], with "no check" as a length that no packet exceeds.
pub(crate) fn maxlen(options: &Options) -> u32 {
    match options.count(MAXLEN.name) {
        0 => u32::MAX,
        bytes => bytes as u32,
    }
}

/// The order in which a wrapper sends the packets of a flow.
pub(crate) fn order(options: &Options) -> Order {
    Order {
        priority: Some(Priority {
            fin: FinRule::of(options),
            maxlen: maxlen(options),
            share: Some(options.count("share")),
            spared: None,
        }),
        ..Order::KEPT
    }
}

/// Builds both queues from the child of `spec`.
pub(crate) fn build<P: Packet + Send + 'static>(spec: &Spec, seed: u64) -> Box<dyn Qdisc<P>> {
    let child = spec.child().expect("a wrapper has a child");
    let options = spec.options();
    let fin = FinRule::of(options);
    let held = match fin {
        FinRule::InOrder => options.count("held") as usize,
        FinRule::Priority | FinRule::None => 0,
    };
    Box::new(HandshakePriority::new(
        registry::build::<P>(child, !seed),
        registry::build::<P>(child, seed),
        fin,
        options.count(MAXLEN.name) as u32,
        held,
        options.count("share") as u8,
    ))
}

/// Two queues, of which one holds the handshake packets and is served first.
#[derive(Debug)]
pub struct HandshakePriority<P, Q> {
    high: Q,
    low: Q,
    fin: FinRule,
    /// Longer packets are data whatever their flags; `u32::MAX` without a check.
    maxlen: u32,
    side: SideQueue<P>,
    share: Share,
    held_back: u64,
}

impl<P: Packet, Q: Qdisc<P>> HandshakePriority<P, Q> {
    /// Serves `high` before `low`. `maxlen` is in bytes of [`Packet::ip_bytes`], zero for no check; at most `held` FINs
    /// that `low` has dropped are kept under [`FinRule::InOrder`]; `share` is the percentage of the bytes, 1 to 100, that
    /// `high` may send while `low` waits, 100 for no bound.
    pub fn new(high: Q, low: Q, fin: FinRule, maxlen: u32, held: usize, share: u8) -> Self {
        HandshakePriority {
            high,
            low,
            fin,
            maxlen: if maxlen == 0 { u32::MAX } else { maxlen },
            side: SideQueue::new(held),
            share: Share::new(share),
            held_back: 0,
        }
    }

    /// How many packets of data went before waiting packets of priority, because those had had their share.
    pub fn held_back(&self) -> u64 {
        self.held_back
    }

    /// Whether anything is queued that has no priority.
    fn data_waits(&self) -> bool {
        !self.low.is_empty() || self.side.len() > 0
    }

    fn has_priority(&self, packet: &P) -> bool {
        let flags = packet.handshake();
        (flags.syn || (flags.fin && self.fin == FinRule::Priority))
            && packet.ip_bytes() <= self.maxlen
    }

    fn is_protected(&self, packet: &P) -> bool {
        self.fin == FinRule::InOrder && packet.handshake().fin && packet.ip_bytes() <= self.maxlen
    }

    fn enqueue_low(&mut self, now: Nanos, mut packet: P, signals: &mut Signals<P>) {
        packet.set_arrived(now);
        self.side.entered(now);
        let before = signals.len();
        self.low.enqueue(now, packet, signals);
        if signals.len() == before || self.fin != FinRule::InOrder {
            return;
        }
        for (dropped, _) in signals.since(before) {
            self.side.left(dropped.arrived());
        }
        let mut index = before;
        while let Some((dropped, _)) = signals.get(index) {
            if self.is_protected(dropped) && self.side.has_room() {
                let (fin, _) = signals.remove(index);
                self.side.hold(now, fin, self.low.len());
            } else {
                index += 1;
            }
        }
    }

    fn dequeue_low(&mut self, now: Nanos, signals: &mut Signals<P>) -> Dequeue<P> {
        let before = signals.len();
        let answer = self.low.dequeue(now, signals);
        if self.fin != FinRule::InOrder {
            return answer;
        }
        if let Dequeue::Packet(packet) = &answer {
            self.side.left(packet.arrived());
        }
        if signals.len() == before {
            return answer;
        }
        let (packet, otherwise) = match answer {
            Dequeue::Packet(packet) => (Some(packet), Dequeue::Empty),
            answer => (None, answer),
        };
        self.spare_fins(before, packet, signals)
            .map_or(otherwise, Dequeue::Packet)
    }

    fn dequeue_data(&mut self, now: Nanos, signals: &mut Signals<P>) -> Dequeue<P> {
        let answer = Dequeue::from(self.side.next())
            .or_else(|| self.dequeue_low(now, signals))
            .or_else(|| self.side.next().into());
        if let Dequeue::Packet(packet) = &answer {
            self.share.data_sends(packet.bytes());
        }
        answer
    }

    fn dequeue_high(&mut self, now: Nanos, signals: &mut Signals<P>) -> Dequeue<P> {
        let answer = self.high.dequeue(now, signals);
        if let Dequeue::Packet(packet) = &answer
            && self.data_waits()
        {
            self.share.priority_sends(packet.bytes());
        }
        answer
    }

    /// Delivers the FINs among the drops since there were `before`. `packet`, which was to be delivered, takes the congestion signal in
    /// their place: it is marked and follows them, or it is dropped.
    fn spare_fins(
        &mut self,
        before: usize,
        packet: Option<P>,
        signals: &mut Signals<P>,
    ) -> Option<P> {
        let mut why = None;
        let mut index = before;
        while let Some((dropped, _)) = signals.get(index) {
            self.side.left(dropped.arrived());
            if self.is_protected(dropped) && self.side.has_room() {
                let (fin, reason) = signals.remove(index);
                self.side.deliver_next(fin);
                why.get_or_insert(reason);
            } else {
                index += 1;
            }
        }
        let Some(reason) = why else {
            return packet;
        };
        let fin = self.side.next();
        if let Some(mut packet) = packet {
            if self.is_protected(&packet) || self.low.mark_departed(&mut packet, signals) {
                self.side.deliver_next(packet);
            } else {
                signals.dropped(packet, reason);
            }
        }
        fin
    }
}

impl<P: Packet + Send, Q: Qdisc<P>> Qdisc<P> for HandshakePriority<P, Q> {
    fn enqueue(&mut self, now: Nanos, packet: P, signals: &mut Signals<P>) {
        if self.has_priority(&packet) {
            self.high.enqueue(now, packet, signals);
        } else {
            self.enqueue_low(now, packet, signals);
        }
    }

    fn dequeue(&mut self, now: Nanos, signals: &mut Signals<P>) -> Dequeue<P> {
        if self.share.is_used_up() && self.data_waits() {
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
        self.high.len() + self.low.len() + self.side.len()
    }

    fn backlog(&self) -> u64 {
        self.high.backlog() + self.low.backlog() + self.side.bytes
    }
}

/// FINs that the queue has dropped and that are delivered all the same.
#[derive(Debug)]
struct SideQueue<P> {
    /// Those whose turn has come.
    ready: VecDeque<P>,
    /// Those dropped on arrival or pushed out: they wait until what was queued before them has left.
    held: VecDeque<Held<P>>,
    /// Packets of the queue that some held FIN waits for: the sum of [`Held::ahead`].
    awaited: usize,
    bytes: u64,
    limit: usize,
}

/// A FIN that waits for all packets which arrived until `since` to leave the queue.
///
/// Packets of the queue are known by their times of arrival, not one by one, because in which order they leave is the
/// queue's own affair (FQ-CoDel). Each waiting FIN counts those that no earlier one counts.
#[derive(Debug)]
struct Held<P> {
    fin: P,
    since: Nanos,
    ahead: usize,
}

impl<P: Packet> SideQueue<P> {
    fn new(limit: usize) -> Self {
        SideQueue {
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

    /// A packet is offered to the queue at `now`.
    fn entered(&mut self, now: Nanos) {
        if let Some(held) = self.counting(now) {
            held.ahead += 1;
            self.awaited += 1;
        }
    }

    /// A packet that had arrived at `arrived` is in the queue no more.
    fn left(&mut self, arrived: Nanos) {
        if let Some(held) = self.counting(arrived) {
            held.ahead -= 1;
            self.awaited -= 1;
        }
    }

    /// The FIN that counts the packets which arrived at `arrived`: the first that came then or later.
    fn counting(&mut self, arrived: Nanos) -> Option<&mut Held<P>> {
        let index = self.held.partition_point(|held| held.since < arrived);
        self.held.get_mut(index)
    }

    /// Keeps a FIN back until the `queued` packets that are in the queue at `now` have left.
    fn hold(&mut self, now: Nanos, fin: P, queued: usize) {
        let ahead = queued - self.awaited;
        self.awaited = queued;
        self.bytes += u64::from(fin.bytes());
        self.held.push_back(Held {
            fin,
            since: now,
            ahead,
        });
    }

    /// Puts a packet behind those whose turn has come.
    fn deliver_next(&mut self, packet: P) {
        self.bytes += u64::from(packet.bytes());
        self.ready.push_back(packet);
    }

    fn next(&mut self) -> Option<P> {
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
    use crate::plumbing::testing::{Packet, build};
    use crate::{Dequeue, DropReason, Qdisc, Signals};
    use gentle_units::Nanos;

    const MTU: u32 = 1514;

    fn offer(queue: &mut dyn Qdisc<Packet>, packets: &[Packet]) -> Vec<(Packet, DropReason)> {
        let mut drops = Signals::new();
        for packet in packets {
            queue.enqueue(Nanos::ZERO, *packet, &mut drops);
        }
        drops.drain().collect()
    }

    /// Everything that leaves, by number.
    fn numbers(queue: &mut dyn Qdisc<Packet>) -> Vec<u32> {
        let mut drops = Signals::new();
        std::iter::from_fn(|| {
            queue
                .dequeue(Nanos::ZERO, &mut drops)
                .packet()
                .map(|p| p.number)
        })
        .collect()
    }

    fn mixed() -> [Packet; 4] {
        [
            Packet::data(1, MTU).numbered(1),
            Packet::fin(1).numbered(2),
            Packet::data(2, MTU).numbered(3),
            Packet::syn(3).numbered(4),
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
            Packet::data(1, MTU).numbered(1),
            Packet::syn(1).of_bytes(MTU).numbered(2),
            Packet::fin(1).of_bytes(MTU).numbered(3),
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
        let syns = [Packet::syn(1); 3];
        let data = [Packet::data(1, MTU); 3];
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
                Packet::data(1, MTU).numbered(1),
                Packet::data(1, MTU).numbered(2),
                Packet::fin(1).numbered(3),
                Packet::data(2, MTU).numbered(9),
            ],
        );
        assert_eq!(dropped.len(), 1);
        assert_eq!(dropped[0].0.number, 9);
        assert_eq!((queue.len(), queue.backlog()), (3, 2 * u64::from(MTU) + 66));
        let mut drops = Signals::new();
        let first = queue.dequeue(Nanos(1), &mut drops).packet().unwrap();
        // What comes later stays behind the FIN.
        queue.enqueue(Nanos(1), Packet::data(2, MTU).numbered(4), &mut drops);
        assert_eq!((first.number, drops.len()), (1, 0));
        assert_eq!(numbers(&mut *queue), [2, 3, 4]);
        assert_eq!((queue.len(), queue.backlog()), (0, 0));
    }

    #[test]
    fn no_more_fins_are_held_than_allowed() {
        let mut queue = build("syn_fin_prio fin=inorder limit=1 held=2");
        let dropped = offer(&mut *queue, &[Packet::fin(1); 5]);
        assert_eq!((queue.len(), dropped.len()), (3, 2));
        assert_eq!(dropped[0].1, DropReason::Tail);
    }

    /// What a flood sends of both while data always waits, and how often it was held back.
    fn flood(share: u8, dequeues: u32) -> (u64, u64, u64) {
        let fifo = || Fifo::new(Limit::Packets(1000), Nanos::MAX);
        let mut queue =
            super::HandshakePriority::new(fifo(), fifo(), super::FinRule::InOrder, 142, 100, share);
        let mut drops = Signals::new();
        let (mut priority, mut data) = (0, 0);
        for _ in 0..dequeues {
            while queue.low.len() < 10 {
                queue.enqueue(Nanos::ZERO, Packet::data(1, MTU), &mut drops);
            }
            while queue.high.len() < 10 {
                queue.enqueue(Nanos::ZERO, Packet::syn(2), &mut drops);
            }
            let packet = queue.dequeue(Nanos::ZERO, &mut drops).packet().unwrap();
            if crate::Packet::handshake(&packet).syn {
                priority += u64::from(crate::Packet::bytes(&packet));
            } else {
                data += u64::from(crate::Packet::bytes(&packet));
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
            assert!(offer(&mut *queue, &[Packet::syn(1); 20]).is_empty());
            assert_eq!(numbers(&mut *queue).len(), 20);
        }
        let packets = [Packet::data(1, MTU).numbered(1), Packet::syn(2).numbered(2)];
        offer(&mut *queue, &packets);
        assert_eq!(numbers(&mut *queue), [2, 1]);
    }

    /// A child that drops every FIN at dequeue, as CoDel may.
    struct DropsFins(crate::laws::fifo::Fifo<Packet>);

    impl Qdisc<Packet> for DropsFins {
        fn enqueue(&mut self, now: Nanos, packet: Packet, drops: &mut Signals<Packet>) {
            self.0.enqueue(now, packet, drops);
        }
        fn dequeue(&mut self, now: Nanos, drops: &mut Signals<Packet>) -> Dequeue<Packet> {
            loop {
                let Dequeue::Packet(packet) = self.0.dequeue(now, drops) else {
                    return Dequeue::Empty;
                };
                if !crate::Packet::handshake(&packet).fin {
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
            super::HandshakePriority::new(child(), child(), super::FinRule::InOrder, 142, 100, 25);
        offer(
            &mut queue,
            &[
                Packet::data(1, MTU).numbered(1),
                Packet::fin(1).numbered(2),
                Packet::fin(2).numbered(3),
                Packet::data(3, MTU).numbered(4),
                Packet::data(3, MTU).numbered(5),
                Packet::fin(3).numbered(6),
            ],
        );
        let mut drops = Signals::new();
        let order: Vec<u32> = std::iter::from_fn(|| {
            queue
                .dequeue(Nanos(1), &mut drops)
                .packet()
                .map(|p| p.number)
        })
        .collect();
        assert_eq!(order, [1, 2, 3, 5, 6]);
        let dropped: Vec<_> = drops.drain().map(|(p, why)| (p.number, why)).collect();
        assert_eq!(dropped, [(4, DropReason::Aqm)]);
    }

    #[test]
    fn the_next_packet_is_marked_in_place_of_a_fin_where_it_can_be() {
        let mut queue = build("spa ecn");
        let mut drops = Signals::new();
        // A FIN is not ECN-capable (RFC 3168, 6.1.4), so CoDel drops it where it marks the data around it.
        for number in (0..300).step_by(2) {
            let data = Packet::data(1, MTU).ecn_capable().numbered(number);
            queue.enqueue(Nanos::ZERO, data, &mut drops);
            let fin = Packet::fin(1).numbered(number + 1);
            queue.enqueue(Nanos::ZERO, fin, &mut drops);
        }
        let mut order = Vec::new();
        for ms in 0..300 {
            let now = Nanos::from_millis(6 * ms);
            order.extend(queue.dequeue(now, &mut drops).packet().map(|p| p.number));
        }
        assert!(drops.is_empty(), "{} dropped", drops.len());
        let marked = drops.marks().len();
        assert!(marked > 20, "{marked} marked");
        assert!(order.is_sorted() && order.len() == 300);
    }
}
