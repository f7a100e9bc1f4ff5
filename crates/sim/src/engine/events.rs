//! The future: events in order of time, and among equals in order of planning.

use super::packet::Packet;
use gentle_units::Nanos;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What is due.
#[derive(Debug)]
pub(crate) enum Event {
    /// The packet reaches its end host.
    Deliver(Box<Packet>),
    /// A timer of the connection at this place, of its initiator (`false`) or its responder (`true`).
    Timer(u32, bool),
    /// The next datagram of this UDP flow.
    Udp(u32),
    /// The long-lived connection at this place closes.
    Stop(u32),
}

/// A place in the future: the time, then the number of the planning.
type Key = (Nanos, u64);

/// Later than every event.
const NEVER: Key = (Nanos::MAX, u64::MAX);

/// A calendar of the near future with a heap for what lies beyond it.
///
/// Almost every event is a packet that arrives after a link's delay, so the near future is a ring of buckets, each one
/// tick wide: planning is an index and a link, and finding the next event a look at a bit map. A heap took a third of
/// the whole run on the benchmark of `bench/sim`. What is planned beyond the ring (timers, mostly) waits in a heap and
/// is compared with the ring's next event, never moved.
#[derive(Debug)]
pub(crate) struct Events {
    /// A tick is 2^shift nanoseconds.
    shift: u32,
    /// The tick that time has reached; buckets hold later ones.
    tick: u64,
    /// Events of the current tick, the next one last.
    current: Vec<(Key, u32)>,
    /// First node of each bucket.
    heads: Box<[u32; BUCKETS]>,
    /// Which buckets are not empty.
    occupied: [u64; BUCKETS / 64],
    nodes: Vec<Node>,
    free: u32,
    /// Events beyond the ring.
    far: BinaryHeap<Reverse<(Key, u32)>>,
    /// The next event; [`NEVER`]: none.
    next: Key,
    planned: u64,
}

/// Of the ring. With ticks of a quarter of a packet's time it reaches a thousand packets far, which is a delay of any
/// link that is not very long.
const BUCKETS: usize = 4096;

const NONE: u32 = u32::MAX;

#[derive(Debug)]
struct Node {
    key: Key,
    event: Option<Event>,
    /// In the same bucket, or among the free ones.
    next: u32,
}

impl Events {
    /// An empty future. Events are about `spacing` apart, or further; a wrong guess costs time only.
    pub(crate) fn new(spacing: Nanos) -> Events {
        Events {
            shift: spacing.0.max(1).ilog2(),
            tick: 0,
            current: Vec::new(),
            heads: Box::new([NONE; BUCKETS]),
            occupied: [0; BUCKETS / 64],
            nodes: Vec::new(),
            free: NONE,
            far: BinaryHeap::new(),
            next: NEVER,
            planned: 0,
        }
    }

    /// When the next event is due; [`Nanos::MAX`]: there is none.
    #[inline]
    pub(crate) fn next_at(&self) -> Nanos {
        self.next.0
    }

    /// Plans an event; `at` is not before the last event taken out.
    #[inline]
    pub(crate) fn plan(&mut self, at: Nanos, event: Event) {
        let key = (at, self.planned);
        self.planned += 1;
        self.next = self.next.min(key);
        let tick = at.0 >> self.shift;
        let mut node = Node {
            key,
            event: Some(event),
            next: NONE,
        };
        if tick <= self.tick {
            let place = self.current.partition_point(|(other, _)| *other > key);
            let node = self.store(node);
            self.current.insert(place, (key, node));
        } else if tick - self.tick < BUCKETS as u64 {
            let bucket = tick as usize % BUCKETS;
            node.next = self.heads[bucket];
            self.heads[bucket] = self.store(node);
            self.occupied[bucket / 64] |= 1 << (bucket % 64);
        } else {
            let node = self.store(node);
            self.far.push(Reverse((key, node)));
        }
    }

