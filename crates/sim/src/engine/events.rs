//! The future: events in order of time, and among equals in order of planning.

use gentle_units::Nanos;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    /// The packet parked at this place reaches its end host.
    Deliver(u32),
    /// The packet parked at this place reaches the bottleneck, having crossed its access link.
    Enter(u32),
    /// A timer of the connection at this place, of its initiator (`false`) or its responder (`true`).
    Timer(u32, bool),
    /// The next datagram of this UDP flow.
    Udp(u32),
    /// The long-lived connection at this place closes.
    Stop(u32),
}

/// 16 bytes an entry: the time, then planning number and event packed, so that two integers order entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    at: u64,
    tail: u64,
}

const KIND_BITS: u32 = 3;
const PLACE_BITS: u32 = 27;
const NUMBER_BITS: u32 = 64 - KIND_BITS - PLACE_BITS;

/// Places that fit into an entry: connections alive, or packets under way, at one time.
pub(crate) const MAX_PLACES: usize = 1 << PLACE_BITS;

impl Entry {
    /// Later than every event.
    const NEVER: Entry = Entry {
        at: u64::MAX,
        tail: u64::MAX,
    };

    /// `number` is taken modulo 2^34; it only orders events of the same nanosecond.
    fn new(at: Nanos, number: u64, event: Event) -> Entry {
        let (kind, place) = match event {
            Event::Deliver(place) => (0, place),
            Event::Enter(place) => (1, place),
            Event::Timer(place, responder) => (2 + u64::from(responder), place),
            Event::Udp(place) => (4, place),
            Event::Stop(place) => (5, place),
        };
        debug_assert!((place as usize) < MAX_PLACES);
        Entry {
            at: at.0,
            tail: (number << (64 - NUMBER_BITS)) | (kind << PLACE_BITS) | u64::from(place),
        }
    }

    fn event(self) -> Event {
        let place = (self.tail & (MAX_PLACES as u64 - 1)) as u32;
        match (self.tail >> PLACE_BITS) & ((1 << KIND_BITS) - 1) {
            0 => Event::Deliver(place),
            1 => Event::Enter(place),
            2 => Event::Timer(place, false),
            3 => Event::Timer(place, true),
            4 => Event::Udp(place),
            _ => Event::Stop(place),
        }
    }
}

/// A calendar of the near future with a heap for what lies beyond it.
///
/// Almost every event is a packet that arrives after a link's delay, so the near future is a ring of buckets, each one
/// tick wide: planning is an index and a link, and finding the next event a look at a bit map. A heap took a third of
/// the whole run on the benchmark of `bench/sim`; this takes a tenth. What is planned beyond the ring (timers, mostly)
/// waits in the heap and is compared with the ring's next event, never moved.
#[derive(Debug)]
pub(crate) struct Events {
    /// A tick is 2^shift nanoseconds.
    shift: u32,
    /// The tick that time has reached; buckets hold later ones.
    tick: u64,
    /// Events of the current tick, the next one last.
    current: Vec<Entry>,
    /// First node of each bucket.
    heads: Box<[u32; BUCKETS]>,
    /// Which buckets are not empty.
    occupied: [u64; BUCKETS / 64],
    nodes: Vec<Node>,
    free: u32,
    /// Events beyond the ring.
    far: BinaryHeap<Reverse<Entry>>,
    /// The next event; [`Entry::NEVER`]: none.
    next: Entry,
    planned: u64,
}

/// Of the ring. With ticks of a quarter of a packet's time it reaches a thousand packets far, which is a delay of any
/// link that is not very long.
const BUCKETS: usize = 4096;

const NONE: u32 = u32::MAX;

#[derive(Debug, Clone, Copy)]
struct Node {
    entry: Entry,
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
            next: Entry::NEVER,
            planned: 0,
        }
    }

    /// When the next event is due.
    #[inline]
    pub(crate) fn next_at(&self) -> Nanos {
        Nanos(self.next.at)
    }

    /// Plans an event; `at` is not before the last event taken out.
    #[inline]
    pub(crate) fn plan(&mut self, at: Nanos, event: Event) {
        let entry = Entry::new(at, self.planned, event);
        self.planned += 1;
        self.next = self.next.min(entry);
        let tick = at.0 >> self.shift;
        if tick <= self.tick {
            let place = self.current.partition_point(|other| *other > entry);
            self.current.insert(place, entry);
        } else if tick - self.tick < BUCKETS as u64 {
            let bucket = tick as usize % BUCKETS;
            let node = Node {
                entry,
                next: self.heads[bucket],
            };
            self.heads[bucket] = self.store(node);
            self.occupied[bucket / 64] |= 1 << (bucket % 64);
        } else {
            self.far.push(Reverse(entry));
        }
    }

    fn store(&mut self, node: Node) -> u32 {
        if self.free == NONE {
            self.nodes.push(node);
            return (self.nodes.len() - 1) as u32;
        }
        let place = self.free;
        self.free = self.nodes[place as usize].next;
        self.nodes[place as usize] = node;
        place
    }

    /// Takes the next event out.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<(Nanos, Event)> {
        let entry = self.next;
        if entry == Entry::NEVER {
            return None;
        }
        if self.far.peek().is_some_and(|Reverse(far)| *far == entry) {
            self.far.pop();
        } else {
            if self.current.is_empty() {
                self.turn_to(entry.at >> self.shift);
            }
            self.current.pop();
        }
        self.next = self.find_next();
        Some((Nanos(entry.at), entry.event()))
    }

    /// Makes `tick` the current one: its bucket becomes the sorted list.
    fn turn_to(&mut self, tick: u64) {
        self.tick = tick;
        let bucket = tick as usize % BUCKETS;
        let mut place = std::mem::replace(&mut self.heads[bucket], NONE);
        self.occupied[bucket / 64] &= !(1 << (bucket % 64));
        while place != NONE {
            let node = self.nodes[place as usize];
            self.current.push(node.entry);
            self.nodes[place as usize].next = self.free;
            self.free = place;
            place = node.next;
        }
        if self.current.len() > 1 {
            self.current.sort_unstable_by(|a, b| b.cmp(a));
        }
    }

    fn find_next(&self) -> Entry {
        let near = match self.current.last() {
            Some(entry) => *entry,
            None => self.first_bucket(),
        };
        match self.far.peek() {
            Some(Reverse(far)) => near.min(*far),
            None => near,
        }
    }

    /// The least entry of the first bucket that is not empty.
    fn first_bucket(&self) -> Entry {
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
        let mut least = Entry::NEVER;
        let mut place = found.map_or(NONE, |bucket| self.heads[bucket]);
        while place != NONE {
            let node = &self.nodes[place as usize];
            least = least.min(node.entry);
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
                    prop_assert_eq!(events.pop(), Some((Nanos(at), Event::Udp(number))));
                    now = at;
                }
            }
            expected.sort_unstable();
            for (at, number) in expected {
                prop_assert_eq!(events.pop(), Some((Nanos(at), Event::Udp(number))));
            }
            prop_assert_eq!(events.pop(), None);
            prop_assert_eq!(events.next_at(), Nanos::MAX);
        }

        #[test]
        fn every_event_survives_packing(place in 0_u32..1 << 27, number in any::<u64>(), at in any::<u64>()) {
            for event in [
                Event::Deliver(place),
                Event::Enter(place),
                Event::Timer(place, false),
                Event::Timer(place, true),
                Event::Udp(place),
                Event::Stop(place),
            ] {
                let entry = Entry::new(Nanos(at), number, event);
                prop_assert_eq!(entry.event(), event);
                prop_assert_eq!(entry.at, at);
            }
        }
    }
}
