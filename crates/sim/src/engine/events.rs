//! Event queue: by time, ties in insertion order.

use super::packet::Packet;
use gentle_units::{Instant, Nanos};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Event of a [`Simulation`](super::Simulation).
#[derive(Debug)]
pub(crate) enum Event {
    /// The packet reaches its end host. The place of its connection is stored with it, so that either is fetched from
    /// memory without waiting for the other.
    Deliver(u32, Box<Packet>),
    /// A timer of the connection at this place, of its initiator (`false`) or its responder (`true`).
    Timer(u32, bool),
    /// The next packet of the constant-rate source with this index.
    Cbr(u32),
    /// A timer of the end with this number of a flow of datagrams.
    Datagrams(u32),
    /// The long-lived connection at this place closes.
    Stop(u32),
    /// The user with this index begins something.
    User(u32),
    /// The server's end of the connection at this place, with this number, owes an answer.
    Answer(u32, u32),
}

/// Event queue of a [`Simulation`](super::Simulation).
pub(crate) type Events = EventQueue<Event>;

/// Queue of events by time. Events at the same time come out by rank, and events of the same rank in the order in which
/// they were planned.
///
/// Almost every event of a network simulation is a packet that arrives after a link's delay, so the near future is a
/// ring of buckets, each one tick wide: planning is an index and a link, and finding the next event a look at a bit
/// map. A heap took a third of the whole run on the benchmark of `bench/sim`. Timers beyond the ring wait in a heap and
/// are compared with the ring's next event, never moved. A packet beyond the ring ([`EventQueue::plan_packet`]) makes
/// the ring longer, up to 2^18 buckets: on a link of 10 Gb/s, where a tick is short, a ring of fixed length left nearly
/// all packets to the heap, and the heap took half of the run.
///
/// ```
/// use gentle_sim::EventQueue;
/// use gentle_units::{Instant, Nanos};
///
/// let mut queue = EventQueue::new(Nanos::from_micros(10));
/// queue.plan(Instant::from_secs(1), "timer");
/// queue.plan_packet(Instant::from_millis(20), 0, "packet");
/// assert_eq!(queue.next_at(), Instant::from_millis(20));
/// assert_eq!(queue.pop(), Some("packet"));
/// ```
#[derive(Debug)]
pub struct EventQueue<E> {
    /// Time of the next event, in the ring or in the heap; [`Instant::NEVER`]: none.
    next_at: Instant,
    /// Time of the next event in the ring, and its bucket.
    near_at: Instant,
    near_bucket: usize,
    /// Time of the next event in the heap.
    far_at: Instant,
    /// A tick is 2^shift nanoseconds.
    shift: u32,
    free: u32,
    /// The tick of the last event taken out: where the ring begins.
    tick: u64,
    nodes: Vec<Node<E>>,
    /// The length is a power of two.
    buckets: Vec<Bucket>,
    /// A bit for each bucket: it is not empty.
    occupied: Vec<u64>,
    /// Events beyond the ring: when, rank, the number of the planning, the node.
    far: BinaryHeap<Reverse<(Instant, u32, u64, u32)>>,
    /// Number of events planned beyond the ring so far.
    planned_far: u64,
}

/// Number of buckets of a new ring. With ticks of a quarter of a packet's time it covers a thousand packets.
const FEWEST_BUCKETS: usize = 4096;

/// Number of buckets of the longest ring, which takes 1 MiB.
const MOST_BUCKETS: usize = 1 << 18;

const NONE: u32 = u32::MAX;

/// First and last node of a bucket, whose events are in order; of an empty bucket, the first is [`NONE`].
#[derive(Debug, Clone, Copy)]
struct Bucket {
    first: u32,
    last: u32,
}

impl Bucket {
    const EMPTY: Bucket = Bucket { first: NONE, last: NONE };
}

// Aligned, so that a node of the simulator is in one cache line: it has left the fastest cache when its event is due.
#[derive(Debug)]
#[repr(align(32))]
struct Node<E> {
    at: Instant,
    event: Option<E>,
    rank: u32,
    /// Next node of the same bucket, or of the free list.
    next: u32,
}

