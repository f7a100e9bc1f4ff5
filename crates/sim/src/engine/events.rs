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
    /// The tick of the ring's next event, or an earlier one; buckets hold later ones.
    tick: u64,
    /// Events of the current tick and before, the next one last. Empty only if the buckets are.
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
        // Of two events at the same time the one planned first comes first.
        if at < self.next.0 {
            self.next = key;
        }
        let tick = at.0 >> self.shift;
        let node = Node {
            key,
            event: Some(event),
            next: NONE,
        };
        let place = self.store(node);
        if tick.saturating_sub(self.tick) >= BUCKETS as u64 {
            self.far.push(Reverse((key, place)));
        } else if tick > self.tick && !self.current.is_empty() {
            let bucket = tick as usize % BUCKETS;
            self.nodes[place as usize].next = std::mem::replace(&mut self.heads[bucket], place);
            self.occupied[bucket / 64] |= 1 << (bucket % 64);
        } else {
            self.tick = self.tick.max(tick);
            let later = self.current.partition_point(|((other, _), _)| *other > at);
            self.current.insert(later, (key, place));
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
        let place = match self.current.last() {
            Some((first, place)) if *first == self.next => {
                let place = *place;
                self.current.pop();
                if self.current.is_empty() {
                    self.turn();
                }
                place
            }
            _ => {
                let Reverse(((at, _), place)) = self.far.pop()?;
                // The ring stood still while it was empty.
                self.tick = self.tick.max(at.0 >> self.shift);
                place
            }
        };
        self.next = self.find_next();
        let node = &mut self.nodes[place as usize];
        node.next = std::mem::replace(&mut self.free, place);
        node.event.take()
    }

    /// Makes the tick of the first bucket that is not empty the current one.
    #[inline]
    fn turn(&mut self) {
        let start = (self.tick as usize + 1) % BUCKETS;
        let Some(bucket) = self.first_bucket(start) else {
            return;
        };
        self.tick += 1 + (bucket.wrapping_sub(start) % BUCKETS) as u64;
        self.occupied[bucket / 64] &= !(1 << (bucket % 64));
        let mut place = std::mem::replace(&mut self.heads[bucket], NONE);
        while place != NONE {
            let node = &self.nodes[place as usize];
            self.current.push((node.key, place));
            place = node.next;
        }
        // Mostly there is only one.
        if self.current.len() > 1 {
            self.current.sort_unstable_by(|a, b| b.cmp(a));
        }
    }

    #[inline]
    fn find_next(&self) -> Key {
        let near = self.current.last().map_or(NEVER, |(key, _)| *key);
        match self.far.peek() {
            Some(Reverse((far, _))) if *far < near => *far,
            _ => near,
        }
    }

    /// The first bucket at or after `start`, around the ring, that is not empty.
    #[inline]
    fn first_bucket(&self, start: usize) -> Option<usize> {
        const WORDS: usize = BUCKETS / 64;
        let (word, bit) = (start / 64, start % 64);
        let first = self.occupied[word] & (u64::MAX << bit);
        if first != 0 {
            return Some(word * 64 + first.trailing_zeros() as usize);
        }
        // Ends with the bits of the first word that lie before the start.
        (1..=WORDS).find_map(|n| {
            let word = (word + n) % WORDS;
            let bits = self.occupied[word];
            (bits != 0).then(|| word * 64 + bits.trailing_zeros() as usize)
        })
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