    #[inline]
    fn store(&mut self, node: Node) -> u32 {
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
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Event> {
        let key = self.next;
        if key == NEVER {
            return None;
        }
        let is_far = self.far.peek().is_some_and(|Reverse((far, _))| *far == key);
        let place = if is_far {
            self.far.pop().map(|Reverse((_, place))| place)
        } else if self.current.is_empty() {
            self.turn_to(key.0.0 >> self.shift)
        } else {
            self.current.pop().map(|(_, place)| place)
        };
        let place = place.expect("the next event is in one of the three");
        let node = &mut self.nodes[place as usize];
        let event = node.event.take();
        node.next = self.free;
        self.free = place;
        self.next = self.find_next();
        event
    }

    /// Makes `tick` the current one, and takes its first event.
    #[inline]
    fn turn_to(&mut self, tick: u64) -> Option<u32> {
        self.tick = tick;
        let bucket = tick as usize % BUCKETS;
        self.occupied[bucket / 64] &= !(1 << (bucket % 64));
        let mut place = std::mem::replace(&mut self.heads[bucket], NONE);
        // Mostly it is the only one.
        if self.nodes[place as usize].next == NONE {
            return Some(place);
        }
        while place != NONE {
            let node = &self.nodes[place as usize];
            self.current.push((node.key, place));
            place = node.next;
        }
        self.current.sort_unstable_by(|a, b| b.cmp(a));
        self.current.pop().map(|(_, place)| place)
    }

    #[inline]
    fn find_next(&self) -> Key {
        let near = match self.current.last() {
            Some((key, _)) => *key,
            None => self.first_bucket(),
        };
        match self.far.peek() {
            Some(Reverse((far, _))) => near.min(*far),
            None => near,
        }
    }

    /// The least key of the first bucket that is not empty.
    fn first_bucket(&self) -> Key {
        const WORDS: usize = BUCKETS / 64;
        let start = (self.tick as usize + 1) % BUCKETS;
        let (word, bit) = (start / 64, start % 64);
        let first = self.occupied[word] & (u64::MAX << bit);
        let found = if first != 0 {
            Some(word * 64 + first.trailing_zeros() as usize)
        } else {
            // Around the ring, ending with the bits of the first word that lie before the start.
            (1..=WORDS).find_map(|n| {
                let word = (word + n) % WORDS;
                let bits = self.occupied[word];
                (bits != 0).then(|| word * 64 + bits.trailing_zeros() as usize)
            })
        };
        let mut least = NEVER;
        let mut place = found.map_or(NONE, |bucket| self.heads[bucket]);
        while place != NONE {
            let node = &self.nodes[place as usize];
            least = least.min(node.key);
            place = node.next;
        }
        least
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn events_come_in_order_of_time_then_of_planning(
            steps in prop::collection::vec(
                (prop_oneof![0_u64..50, 0_u64..20_000, 0_u64..10_000_000], 0..3_u8), 1..400
            ),
            spacing in 0_u64..2_000,
        ) {
            let mut events = Events::new(Nanos(spacing));
            let mut expected: Vec<(u64, u32)> = Vec::new();
            let mut now = 0;
            for (number, (delay, takes)) in steps.into_iter().enumerate() {
                events.plan(Nanos(now + delay), Event::Udp(number as u32));
                expected.push((now + delay, number as u32));
                for _ in 0..takes.min(expected.len() as u8) {
                    expected.sort_unstable();
                    let (at, number) = expected.remove(0);
                    prop_assert_eq!(events.next_at(), Nanos(at));
                    prop_assert!(matches!(events.pop(), Some(Event::Udp(n)) if n == number));
                    now = at;
                }
            }
            expected.sort_unstable();
            for (at, number) in expected {
                prop_assert_eq!(events.next_at(), Nanos(at));
                prop_assert!(matches!(events.pop(), Some(Event::Udp(n)) if n == number));
            }
            prop_assert!(events.pop().is_none());
            prop_assert_eq!(events.next_at(), Nanos::MAX);
        }
    }
}
