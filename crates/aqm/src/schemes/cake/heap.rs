//! The queues of all tins by backlog, to find the longest when memory is exhausted (Linux: `cake_heapify` and others).
//!
//! A binary heap whose order is maintained only for a while after an overflow; without overflows it costs nothing.
//! Which queue is found depends on the exchanges so far, so all of them are made as in Linux.

use super::tins::MAX_TINS;
use super::{FlowId, QUEUES};

/// Number of queues: Linux also has the queues of unused tins in the heap.
const SIZE: usize = MAX_TINS * QUEUES;

/// Number of packets sent after the last overflow for which the order is maintained.
const TIMEOUT: u16 = 65_535;

/// Order of the queues by backlog.
#[derive(Debug, Default)]
pub(super) struct OverflowHeap {
    /// Backlog in bytes of each queue, by its number.
    backlogs: Vec<u32>,
    /// Numbers of the queues in the order of the heap; empty before the first overflow.
    heap: Vec<u16>,
    /// Place in the heap of each queue, by its number.
    places: Vec<u16>,
    /// Packets that may be sent until the order is given up; 0: it is not maintained.
    timeout: u16,
}

impl OverflowHeap {
    /// Empty queues of `tins` tins.
    pub(super) fn new(tins: usize) -> OverflowHeap {
        OverflowHeap { backlogs: vec![0; tins * QUEUES], ..OverflowHeap::default() }
    }

    #[inline]
    fn backlog(&self, place: usize) -> u32 {
        let queue = usize::from(self.heap[place]);
        self.backlogs.get(queue).copied().unwrap_or(0)
    }

    /// Adds to the backlog of a queue; the order is that of before.
    #[inline]
    pub(super) fn add(&mut self, queue: FlowId, bytes: u32) {
        self.backlogs[queue.number()] += bytes;
    }

    /// Takes from the backlog of a queue; the order is that of before.
    #[inline]
    pub(super) fn subtract(&mut self, queue: FlowId, bytes: u32) {
        self.backlogs[queue.number()] -= bytes;
    }

    /// Notes that a packet was added to a queue.
    #[inline]
    pub(super) fn grown(&mut self, queue: FlowId) {
        if self.timeout > 0 {
            self.sift_up(usize::from(self.places[queue.number()]));
        }
    }

    /// Notes that a packet was taken from a queue.
    #[inline]
    pub(super) fn shrunk(&mut self, queue: FlowId) {
        if self.timeout > 0 {
            self.sift_down(usize::from(self.places[queue.number()]));
        }
    }

    /// Notes that a packet was sent.
    #[inline]
    pub(super) fn sent(&mut self) {
        self.timeout = self.timeout.saturating_sub(1);
    }

    /// A long queue: the longest if no order was maintained. The caller drops a packet of it and calls
    /// [`OverflowHeap::shrunk`], or [`OverflowHeap::give_up`] if it has none.
    #[cold]
    pub(super) fn longest(&mut self) -> FlowId {
        if self.timeout == 0 {
            if self.heap.is_empty() {
                self.set_up();
            }
            (0..SIZE / 2).rev().for_each(|place| self.sift_down(place));
        }
        self.timeout = TIMEOUT;
        FlowId::numbered(usize::from(self.heap[0]))
    }

    /// Gives the order up; it is built again at the next overflow.
    pub(super) fn give_up(&mut self) {
        self.timeout = 0;
    }

    /// The order that Linux begins with: the first queues of all tins, then the second ones, and so on.
    fn set_up(&mut self) {
        let queue = |place: usize| (place % MAX_TINS) * QUEUES + place / MAX_TINS;
        self.heap = (0..SIZE).map(|place| queue(place) as u16).collect();
        self.places = vec![0; SIZE];
        for (place, queue) in self.heap.iter().enumerate() {
            self.places[usize::from(*queue)] = place as u16;
        }
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.heap.swap(a, b);
        self.places[usize::from(self.heap[a])] = a as u16;
        self.places[usize::from(self.heap[b])] = b as u16;
    }

    /// Exchanges the queue at `place` with the longer of its children, if that is longer.
    ///
    /// Linux continues below with the backlog of the child that moved up, not of the queue that moved down, which
    /// therefore hardly ever moves down by more than one level. So the order is approximate, but that of a heap just
    /// built has the longest queue first.
    fn sift_down(&mut self, mut place: usize) {
        let mut most = self.backlog(place);
        loop {
            let mut largest = place;
            for child in [2 * place + 1, 2 * place + 2] {
                if child < SIZE && self.backlog(child) > most {
                    (largest, most) = (child, self.backlog(child));
                }
            }
            if largest == place {
                return;
            }
            self.swap(place, largest);
            place = largest;
        }
    }

    fn sift_up(&mut self, mut place: usize) {
        while place > 0 {
            let parent = (place - 1) / 2;
            if self.backlog(place) <= self.backlog(parent) {
                return;
            }
            self.swap(place, parent);
            place = parent;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_longest_queue_is_found_by_a_heap_just_built(
            steps in proptest::collection::vec((0usize..3, 0usize..6, 1u32..2000, 0u8..3), 1..300),
        ) {
            let mut heap = OverflowHeap::new(3);
            let mut model = vec![Vec::new(); 3 * QUEUES];
            for (tin, flow, bytes, look) in steps {
                let queue = FlowId { tin, flow };
                heap.add(queue, bytes);
                heap.grown(queue);
                model[queue.number()].push(bytes);
                if look == 0 {
                    continue;
                }
                if look == 1 {
                    heap.give_up();
                }
                let found = heap.longest();
                let sum = |packets: &Vec<u32>| packets.iter().sum::<u32>();
                let longest = model.iter().map(sum).max();
                let packets = &mut model[found.number()];
                prop_assert!(look != 1 || Some(sum(packets)) == longest);
                match packets.pop() {
                    Some(bytes) => {
                        heap.subtract(found, bytes);
                        heap.shrunk(found);
                    }
                    None => heap.give_up(),
                }
            }
        }
    }
}