impl<E> Node<E> {
    /// Whether it comes before an event that is planned now.
    #[inline]
    fn is_before(&self, at: Instant, rank: u32) -> bool {
        self.at < at || (self.at == at && self.rank <= rank)
    }
}

impl<E> EventQueue<E> {
    /// Creates an empty queue for events that are about `spacing` apart, or further; a wrong guess costs time only.
    pub fn new(spacing: Nanos) -> EventQueue<E> {
        EventQueue {
            next_at: Instant::NEVER,
            near_at: Instant::NEVER,
            near_bucket: 0,
            far_at: Instant::NEVER,
            shift: spacing.0.max(1).ilog2(),
            free: NONE,
            tick: 0,
            nodes: Vec::new(),
            buckets: vec![Bucket::EMPTY; FEWEST_BUCKETS],
            occupied: vec![0; FEWEST_BUCKETS / 64],
            far: BinaryHeap::new(),
            planned_far: 0,
        }
    }

    /// Time of the next event; [`Instant::NEVER`]: none.
    #[inline]
    pub fn next_at(&self) -> Instant {
        self.next_at
    }

    /// Plans an event for `at`. One for the past, before the last event taken out, comes next.
    // Inlined, so that the event is built where it goes.
    #[inline(always)]
    pub fn plan(&mut self, at: Instant, event: E) {
        self.insert(at, 0, event, false);
    }

    /// Plans an event as [`EventQueue::plan`] does, with a rank other than 0 among the events of the same time.
    #[inline(always)]
    pub fn plan_ranked(&mut self, at: Instant, rank: u32, event: E) {
        self.insert(at, rank, event, false);
    }

    /// Plans an event as [`EventQueue::plan_ranked`] does, of a kind that is frequent: beyond the ring it makes the ring
    /// longer.
    #[inline(always)]
    pub fn plan_packet(&mut self, at: Instant, rank: u32, event: E) {
        self.insert(at, rank, event, true);
    }

    #[inline(always)]
    fn insert(&mut self, at: Instant, rank: u32, event: E, lengthens: bool) {
        let place = self.store(at, rank, event);
        let tick = at.0 >> self.shift;
        // Wraps for the past, which is then far.
        if tick.wrapping_sub(self.tick) < self.buckets.len() as u64 {
            self.plan_near(at, rank, self.bucket(tick), place);
            self.next_at = self.next_at.min(at);
        } else {
            self.plan_far(at, rank, place, lengthens);
            self.next_at = self.near_at.min(self.far_at);
        }
    }

    /// The bucket of a tick that the ring reaches.
    #[inline]
    fn bucket(&self, tick: u64) -> usize {
        tick as usize & (self.buckets.len() - 1)
    }

    #[inline(never)]
    fn plan_far(&mut self, at: Instant, rank: u32, place: u32, lengthens: bool) {
        let tick = at.0 >> self.shift;
        if tick < self.tick {
            // The ring does not turn back: the event comes in the tick of the last one taken out.
            let at = Instant(self.tick << self.shift);
            self.nodes[place as usize].at = at;
            self.plan_near(at, rank, self.bucket(self.tick), place);
        } else if lengthens && tick - self.tick < MOST_BUCKETS as u64 {
            self.lengthen((tick - self.tick + 1).next_power_of_two() as usize);
            self.plan_near(at, rank, self.bucket(tick), place);
        } else {
            self.far.push(Reverse((at, rank, self.planned_far, place)));
            self.far_at = self.far_at.min(at);
            self.planned_far += 1;
        }
    }

    /// Makes the ring `buckets` long; each bucket's events stay together, since they share a tick.
    fn lengthen(&mut self, buckets: usize) {
        let shorter = std::mem::replace(&mut self.buckets, vec![Bucket::EMPTY; buckets]);
        self.occupied = vec![0; buckets / 64];
        for nodes in shorter.into_iter().filter(|nodes| nodes.first != NONE) {
            let bucket = self.bucket(self.nodes[nodes.first as usize].at.0 >> self.shift);
            self.buckets[bucket] = nodes;
            self.occupied[bucket / 64] |= 1 << (bucket % 64);
        }
        self.near_bucket = self.bucket(self.near_at.0 >> self.shift);
    }

