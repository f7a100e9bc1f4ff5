//! The future: a heap of events in order of time, and among equals in order of planning.

use gentle_units::Nanos;

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

/// 16 bytes an entry: the time, then planning number and event packed, so that one comparison of two integers orders
/// entries and a cache line holds four.
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
            tail: (number << (64 - NUMBER_BITS))
                | (kind << PLACE_BITS)
                | u64::from(place),
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

/// A 4-ary heap: half the depth of a binary one, and the four children share a cache line.
#[derive(Debug, Default)]
pub(crate) struct Events {
    heap: Vec<Entry>,
    planned: u64,
}

const ARITY: usize = 4;

impl Events {
    /// When the next event is due.
    #[inline]
    pub(crate) fn next_at(&self) -> Nanos {
        self.heap.first().map_or(Nanos::MAX, |entry| Nanos(entry.at))
    }

    /// Plans an event.
    pub(crate) fn plan(&mut self, at: Nanos, event: Event) {
        let entry = Entry::new(at, self.planned, event);
        self.planned += 1;
        let mut hole = self.heap.len();
        self.heap.push(entry);
        while hole > 0 {
            let parent = (hole - 1) / ARITY;
            if self.heap[parent] <= entry {
                break;
            }
            self.heap[hole] = self.heap[parent];
            hole = parent;
        }
        self.heap[hole] = entry;
    }

    /// Takes the next event out.
    pub(crate) fn pop(&mut self) -> Option<(Nanos, Event)> {
        let first = *self.heap.first()?;
        let last = self.heap.pop().expect("there is a first");
        let len = self.heap.len();
        if len > 0 {
            let mut hole = 0;
            loop {
                let child = hole * ARITY + 1;
                if child >= len {
                    break;
                }
                let end = (child + ARITY).min(len);
                let mut least = child;
                for other in child + 1..end {
                    if self.heap[other] < self.heap[least] {
                        least = other;
                    }
                }
                if last <= self.heap[least] {
                    break;
                }
                self.heap[hole] = self.heap[least];
                hole = least;
            }
            self.heap[hole] = last;
        }
        Some((Nanos(first.at), first.event()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn events_come_in_order_of_time_then_of_planning(
            steps in prop::collection::vec((0_u64..50, any::<bool>()), 1..400)
        ) {
            let mut events = Events::default();
            let mut expected: Vec<(u64, u32)> = Vec::new();
            let mut now = 0;
            for (number, (delay, take)) in steps.into_iter().enumerate() {
                events.plan(Nanos(now + delay), Event::Udp(number as u32));
                expected.push((now + delay, number as u32));
                if take {
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