    /// Puts a node into its bucket, behind nodes of the same time and rank.
    #[inline(always)]
    fn plan_near(&mut self, at: Instant, rank: u32, bucket: usize, place: u32) {
        if at < self.near_at {
            self.near_at = at;
            self.near_bucket = bucket;
        }
        let nodes = &mut self.buckets[bucket];
        if nodes.first == NONE {
            *nodes = Bucket { first: place, last: place };
            self.occupied[bucket / 64] |= 1 << (bucket % 64);
        } else if self.nodes[nodes.last as usize].is_before(at, rank) {
            self.nodes[nodes.last as usize].next = place;
            nodes.last = place;
        } else {
            self.plan_between(at, rank, bucket, place);
        }
    }

    /// Puts a node into a bucket before its last.
    #[inline(never)]
    fn plan_between(&mut self, at: Instant, rank: u32, bucket: usize, place: u32) {
        let mut next = self.buckets[bucket].first;
        let mut before = NONE;
        while self.nodes[next as usize].is_before(at, rank) {
            before = next;
            next = self.nodes[next as usize].next;
        }
        self.nodes[place as usize].next = next;
        match before {
            NONE => self.buckets[bucket].first = place,
            before => self.nodes[before as usize].next = place,
        }
    }

    #[inline(always)]
    fn store(&mut self, at: Instant, rank: u32, event: E) -> u32 {
        let node = Node { at, rank, event: Some(event), next: NONE };
        if self.free == NONE {
            self.nodes.push(node);
            return (self.nodes.len() - 1) as u32;
        }
        let place = self.free;
        let slot = &mut self.nodes[place as usize];
        self.free = slot.next;
        *slot = node;
        place
    }

    /// Takes the next event out.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<E> {
        let at = self.next_at;
        let place = match self.far_at == at {
            true => self.pop_far()?,
            false => self.pop_near()?,
        };
        self.tick = at.0 >> self.shift;
        self.next_at = self.near_at.min(self.far_at);
        let node = &mut self.nodes[place as usize];
        node.next = std::mem::replace(&mut self.free, place);
        node.event.take()
    }

    /// Takes the next event out, which is in the heap, or in both.
    #[inline(never)]
    fn pop_far(&mut self) -> Option<u32> {
        let &Reverse((at, rank, _, place)) = self.far.peek()?;
        if self.near_at == at {
            let first = self.buckets[self.near_bucket].first;
            if self.nodes[first as usize].rank < rank {
                return self.pop_near();
            }
        }
        self.far.pop();
        let next = self.far.peek();
        self.far_at = next.map_or(Instant::NEVER, |Reverse((at, ..))| *at);
        Some(place)
    }

    /// Takes the ring's next event out of its bucket.
    #[inline(always)]
    fn pop_near(&mut self) -> Option<u32> {
        let bucket = self.near_bucket;
        let nodes = &mut self.buckets[bucket];
        let place = nodes.first;
        if place == NONE {
            return None;
        }
        if place == nodes.last {
            *nodes = Bucket::EMPTY;
            self.occupied[bucket / 64] &= !(1 << (bucket % 64));
            let Some(next) = self.first_bucket(bucket) else {
                self.near_at = Instant::NEVER;
                return Some(place);
            };
            self.near_bucket = next;
            self.near_at = self.nodes[self.buckets[next].first as usize].at;
        } else {
            nodes.first = self.nodes[place as usize].next;
            self.near_at = self.nodes[nodes.first as usize].at;
        }
        Some(place)
    }

    /// The first bucket at or after `start`, around the ring, that is not empty.
    #[inline]
    fn first_bucket(&self, start: usize) -> Option<usize> {
        let (word, bit) = (start / 64, start % 64);
        let first = self.occupied[word] & (u64::MAX << bit);
        if first != 0 {
            return Some(word * 64 + first.trailing_zeros() as usize);
        }
        // Ends with the bits of the first word that lie before the start.
        let words = self.occupied.len();
        (1..=words).find_map(|n| {
            let word = (word + n) & (words - 1);
            let bits = self.occupied[word];
            (bits != 0).then(|| word * 64 + bits.trailing_zeros() as usize)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn plan(events: &mut Events, at: Instant, event: Event) {
        match event {
            Event::Deliver(..) => events.plan_packet(at, 0, event),
            _ => events.plan(at, event),
        }
    }

    proptest! {
        #[test]
        fn events_come_in_order_of_time_then_of_planning(
            steps in prop::collection::vec(
                (prop_oneof![0_u64..50, 0_u64..20_000, 0_u64..10_000_000], 0..3_u8), 1..400
            ),
            spacing in 0_u64..2_000,
            // Packets beyond the ring make it longer, timers do not.
            packets in 0_u32..4,
        ) {
            let event = |number: u32| match number % 4 < packets {
                true => Event::Deliver(number, Packet::blank()),
                false => Event::Timer(number, false),
            };
            let number_of = |event| match event {
                Some(Event::Deliver(number, _) | Event::Timer(number, _)) => Some(number),
                _ => None,
            };
            let mut events = Events::new(Nanos(spacing));
            let mut expected: Vec<(u64, u32)> = Vec::new();
            let mut now = 0;
            for (number, (delay, takes)) in steps.into_iter().enumerate() {
                plan(&mut events, Instant(now + delay), event(number as u32));
                expected.push((now + delay, number as u32));
                for _ in 0..takes.min(expected.len() as u8) {
                    expected.sort_unstable();
                    let (at, number) = expected.remove(0);
                    prop_assert_eq!(events.next_at(), Instant(at));
                    prop_assert_eq!(number_of(events.pop()), Some(number));
                    now = at;
                }
            }
            expected.sort_unstable();
            for (at, number) in expected {
                prop_assert_eq!(events.next_at(), Instant(at));
                prop_assert_eq!(number_of(events.pop()), Some(number));
            }
            prop_assert!(events.pop().is_none());
            prop_assert_eq!(events.next_at(), Instant::NEVER);
            prop_assert!(events.buckets.len() <= MOST_BUCKETS);
        }
    }

    #[test]
    fn an_event_for_the_past_comes_next_and_changes_nothing_else() {
        let mut events = EventQueue::new(Nanos(256));
        let reach = 256 * FEWEST_BUCKETS as u64;
        let times = [10, 1_000, reach / 2, reach, reach + 999, 3 * reach];
        for at in times {
            events.plan(Instant(at), at);
        }
        for expected in times {
            assert_eq!(events.pop(), Some(expected));
            events.plan(Instant::ZERO, 0);
            assert!(events.next_at() <= Instant(expected));
            assert_eq!(events.pop(), Some(0));
        }
        assert_eq!(events.pop(), None);
    }

    #[test]
    fn packets_make_the_ring_longer_and_timers_do_not() {
        let mut events = Events::new(Nanos(256));
        let reach = 256 * FEWEST_BUCKETS as u64;
        events.plan(Instant(reach), Event::Timer(0, false));
        assert_eq!((events.buckets.len(), events.far.len()), (FEWEST_BUCKETS, 1));
        events.plan_packet(Instant(3 * reach), 0, Event::Deliver(1, Packet::blank()));
        assert_eq!((events.buckets.len(), events.far.len()), (4 * FEWEST_BUCKETS, 1));
        let beyond = Instant(256 * MOST_BUCKETS as u64);
        events.plan_packet(beyond, 0, Event::Deliver(2, Packet::blank()));
        assert_eq!((events.buckets.len(), events.far.len()), (4 * FEWEST_BUCKETS, 2));
        let order = std::iter::from_fn(|| events.pop()).map(|event| match event {
            Event::Timer(number, _) | Event::Deliver(number, _) => number,
            other => panic!("{other:?}"),
        });
        assert_eq!(order.collect::<Vec<_>>(), [0, 1, 2]);
    }
}
